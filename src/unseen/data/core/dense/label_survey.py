"""One pass over all labels of a data set: what they show, what cannot be used, and whether anything can be scored."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.decoding.decode import Damaged
from unseen.data.core.dense.labels import IGNORED, Kind, Labels, Objects
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.rows import SPLIT_WORDS
from unseen.errors import UserError
from unseen.text.words import counted

NEEDED: dict[Kind, str] = {
    "boxes": "a box",
    "classes": "a pixel with a class",
    "normals": "a pixel with a normal",
    "depth": "a pixel with a depth",
}


@dataclass(frozen=True)
class LabelSurvey:
    """The result of one pass over all labels of a data set.

    Attributes:
        digest: SHA-256 of all labels (for damaged ones, of the error), so that changed labels are a different job.
        damaged: split → images with unusable labels, and why.
        left_out: split → boxes that cannot be used, by their images, and why; their images are used without them. Or
            maps without a labelled pixel, which neither train nor score anything.
        shown: split → (classes,) number of boxes of each class, or of maps that show it; empty without classes.
    """

    digest: str
    damaged: Mapping[str, Sequence[Damaged]]
    left_out: Mapping[str, Sequence[Damaged]]
    shown: Mapping[str, NDArray[np.int64]]

    def untrained(self, classes: Sequence[str]) -> list[str]:
        """Classes that test images show and training images do not, so that they cannot be learned."""
        none = np.zeros(len(classes), dtype=np.int64)
        train, test = (self.shown.get(split, none) for split in ("train", "test"))
        return [name for name, trained, tested in zip(classes, train, test, strict=True) if tested and not trained]


@lru_cache(maxsize=32)
def survey_labels(opened: OpenDataset) -> LabelSurvey:
    """Read and check every label once; the result is cached, since a study needs it several times."""
    digest, classes = hashlib.sha256(), len(opened.classes)
    damaged, left_out, shown = dict[str, list[Damaged]](), dict[str, list[Damaged]](), dict[str, NDArray[np.int64]]()
    for number, split in enumerate(opened.manifest.splits):
        place, name = opened.place(number), opened.source.entries[number].id
        try:
            labels = opened.labels(number)
        except UserError as error:
            digest.update(f"{number}: {str(error).removeprefix(place)}\n".encode())
            damaged.setdefault(split, []).append(Damaged(name, str(error)))
            continue
        arrays: tuple[NDArray[np.generic], ...] = (labels,) if not isinstance(labels, Objects) else (
            labels.boxes, labels.classes, labels.ignored, labels.crowd,
        )  # fmt: skip
        for array in arrays:
            digest.update(f"{array.dtype} {array.shape}\n".encode() + np.ascontiguousarray(array).tobytes())
        reasons = labels.left_out if isinstance(labels, Objects) else ()
        if not isinstance(labels, Objects) and not _is_usable(labels, opened.dataset.kind, split):
            reasons = ("no pixel has a label",)
        if reasons:
            left_out.setdefault(split, []).extend(Damaged(name, f"{place}: {reason}") for reason in reasons)
        shown[split] = shown.get(split, np.zeros(classes, dtype=np.int64)) + _shown(labels, classes)
    return LabelSurvey(digest.hexdigest(), damaged, left_out, shown if classes else {})


def _shown(labels: Labels, classes: int) -> NDArray[np.int64]:
    """(classes,) boxes of each class, or 1 for each class that a map shows."""
    if isinstance(labels, Objects):
        return np.bincount(labels.classes, minlength=classes)
    if not classes:
        return np.zeros(0, dtype=np.int64)
    return (np.bincount(labels.ravel(), minlength=IGNORED + 1)[:classes] > 0).astype(np.int64)


def refuse_unscorable(opened: OpenDataset, *, training: int = 1) -> None:
    """Refuse a data set without labels to train on, or without labels to score, before anything is computed.

    Labels are read until enough usable ones are found.

    Args:
        training: number of training images with labels that are needed.
    """
    for split, least in (("train", training), ("test", 1)):
        usable, reasons = 0, list[str]()
        for number in opened.numbers(split):
            try:
                usable += _is_usable(opened.labels(number), opened.dataset.kind, split)
            except UserError as error:
                reasons.append(str(error))
            if usable == least:
                break
        if usable < least:
            raise UserError(_unscorable(opened, split, usable, least, reasons))


def _unscorable(opened: OpenDataset, split: str, usable: int, least: int, reasons: Sequence[str]) -> str:
    has = f"{usable if usable else 'no'} {SPLIT_WORDS[split]} image has {NEEDED[opened.dataset.kind]} that can be used"
    needed = f" where {least} are needed" if least > 1 else ""
    damaged = f"; {counted(len(reasons), 'image')} with damaged labels: {reasons[0]}" if reasons else ""
    return f"{opened.dataset.name}: {has}{needed}{damaged}"


def _is_usable(labels: Labels, kind: Kind, split: str) -> bool:
    """Whether an image can be trained on (all objects but crowds), or scored (without difficult objects)."""
    if isinstance(labels, Objects):
        return bool((~(labels.crowd if split == "train" else labels.ignored)).any())
    if kind == "classes":
        return bool((labels != IGNORED).any())
    return bool((labels > 0).any() if kind == "depth" else labels.any())

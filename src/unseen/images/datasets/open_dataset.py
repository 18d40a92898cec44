"""Opening a data set, and reporting which of its files exist or are missing."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unseen.errors import UserError
from unseen.images.datasets.dataset import Dataset, Layout
from unseen.images.datasets.listing import ALL, Listing
from unseen.images.datasets.multi_label import class_names, shown_classes
from unseen.images.datasets.split_rules import split_rows
from unseen.images.manifest import Manifest
from unseen.images.source import ImageSource

SPLIT_WORDS = {"train": "training", "val": "validation", "test": "test"}
SPLIT_SEED = "split seed"
"""The key in a source's `about` for the seed of its splits; manifests of features keep it."""


@dataclass(frozen=True)
class OpenDataset:
    """A data set found on disk: its images, and their division into training, validation and test images.

    Attributes:
        manifest: in the order of the source, with splits "train", "val" and "test", or "all" if there are no splits.
    """

    dataset: Dataset
    source: ImageSource
    manifest: Manifest

    def __repr__(self) -> str:
        images = ", ".join(f"{count:,} {split}" for split, count in Counter(self.manifest.splits).items())
        return f"OpenDataset({self.dataset.name}: {self.dataset.classes:,} classes, images: {images})"

    @property
    def classes(self) -> tuple[str, ...]:
        """All classes, sorted; for images with several classes, the individual classes."""
        return _class_names((entry.label for entry in self.manifest.entries), several=self.dataset.multi_label)


@dataclass(frozen=True)
class State:
    """What exists of a data set on disk, and a sentence on what is missing."""

    state: Literal["complete", "partial", "missing"]
    place: Path | None
    images: int
    reason: str


def open_dataset(dataset: Dataset, root: Path | None, *, seed: int = 0, partial: bool = False) -> OpenDataset:
    """Find a data set and split it; if it is missing or incomplete, the error says what to do.

    If there are several copies, for example below `root` and in a package, the first complete one is used; if none is
    complete, the one with the most images.

    Args:
        root: the folder of all data sets; None for those that come with packages.
        seed: seed of drawn splits. Published comparisons use seed 0.
        partial: use an incomplete copy. Every class must still occur in every split.
    """
    copy = _find_copy(dataset, root)
    if copy is None:
        folders = " or ".join(layout.folder for layout in dataset.layouts)
        below = f" below {root}" if root is not None else ""
        raise _not_whole(dataset, f"not found; expected {folders}{below}")
    if copy.listing is None:
        raise _not_whole(dataset, copy.fault)
    if copy.fault and not partial:
        raise _not_whole(dataset, f"{copy.place} is incomplete: {copy.fault}")
    rows = split_rows(copy.listing.rows, dataset.test, dataset.validation, seed, dataset.name)
    labels: dict[str, set[str]] = {}
    for row in rows:
        labels.setdefault(row.part, set()).add(row.label)
    check_classes(labels, dataset.name, f"complete the data set: {dataset.get}", several=dataset.multi_label)
    try:
        source = copy.listing.open()
    except UserError as error:
        raise _not_whole(dataset, str(error)) from None
    source.about[SPLIT_SEED] = str(seed) if dataset.drawn else "none, as the authors' splits are taken"
    return OpenDataset(dataset, source, Manifest(source.entries, [row.part for row in rows]))


def examine(dataset: Dataset, root: Path | None) -> State:
    """What exists of a data set; its lists are read, its images only counted."""
    copy = _find_copy(dataset, root)
    if copy is None:
        return State("missing", None, 0, "")
    return State("partial" if copy.fault else "complete", copy.place, copy.images, copy.fault)


def check_classes(labels: Mapping[str, Collection[str]], where: str, remedy: str, *, several: bool) -> None:
    """Refuse splits that cannot be used for training or scoring.

    There must be at least two classes, and each must occur in every split. If images have several classes, a class that
    every training image shows cannot be learned either.

    Args:
        labels: the distinct labels of each split, or of `all`.
        remedy: advice for a missing class.
        several: whether an image has several classes.
    """
    classes = _class_names((label for names in labels.values() for label in names), several=several)
    if len(classes) < 2:
        raise UserError(f"{where}: all images are of one class ({', '.join(classes)}); at least two are needed")
    if ALL in labels:
        return
    shown = {
        split: [set(shown_classes(label)) if several else {label} for label in names] for split, names in labels.items()
    }
    for split, word in SPLIT_WORDS.items():
        empty = sorted(set(classes).difference(*shown.get(split, [])))
        if empty:
            more = f" and {len(empty) - 1} more classes" if len(empty) > 1 else ""
            raise UserError(f"{where}: no {word} image of {empty[0]}{more}; {remedy}")
    always = sorted(set.intersection(*shown["train"]))
    if always:
        raise UserError(f"{where}: every training image shows {always[0]}; images without it are needed to learn it")


@dataclass(frozen=True)
class _Copy:
    """A folder of a data set: its images (None if they cannot be listed) and what is wrong with it, if anything."""

    place: Path
    listing: Listing | None
    fault: str

    @property
    def images(self) -> int:
        return len(self.listing.rows) if self.listing else 0


def _find_copy(dataset: Dataset, root: Path | None) -> _Copy | None:
    """The first complete copy, or else the copy with the most images. Copies after a complete one are not listed."""
    best = None
    for layout, place in dataset.find(root):
        copy = _list(dataset, layout, place)
        if not copy.fault:
            return copy
        if best is None or copy.images > best.images:
            best = copy
    return best


def _list(dataset: Dataset, layout: Layout, place: Path) -> _Copy:
    absent = next((name for name in layout.files if not (place / name).exists()), None)
    if absent is not None:
        return _Copy(place, None, f"{place} has no {absent}; expected {', '.join(layout.files)}")
    try:
        listing = layout.read(place)
    except UserError as error:
        return _Copy(place, None, str(error))
    if not listing.rows:
        first = f", not even {listing.missing[0]}" if listing.missing else ""
        return _Copy(place, None, f"{place} has no images{first}")
    return _Copy(place, listing, _gap(dataset, listing))


def _not_whole(dataset: Dataset, fault: str) -> UserError:
    """An error that starts with the name of the data set, by which a run assigns notices to data sets."""
    return UserError(f"{dataset.name}: {fault}; to get it: {dataset.get}")


def _gap(dataset: Dataset, listing: Listing) -> str:
    """What a copy lacks; empty if it is complete."""
    if listing.missing:
        total = len(listing.rows) + len(listing.missing)
        return f"{len(listing.missing):,} of {total:,} images are missing or empty; the first is {listing.missing[0]}"
    counts = Counter(row.part for row in listing.rows)
    for part, expected in dataset.parts.items():
        if counts[part] != expected:
            word = "" if part == ALL else f"{SPLIT_WORDS[part]} "
            return f"{counts[part]:,} {word}images where {expected:,} are expected"
    classes = len(_class_names((row.label for row in listing.rows), several=dataset.multi_label))
    return "" if classes == dataset.classes else f"{classes:,} classes where {dataset.classes:,} are expected"


def _class_names(labels: Iterable[str], *, several: bool) -> tuple[str, ...]:
    return class_names(labels) if several else tuple(sorted(set(labels)))

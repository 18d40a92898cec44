"""Feature vectors of a backbone on a data set: as they are planned with, and as a probe is fitted to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from unseen.backbones.vector_parts import VectorPart, stored_parts
from unseen.data.core.dataset import Target
from unseen.data.core.multi_label import class_names, targets
from unseen.data.core.open_dataset import check_classes
from unseen.data.core.ranking import relations
from unseen.data.core.rows import ALL
from unseen.features.by_hash import align_splits, split_labels
from unseen.features.features import Features, Rows, align
from unseen.probes.probe import Probe, ProbeData, Size, ValidationData
from unseen.probes.samples import ClassCounts, SamplesPerClass

if TYPE_CHECKING:
    from torch import Tensor

Order = Literal["training", "sorted"]
"""Order of class indices, which draws depend on: that of the training features, or by name."""
ORDER, LABELS, GAPS = "order of classes", "labels", "classes without samples"
"""Entries of the inputs of a job, if the order is not that of the training features, labels are not single classes, or
classes may lack training or validation samples.
"""
SEVERAL, RANKING, STAY = "several classes", "ranking", "stay"
KINDS: Mapping[Target, str] = {"classes": SEVERAL, "ranking": RANKING}
"""The kinds of labels as inputs of jobs, if they are not single classes."""


@dataclass(frozen=True)
class Vectors:
    """The features of a backbone on a data set, existing or still to be extracted.

    Attributes:
        hashes, places: content hashes and paths by split: "train", perhaps "val", and "test"; or "all". Empty if the
            features are still to be extracted.
        rows: number of images by split.
        samples: training and validation images per class.
        counts: training images, with those for validation, and test images of each class, if known.
        target: one class per image, several, or rankings.
        metric: the data set's own.
        order: order of the class indices.
        parts: what the columns of a vector are, if its features record it; jobs do not depend on it.
        gaps: whether classes may lack training or validation samples, as in `Dataset`.
    """

    backbone: str
    dataset: str
    rows: Mapping[str, int]
    classes: int
    dimension: int
    hashes: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    samples: SamplesPerClass | None = None
    counts: ClassCounts | None = None
    target: Target = "class"
    metric: str = "top1"
    order: Order = "training"
    parts: tuple[VectorPart, ...] = ()
    gaps: bool = False

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.rows)

    @property
    def reads(self) -> dict[str, str]:
        """The inputs of jobs on these features."""
        ordered = {} if self.order == "training" else {ORDER: self.order}
        labelled = {LABELS: KINDS[self.target]} if self.target in KINDS else {}
        with_gaps = {GAPS: STAY} if self.gaps else {}
        return {split: self.hashes.get(split, "") for split in self.splits} | ordered | labelled | with_gaps

    @property
    def extracted(self) -> bool:
        return all(self.hashes.get(split) for split in self.splits)

    def size(self, probe: Probe) -> Size:
        """The amount of data that a probe is given."""
        if ALL in self.rows:
            return Size(self.rows[ALL], 0, self.classes, (self.dimension,))
        joined = self.rows.get("val", 0) if probe.validation == "joins" else 0
        return Size(self.rows["train"] + joined, self.rows["test"], self.classes, (self.dimension,))

    def takes(self, probe: Probe) -> bool:
        """Whether a probe can be fitted to such labels and splits."""
        fits = self.target in probe.targets and (ALL not in self.rows or not probe.split)
        return fits and (probe.takes_gaps or not self.untrained)

    @property
    def untrained(self) -> list[int]:
        """The classes that only test images have, of data that may have gaps."""
        counts = self.counts.train if self.gaps and self.counts is not None else ()
        return [number for number, count in enumerate(counts) if count == 0]

    def usable_shots(self, probe: Probe, shots: Sequence[int | None]) -> list[int | None]:
        """Numbers of shots without those for which there are too few samples."""
        if self.counts is not None:
            return [number for number in shots if probe.total_shortage(self.counts, number) is None]
        samples = self.samples
        return [number for number in shots if samples is None or samples.total_shortage(number) is None]


@dataclass(frozen=True, eq=False)
class JoinedRows:
    """The rows of several arrays, one after the other, read on use."""

    parts: Sequence[Rows]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self.parts[0].shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*(part.dtype for part in self.parts))

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, step = rows.indices(len(self))
        found, first = [], 0
        for part in self.parts:
            inside = slice(max(start - first, 0), max(min(stop - first, len(part)), 0))
            found.append(np.asarray(part[inside]))
            first += len(part)
        whole: NDArray[Any] = np.concatenate(found)
        return whole[::step]


def probe_data(
    parts: Mapping[str, Features], reads: Mapping[str, str], where: str, *, joined: bool = True
) -> ProbeData:
    """What a probe is fitted to, from the features of each split.

    Args:
        reads: the inputs of the job, which say the order of classes and the kind of labels.
        where: name of the features in error messages.
        joined: whether the probe is trained on validation samples too.
    """
    data = _split_data(parts, reads, where, joined=joined)
    return replace(data, parts=stored_parts(next(iter(parts.values())).provenance))


def _split_data(parts: Mapping[str, Features], reads: Mapping[str, str], where: str, *, joined: bool) -> ProbeData:
    aligned = _aligned(parts, reads.get(ORDER, "training"), where)
    if reads.get(LABELS) == RANKING:
        return _ranking_data(aligned["train"], aligned["test"], where)
    several = reads.get(LABELS) == SEVERAL
    if several or reads.get(ORDER) == "sorted":  # otherwise `align` has refused them
        gaps = reads.get(GAPS) == STAY
        check_classes(split_labels(aligned), where, "every class needs one", several=several, gaps=gaps)
    classes, labels = _labels(aligned, several=several)
    names = () if several else next(iter(aligned.values())).classes
    if ALL in aligned:
        whole = aligned[ALL]
        y, _ = labels[ALL]
        return ProbeData(whole.X, y, whole.X[:0], y[:0], classes, names=names)
    train, test = aligned["train"], aligned["test"]
    (y, _), (y_test, ignored) = labels["train"], labels["test"]
    if "val" not in aligned:
        return ProbeData(train.X, y, test.X, y_test, classes, ignored=ignored, names=names)
    held, (y_val, ignored_val) = aligned["val"], labels["val"]
    if joined:
        import torch

        both = JoinedRows([train.X, held.X])
        return ProbeData(both, torch.cat([y, y_val]), test.X, y_test, classes, ignored=ignored, names=names)
    validation = ValidationData(held.X, y_val, ignored_val)
    return ProbeData(train.X, y, test.X, y_test, classes, validation=validation, ignored=ignored, names=names)


def _ranking_data(database: Features, queries: Features, where: str) -> ProbeData:
    """A database as training data, and queries as test data.

    Labels are (n, m) what each image is to each query, as in `unseen.data.core.ranking`, and (m,) numbers of queries.
    """
    import torch

    images, own = ([part.classes[index] for index in part.y.tolist()] for part in (database, queries))
    labels = torch.from_numpy(relations(images, own, where))
    return ProbeData(database.X, labels, queries.X, torch.arange(len(own)), 0)


def _aligned(parts: Mapping[str, Features], order: str, where: str) -> dict[str, Features]:
    """The same features with one list of classes."""
    if order == "sorted":
        return dict(zip(parts, align_splits(list(parts.values()), where), strict=True))
    train = parts["train"]
    others = {split: align(train, part, where) for split, part in parts.items() if split != "train"}
    return {"train": others["test"][0], **{split: pair[1] for split, pair in others.items()}}


def _labels(parts: Mapping[str, Features], *, several: bool) -> "tuple[int, dict[str, tuple[Tensor, Tensor | None]]]":
    """The number of classes; the labels of each split, and those that are ignored in scoring.

    In training, difficult objects count as not shown; in scoring they are ignored.
    """
    import torch

    words = next(iter(parts.values())).classes
    if not several:
        return len(words), {split: (torch.from_numpy(part.y), None) for split, part in parts.items()}
    classes, labels = class_names(words), dict[str, "tuple[Tensor, Tensor | None]"]()
    for split, part in parts.items():
        shown = targets([words[index] for index in part.y.tolist()], classes)
        labels[split] = torch.from_numpy(shown.positives), torch.from_numpy(shown.ignored)
    return len(classes), labels

"""Metadata of a data set labelled with boxes or maps, and opening a copy of it."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from unseen.errors import UserError
from unseen.images.decode import Damaged, image_size
from unseen.images.dense.labels import Kind, Labels, Objects, checked_map, checked_objects
from unseen.images.manifest import Manifest
from unseen.images.source import ImageSource

SPLIT_WORDS = {"train": "training", "test": "test"}


class LabelReader(Protocol):
    """Reads the labels of images by index; can be sent to other processes."""

    def place(self, number: int) -> str:
        """Where the labels of an image are stored, for error messages."""
        ...

    def read(self, number: int) -> Labels:
        """The labels as stored in the file; unreadable labels are a UserError that names the file."""
        ...


@dataclass(frozen=True)
class DenseListing:
    """The images of a copy of a data set and their labels, in an order that does not depend on the machine.

    Attributes:
        parts: `train` or `test` for each image.
        missing: files that the data set's own lists name but the copy lacks.
    """

    parts: Sequence[str]
    open: Callable[[], ImageSource]
    labels: LabelReader
    missing: Sequence[str] = ()


@dataclass(frozen=True)
class DenseLayout:
    """One of the layouts of a data set: its folder below the folder of all data sets, and the files it contains."""

    folder: str
    files: tuple[str, ...]
    read: Callable[[Path], DenseListing]


@dataclass(frozen=True)
class DenseDataset:
    """A data set with boxes or maps: its task, its splits, its origin and its layouts on disk.

    Attributes:
        classes: names, in the order of their indices; empty for normals and depth.
        counts: images per split of a complete copy; empty if any number is complete.
        get: the site and the files to download, or the package to install.
        content, shared: see `unseen.images.datasets.dataset.Dataset`.
    """

    name: str
    title: str
    kind: Kind
    classes: tuple[str, ...]
    counts: Mapping[str, int]
    layouts: tuple[DenseLayout, ...]
    get: str
    licence: str
    citation: str
    content: str = ""
    shared: int = 0

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the layouts: a data set sent to another process is already open."""
        return self.__dict__ | {"layouts": ()}


@dataclass(frozen=True, eq=False)
class OpenDenseDataset:
    """A data set found on disk: its images, their splits and their labels."""

    dataset: DenseDataset
    source: ImageSource
    manifest: Manifest
    reader: LabelReader

    def __repr__(self) -> str:
        images = ", ".join(f"{count:,} {split}" for split, count in Counter(self.manifest.splits).items())
        return f"OpenDenseDataset({self.dataset.name}: {self.dataset.kind}, images: {images})"

    def numbers(self, split: str) -> list[int]:
        """Indices of the images of a split, in order."""
        return [number for number, part in enumerate(self.manifest.splits) if part == split]

    def labels(self, number: int) -> Labels:
        """The labels of an image, checked against its size and the classes; errors name the file."""
        where = self.reader.place(number)
        labels = self.reader.read(number)
        try:
            size = image_size(self.source.read(number))
        except UserError as error:
            raise UserError(f"{self.source.entries[number].id}: {error}") from None
        if isinstance(labels, Objects):
            wrong = labels.classes[(labels.classes < 0) | (labels.classes >= len(self.dataset.classes))]
            if len(wrong):
                raise UserError(f"{where}: the class {wrong[0]} is none of {len(self.dataset.classes)}")
            return checked_objects(labels, size, where)
        return checked_map(self.dataset.kind, labels, size, len(self.dataset.classes), where)


@dataclass(frozen=True)
class LabelSurvey:
    """The result of one pass over all labels of a data set.

    Attributes:
        digest: SHA-256 of all labels (for damaged ones, of the error), so that changed labels are a different job.
        damaged: split → images with unusable labels, and why.
    """

    digest: str
    damaged: Mapping[str, Sequence[Damaged]]


@lru_cache(maxsize=32)
def survey_labels(opened: OpenDenseDataset) -> LabelSurvey:
    """Read and check every label once; the result is cached, since a study needs it several times."""
    digest, damaged = hashlib.sha256(), dict[str, list[Damaged]]()
    for number, split in enumerate(opened.manifest.splits):
        try:
            labels = opened.labels(number)
        except UserError as error:
            digest.update(f"{number}: {str(error).removeprefix(opened.reader.place(number))}\n".encode())
            damaged.setdefault(split, []).append(Damaged(opened.source.entries[number].id, str(error)))
            continue
        arrays = (
            (labels.boxes, labels.classes, labels.ignored, labels.crowd) if isinstance(labels, Objects) else (labels,)
        )
        for array in arrays:
            digest.update(f"{array.dtype} {array.shape}\n".encode() + np.ascontiguousarray(array).tobytes())
    return LabelSurvey(digest.hexdigest(), damaged)


def open_dense_dataset(dataset: DenseDataset, root: Path | None, *, partial: bool = False) -> OpenDenseDataset:
    """Find a data set; if it is missing or incomplete, the error says what to do.

    Args:
        root: the folder of all data sets; None for data sets that need none.
        partial: use an incomplete copy.
    """
    listing, place = _listing(dataset, root)
    fault = _gap(dataset, listing)
    if fault and not partial:
        raise UserError(f"{dataset.name}: {place} is incomplete: {fault}; to get it: {dataset.get}")
    source = listing.open()
    return OpenDenseDataset(dataset, source, Manifest(source.entries, list(listing.parts)), listing.labels)


def _listing(dataset: DenseDataset, root: Path | None) -> tuple[DenseListing, Path]:
    below = root or Path()
    for layout in dataset.layouts:
        place = below / layout.folder
        if not place.is_dir():
            continue
        absent = next((name for name in layout.files if not (place / name).exists()), None)
        if absent is not None:
            expected = ", ".join(layout.files)
            raise UserError(f"{dataset.name}: {place} has no {absent}; expected {expected}; to get it: {dataset.get}")
        return layout.read(place), place
    folders = " or ".join(layout.folder for layout in dataset.layouts)
    raise UserError(f"{dataset.name}: not found; expected {folders} below {below}; to get it: {dataset.get}")


def _gap(dataset: DenseDataset, listing: DenseListing) -> str:
    """What a copy lacks; empty if it is complete."""
    if listing.missing:
        every = len(listing.parts) + len(listing.missing)
        return f"{len(listing.missing):,} of {every:,} images lack a file; the first is {listing.missing[0]}"
    counts = Counter(listing.parts)
    wrong = next((split for split, count in dataset.counts.items() if counts[split] != count), None)
    if wrong is not None:
        return f"{counts[wrong]:,} {SPLIT_WORDS[wrong]} images where {dataset.counts[wrong]:,} are expected"
    empty = next((word for split, word in SPLIT_WORDS.items() if not counts[split]), None)
    return f"no {empty} images" if empty else ""

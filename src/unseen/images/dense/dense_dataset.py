"""What is known of a data set whose labels are boxes or maps, and opening a copy of it."""

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
    """Reads the labels of images by their number; can be sent to other processes."""

    def place(self, number: int) -> str:
        """Where the labels of an image are, for errors."""
        ...

    def read(self, number: int) -> Labels:
        """The labels as the file has them; what cannot be read is a UserError that names the file."""
        ...


@dataclass(frozen=True)
class DenseListing:
    """The images of a copy of a data set and their labels, in an order that does not depend on the machine.

    Attributes:
        parts: of each image, `train` or `test`.
        missing: files that the data set's own lists name and the copy does not have.
    """

    parts: Sequence[str]
    open: Callable[[], ImageSource]
    labels: LabelReader
    missing: Sequence[str] = ()


@dataclass(frozen=True)
class DenseLayout:
    """One of the ways in which a data set lies on disk: its folder below that of all data sets, and what is in it."""

    folder: str
    files: tuple[str, ...]
    read: Callable[[Path], DenseListing]


@dataclass(frozen=True)
class DenseDataset:
    """A data set with boxes or maps: what it measures, how it is split, where it comes from and how it lies on disk.

    Attributes:
        classes: names, in the order of their indices; empty for normals and depths.
        counts: images of each split of a complete copy; empty where any number is complete.
        get: the site and the files to take from it, or the package to install.
        content, shared: as of `unseen.images.datasets.dataset.Dataset`.
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
        """Sent to a process that works on it, it is open: how it lies on disk stays behind."""
        return self.__dict__ | {"layouts": ()}


@dataclass(frozen=True, eq=False)
class OpenDenseDataset:
    """A data set that is there: its images, which of them train and test, and their labels."""

    dataset: DenseDataset
    source: ImageSource
    manifest: Manifest
    reader: LabelReader

    def __repr__(self) -> str:
        images = ", ".join(f"{count:,} {split}" for split, count in Counter(self.manifest.splits).items())
        return f"OpenDenseDataset({self.dataset.name}: {self.dataset.kind}, images: {images})"

    def numbers(self, split: str) -> list[int]:
        """Of the images of a split, in order."""
        return [number for number, part in enumerate(self.manifest.splits) if part == split]

    def labels(self, number: int) -> Labels:
        """The labels of an image, checked against its size and the classes; a fault is a UserError with the file."""
        where = self.reader.place(number)
        found = self.reader.read(number)
        try:
            size = image_size(self.source.read(number))
        except UserError as error:
            raise UserError(f"{self.source.entries[number].id}: {error}") from None
        if isinstance(found, Objects):
            wrong = found.classes[(found.classes < 0) | (found.classes >= len(self.dataset.classes))]
            if len(wrong):
                raise UserError(f"{where}: the class {wrong[0]} is none of {len(self.dataset.classes)}")
            return checked_objects(found, size, where)
        return checked_map(self.dataset.kind, found, size, len(self.dataset.classes), where)


@dataclass(frozen=True)
class LabelSurvey:
    """What one pass over all labels of a data set finds.

    Attributes:
        digest: SHA-256 of all labels, damaged ones by what is wrong with them: other labels are other work.
        damaged: split → images whose labels cannot be used, and why.
    """

    digest: str
    damaged: Mapping[str, Sequence[Damaged]]


@lru_cache(maxsize=32)
def survey_labels(opened: OpenDenseDataset) -> LabelSurvey:
    """Read and check every label once; the result is kept, as a study asks for it several times."""
    digest, damaged = hashlib.sha256(), dict[str, list[Damaged]]()
    for number, split in enumerate(opened.manifest.splits):
        try:
            found = opened.labels(number)
        except UserError as error:
            digest.update(f"{number}: {str(error).removeprefix(opened.reader.place(number))}\n".encode())
            damaged.setdefault(split, []).append(Damaged(opened.source.entries[number].id, str(error)))
            continue
        arrays = (found.boxes, found.classes, found.ignored, found.crowd) if isinstance(found, Objects) else (found,)
        for array in arrays:
            digest.update(f"{array.dtype} {array.shape}\n".encode() + np.ascontiguousarray(array).tobytes())
    return LabelSurvey(digest.hexdigest(), damaged)


def open_dense_dataset(dataset: DenseDataset, root: Path | None, *, partial: bool = False) -> OpenDenseDataset:
    """Find a data set; one that is not there, or not whole, is an error that says what to do.

    Args:
        root: the folder of all data sets; None for those that need none.
        partial: take what is there of an incomplete copy.
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
    raise UserError(f"{dataset.name}: not there; expected {folders} below {below}; to get it: {dataset.get}")


def _gap(dataset: DenseDataset, listing: DenseListing) -> str:
    """What a copy lacks, empty where it is complete."""
    if listing.missing:
        every = len(listing.parts) + len(listing.missing)
        return f"{len(listing.missing):,} of {every:,} images lack a file, the first {listing.missing[0]}"
    found = Counter(listing.parts)
    wrong = next((split for split, count in dataset.counts.items() if found[split] != count), None)
    if wrong is not None:
        return f"{found[wrong]:,} {SPLIT_WORDS[wrong]} images where {dataset.counts[wrong]:,} are expected"
    empty = next((word for split, word in SPLIT_WORDS.items() if not found[split]), None)
    return f"no {empty} images" if empty else ""

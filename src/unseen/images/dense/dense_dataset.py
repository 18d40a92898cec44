"""Metadata of a data set labelled with boxes or maps, and opening a copy of it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.images.decode import image_size, orientation, whole_pixels
from unseen.images.dense.labels import Kind, Labels, Objects, checked_map, checked_objects
from unseen.images.dense.turned import STEPS, turned_labels
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
        unmatched: see `OpenDenseDataset`.
    """

    parts: Sequence[str]
    open: Callable[[], ImageSource]
    labels: LabelReader
    missing: Sequence[str] = ()
    unmatched: Mapping[str, Sequence[str]] = field(default_factory=dict)


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
    """A data set found on disk: its images, their splits and their labels.

    Attributes:
        exif: whether images are turned by their EXIF orientation, and their labels with them. Labels in files are for
            the pixels as they are stored.
        unmatched: split → annotations that belong to no image, in words.
    """

    dataset: DenseDataset
    source: ImageSource
    manifest: Manifest
    reader: LabelReader
    exif: bool = False
    unmatched: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        images = ", ".join(f"{count:,} {split}" for split, count in Counter(self.manifest.splits).items())
        return f"OpenDenseDataset({self.dataset.name}: {self.dataset.kind}, images: {images})"

    def numbers(self, split: str) -> list[int]:
        """Indices of the images of a split, in order."""
        return [number for number, part in enumerate(self.manifest.splits) if part == split]

    def pixels(self, number: int) -> NDArray[np.uint8]:
        """(h, w, 3) the whole image, turned as its labels are."""
        return whole_pixels(self.source.read(number), self.source.entries[number].id, exif=self.exif)

    def labels(self, number: int) -> Labels:
        """The labels of an image, checked against its size and the classes; errors name the file."""
        where, kind, classes = self.reader.place(number), self.dataset.kind, len(self.dataset.classes)
        labels = self.reader.read(number)
        try:
            image = self.source.read(number)
            size, turn = image_size(image), orientation(image)
        except UserError as error:
            raise UserError(f"{self.source.entries[number].id}: {error}") from None
        sideways = STEPS[turn][0]
        checked: Labels
        if isinstance(labels, Objects):
            checked = checked_objects(labels, size, classes, where, sideways=sideways)
        else:
            checked = checked_map(kind, labels, size, classes, where, sideways=sideways)
        return turned_labels(checked, kind, turn, size) if self.exif and turn > 1 else checked


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
    manifest = Manifest(source.entries, list(listing.parts))
    return OpenDenseDataset(dataset, source, manifest, listing.labels, unmatched=listing.unmatched)


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

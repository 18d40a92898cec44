"""The images of a data set as listed in its own files, before they are opened."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.arrays import array_images
from unseen.data.core.dense.labels import LabelReader
from unseen.data.core.entries import EntryTable
from unseen.data.core.folder import FileImages
from unseen.data.core.links import Links, current_links
from unseen.data.core.listing import present_files
from unseen.data.core.releases import provenance
from unseen.data.core.source import ImageSource
from unseen.errors import UserError
from unseen.files import read_text

IMAGE = "image"
"""The class of every entry of a data set with boxes or maps: these images do not have one class each."""
SPLITS = ("train", "val", "test")
SPLIT_WORDS = {"train": "training", "val": "validation", "test": "test"}
SPLIT_FOLDERS = {
    "train": ("train", "training"),
    "val": ("val", "valid", "validation", "dev"),
    "test": ("test", "testing"),
}
"""Accepted names for the folders of splits."""
ALL = "all"
"""The part of images without splits by their authors."""


class Row(NamedTuple):
    """An image: its id (a path below the data set's folder, if it is a file), its class, and its part."""

    id: str
    label: str
    part: str


@dataclass(frozen=True)
class Listing:
    """The images that exist, in an order that does not depend on the machine.

    Attributes:
        open: creates the source of exactly these images, in this order.
        missing: ids that the data set's own lists name but whose files do not exist or are empty; or their label files.
        labels: reads the boxes or maps of these images.
        unmatched: split → annotations that belong to no image, in words.
    """

    rows: Sequence[Row]
    open: Callable[[], ImageSource]
    missing: Sequence[str] = ()
    labels: LabelReader | None = None
    unmatched: Mapping[str, Sequence[str]] = field(default_factory=dict)


def files_listing(base: Path, rows: Iterable[Row]) -> Listing:
    """A listing of image files below `base`, with missing files listed separately."""
    listed = list(rows)
    for row in listed:
        _check(row, base)
    present = present_files(base, (row.id for row in listed))
    there = [row for row in listed if row.id in present]
    missing = [row.id for row in listed if row.id not in present]
    return Listing(there, partial(_open_files, base, there, current_links()), missing)


def pixels_listing(rows: Sequence[Row], pixels: Callable[[], NDArray[np.uint8]]) -> Listing:
    """A listing of images in an array (n, h, w) or (n, h, w, 3), which is created when the images are opened."""
    return Listing(rows, partial(_open_pixels, rows, pixels))


def numbered(labels: Iterable[str], part: str) -> list[Row]:
    """Rows for images identified by number: `train/00000000` is the first training image."""
    return [Row(f"{part}/{number:08d}", label, part) for number, label in enumerate(labels)]


def fields(path: Path, count: int, expected: str) -> Iterator[list[str]]:
    """The fields of each line of a file, the last one taking the rest of the line; blank lines are skipped."""
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        words = line.split(maxsplit=count - 1)
        if words and len(words) != count:
            raise UserError(f"{path}, line {number}: expected {expected}, found {line.strip()!r}")
        if words:
            yield [word.strip() for word in words]


def _open_files(base: Path, rows: Sequence[Row], links: Links) -> FileImages:
    entries = EntryTable.of(((row.id, row.label) for row in rows), str(base))
    about = provenance("files of a data set", entries.classes, len(entries))
    return FileImages(base, entries, about, links=links)


def _open_pixels(rows: Sequence[Row], pixels: Callable[[], NDArray[np.uint8]]) -> ImageSource:
    return array_images(pixels(), [row.label for row in rows], [row.id for row in rows])


def _check(row: Row, base: Path) -> None:
    """Refuse listed paths that lead outside the data set's folder or are not plain text: lists are untrusted."""
    path = PurePosixPath(row.id)
    if path.is_absolute() or ".." in path.parts or not row.id or not row.label:
        raise UserError(f"{base}: one of its lists names {row.id!r} of class {row.label!r}, not an image below it")
    if not (row.id + row.label).isprintable():
        raise UserError(f"{base}: one of its lists names {row.id!a} of class {row.label!a}, which is not plain text")

"""The images of a data set as its own files name them, before they are opened."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.files import read_text
from unseen.images.arrays import array_images
from unseen.images.entries import EntryTable
from unseen.images.folder import FileImages
from unseen.images.listing import present_files
from unseen.images.releases import provenance
from unseen.images.source import ImageSource

SPLITS = ("train", "val", "test")
ALL = "all"
"""The part of images whose authors made no splits."""


class Row(NamedTuple):
    """An image: its id (a path below the data set's folder, where it is a file), class, and part of the data set."""

    id: str
    label: str
    part: str


@dataclass(frozen=True)
class Listing:
    """The images that are there, in an order that does not depend on the machine.

    Attributes:
        open: makes the source of just these images, in this order.
        missing: ids that the data set's own lists name and the folder does not have, or has as files without a byte.
    """

    rows: Sequence[Row]
    open: Callable[[], ImageSource]
    missing: Sequence[str] = ()


def files_listing(base: Path, rows: Iterable[Row]) -> Listing:
    """A listing of images that are files below `base`, and which of them are there."""
    listed = list(rows)
    for row in listed:
        _check(row, base)
    present = present_files(base, (row.id for row in listed))
    there = [row for row in listed if row.id in present]
    return Listing(there, partial(_open_files, base, there), [row.id for row in listed if row.id not in present])


def pixels_listing(rows: Sequence[Row], pixels: Callable[[], NDArray[np.uint8]]) -> Listing:
    """A listing of images in an array (n, h, w) or (n, h, w, 3), which is made when the images are opened."""
    return Listing(rows, partial(_open_pixels, rows, pixels))


def numbered(labels: Iterable[str], part: str) -> list[Row]:
    """Rows of images that have numbers, not names: `train/00000000` is the first of the training images."""
    return [Row(f"{part}/{number:08d}", label, part) for number, label in enumerate(labels)]


def fields(path: Path, count: int, expected: str) -> Iterator[list[str]]:
    """The words of each line of a file, the last taking the rest of the line; blank lines are passed over."""
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        words = line.split(maxsplit=count - 1)
        if words and len(words) != count:
            raise UserError(f"{path}, line {number}: expected {expected}, found {line.strip()!r}")
        if words:
            yield [word.strip() for word in words]


def _open_files(base: Path, rows: Sequence[Row]) -> FileImages:
    entries = EntryTable.of(((row.id, row.label) for row in rows), str(base))
    return FileImages(base, entries, provenance("files of a data set", entries.classes, len(entries)))


def _open_pixels(rows: Sequence[Row], pixels: Callable[[], NDArray[np.uint8]]) -> ImageSource:
    return array_images(pixels(), [row.label for row in rows], [row.id for row in rows])


def _check(row: Row, base: Path) -> None:
    """Lists come from elsewhere: they may only name files below the data set's folder, in plain text."""
    path = PurePosixPath(row.id)
    if path.is_absolute() or ".." in path.parts or not row.id or not row.label:
        raise UserError(f"{base}: one of its lists names {row.id!r} of class {row.label!r}, which is no image below it")
    if not (row.id + row.label).isprintable():
        raise UserError(f"{base}: one of its lists names {row.id!a} of class {row.label!a}, which is not plain text")

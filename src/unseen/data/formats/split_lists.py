"""Data sets as lists of images, one for each split, as VTAB-1k circulates.

A line has the path of an image below the folder of the lists and the number of its class.
"""

from collections.abc import Iterator
from pathlib import Path

from unseen.data.core.rows import Listing, Row, files_listing
from unseen.errors import UserError
from unseen.files import read_text

LISTS = {"train": "train800.txt", "val": "val200.txt", "test": "test.txt"}
TOGETHER = "train800val200.txt"
"""Training and validation images in one list; not needed, but it must agree with the others if it is there."""


def split_lists(place: Path, classes: int) -> Listing:
    """The images of the lists; those that do not exist are listed as missing.

    Args:
        classes: number of classes; labels are from 0.
    """
    rows = [Row(*found, part) for part, file in LISTS.items() for found in _lines(place / file, classes)]
    chosen = {(row.id, row.label) for row in rows if row.part != "test"}
    if (place / TOGETHER).is_file() and chosen != {*_lines(place / TOGETHER, classes)}:
        raise UserError(
            f"{place / TOGETHER}: lists other images or labels than {LISTS['train']} and {LISTS['val']} together"
        )
    return files_listing(place, rows)


def _lines(path: Path, classes: int) -> Iterator[tuple[str, str]]:
    """(image, class) of each line; classes are named by their numbers, in their order."""
    digits = len(str(classes - 1))
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        image, _, label = line.strip().rpartition(" ")
        if not image or not label.isascii() or not label.isdigit():
            raise UserError(f"{path}, line {number}: expected an image and its class, found {line.strip()[:80]!r}")
        if int(label) >= classes:
            raise UserError(f"{path}, line {number}: class {label[:20]}; expected 0 to {classes - 1}")
        yield image.strip(), label.zfill(digits)[-digits:]

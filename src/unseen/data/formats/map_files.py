"""Maps stored as image files: classes as indices, normals as colours, depths in millimetres."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.decoding.decode import open_picture
from unseen.data.core.dense.labels import IGNORED, MOST_CLASSES, LabelReader
from unseen.data.core.image_files import image_bytes
from unseen.data.core.listing import present_files
from unseen.data.core.rows import IMAGE, Listing, Row, files_listing
from unseen.errors import UserError

GREY, BIT_DEPTH, COLOUR_TYPE = 0, 24, 25
"""PNG's colour type of grey pictures, and the bytes of a file with the bits per value and the colour type."""
SIXTEEN_BITS = {"I;16", "I"}
"""Modes of 16-bit grey pictures; versions of PIL before 11 read them as 32 bits."""


def read_indices(path: Path) -> NDArray[np.uint8]:
    """(h, w) numbers in a PNG file with one number per pixel: grey values of 1 to 16 bits, or palette indices.

    The numbers are as in the file, whereas PIL multiplies grey values of 2 and 4 bits so that the largest becomes 255.
    """
    content = image_bytes(path)
    picture = open_picture(content, str(path))
    if picture.format != "PNG":
        raise UserError(f"{path}: a map of classes is a PNG file, not {picture.format}; others may change its numbers")
    if picture.mode not in {"L", "P", "1", *SIXTEEN_BITS}:
        raise UserError(f"{path}: a map of classes is a grey or palette picture, not of mode {picture.mode}")
    values: NDArray[Any] = np.array(picture)
    if values.max(initial=0) > IGNORED:
        raise UserError(f"{path}: the label {int(values.max())} is none of the classes, of which there are at most 255")
    bits = content[BIT_DEPTH] if content[COLOUR_TYPE] == GREY else 8
    return values.astype(np.uint8) // (255 // (2**bits - 1) if bits in (2, 4) else 1)


def read_colours(path: Path) -> NDArray[np.uint8]:
    """(h, w, 3) colours of an image."""
    picture = open_picture(image_bytes(path), str(path))
    if picture.mode != "RGB":
        raise UserError(f"{path}: normals are a picture in RGB, not of mode {picture.mode}")
    return np.array(picture, dtype=np.uint8)


def unit_normals(colours: NDArray[np.uint8], known: NDArray[np.bool_]) -> NDArray[np.float32]:
    """(h, w, 3) unit normals from colours (0 is −1, 255 is 1); zero vectors where the normal is unknown."""
    vectors = colours.astype(np.float32) / 127.5 - 1
    lengths = np.linalg.norm(vectors, axis=2, keepdims=True)
    normals: NDArray[np.float32] = np.divide(
        vectors, lengths, out=np.zeros_like(vectors), where=known[..., None] & (lengths > 0)
    )
    return normals


def read_millimetres(path: Path) -> NDArray[np.float32]:
    """(h, w) depths in metres from a 16-bit greyscale image in millimetres."""
    picture = open_picture(image_bytes(path), str(path))
    if picture.mode not in SIXTEEN_BITS:
        raise UserError(f"{path}: depths are a grey picture of 16 bits in millimetres, not of mode {picture.mode}")
    return np.array(picture, dtype=np.float32) / np.float32(1000)


@dataclass(frozen=True)
class ClassMaps:
    """Class maps in files, one per image.

    Attributes:
        names: paths of the files below `base`.
        first: value of the first class in the files; if it is 1, pixels with value 0 are ignored.
    """

    base: Path
    names: tuple[str, ...]
    first: int = 0

    def place(self, number: int) -> str:
        return str(self.base / self.names[number])

    def read(self, number: int) -> NDArray[np.uint8]:
        values = read_indices(self.base / self.names[number])
        if self.first == 0:
            return values
        # Values below the first class become IGNORED; 255 stays IGNORED.
        shifted = values.astype(np.int16) - self.first
        shifted[(values == IGNORED) | (shifted < 0)] = IGNORED
        return shifted.astype(np.uint8)


@dataclass(frozen=True)
class PictureMaps:
    """Normals as colours or depths in millimetres, one file per image; `names` are paths below `base`.

    Unknown normals are black pixels and unknown depths are 0.
    """

    base: Path
    names: tuple[str, ...]
    kind: Literal["normals", "depth"]

    def place(self, number: int) -> str:
        return str(self.base / self.names[number])

    def read(self, number: int) -> NDArray[np.float32]:
        path = self.base / self.names[number]
        if self.kind == "depth":
            return read_millimetres(path)
        colours = read_colours(path)
        return unit_normals(colours, colours.max(axis=2) > 0)


def paired_listing(
    base: Path,
    images: Sequence[tuple[str, str]],
    label_of: Callable[[str], str],
    make: Callable[[tuple[str, ...]], LabelReader],
) -> Listing:
    """Images and their label files below `base`; a pair with a missing file is listed as missing.

    Args:
        images: path below `base`, and part.
        label_of: maps the path of an image to the path of its labels.
        make: creates the reader from the paths of the labels.
    """
    there = {row.id for row in files_listing(base, (Row(name, IMAGE, part) for name, part in images)).rows}
    labels = present_files(base, [label_of(name) for name, _ in images])
    whole = [(name, part) for name, part in images if name in there and label_of(name) in labels]
    missing = [
        name if name not in there else label_of(name)
        for name, _ in images
        if name not in there or label_of(name) not in labels
    ]
    opened = files_listing(base, [Row(name, IMAGE, part) for name, part in whole])
    return replace(opened, missing=missing, labels=make(tuple(label_of(name) for name, _ in whole)))


def check_class_count(classes: Sequence[str], where: str) -> None:
    """Refuse more classes than an 8-bit map can represent."""
    if len(classes) > MOST_CLASSES:
        raise UserError(f"{where}: {len(classes)} classes; 8-bit maps represent at most {MOST_CLASSES}")

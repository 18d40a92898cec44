"""STL-10: photographs of 96 × 96 pixels in 10 classes; its unlabelled images are not used."""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, numbered, pixels_listing
from unseen.errors import UserError
from unseen.files import read_text, refuse_pointer, refuse_special
from unseen.reading.guard import read_bounded, reading

PARTS = ("train", "test")
NAMES = "class_names.txt"
SIDE = 96
BYTES = 3 * SIDE * SIDE
MOST_LABELS = 1 << 24


def read(place: Path) -> Listing:
    """Each part has a file of pixels, and a file with a byte for each image: its class, from 1."""
    names = read_text(place / NAMES).split()
    rows = list[Row]()
    for part in PARTS:
        rows += numbered((names[label - 1] for label in _labels(place, part, len(names))), part)
    return pixels_listing(rows, partial(_pixels, place))


def _labels(place: Path, part: str, classes: int) -> list[int]:
    path, images = place / f"{part}_y.bin", place / f"{part}_X.bin"
    refuse_pointer(images)
    with reading(path, "a file of labels"):
        labels = list(read_bounded(path, MOST_LABELS))
    size = images.stat().st_size
    if size != len(labels) * BYTES or not labels:
        raise UserError(f"{images}: {size:,} bytes, but {len(labels):,} images of {BYTES:,} bytes have labels")
    if min(labels) < 1 or max(labels) > classes:
        raise UserError(f"{path}: labels from {min(labels)} to {max(labels)}; {NAMES} has {classes} names, from 1")
    return labels


def _pixels(place: Path) -> NDArray[np.uint8]:
    """Colours are separate planes, in which pixels follow each other column by column."""
    for part in PARTS:
        refuse_special(place / f"{part}_X.bin")
    parts = [np.fromfile(place / f"{part}_X.bin", dtype=np.uint8).reshape(-1, 3, SIDE, SIDE) for part in PARTS]
    return np.concatenate([np.ascontiguousarray(part.transpose(0, 3, 2, 1)) for part in parts])


DATASET = Dataset(
    name="stl10",
    title="STL-10",
    classes=10,
    metric="top1",
    test="author",
    validation="fifth",
    few_shot="other",
    counts={"train": 4000, "val": 1000, "test": 8000},
    layouts=(Layout("stl10_binary", (NAMES, *(f"{part}_{kind}.bin" for part in PARTS for kind in "Xy")), read),),
    get="Stanford, STL-10: stl10_binary.tar.gz",
    licence="that of ImageNet",
    citation="Coates et al. 2011, An Analysis of Single-Layer Networks in Unsupervised Feature Learning",
)

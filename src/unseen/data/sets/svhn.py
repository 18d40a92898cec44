"""SVHN: digits of house numbers, cropped to 32 × 32 pixels."""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, numbered, pixels_listing
from unseen.data.formats.matlab import read_mat, whole_numbers
from unseen.errors import UserError

FILES = {"train": "train_32x32.mat", "test": "test_32x32.mat"}
SHAPE = (32, 32, 3)


def read(place: Path) -> Listing:
    """Each part has a MATLAB file with pixels X, (32, 32, 3, n), and digits y, in which 10 stands for 0."""
    rows, parts = list[Row](), list[NDArray[np.uint8]]()
    for part, file in FILES.items():
        pixels, digits = _arrays(place / file)
        rows += numbered((str(digit % 10) for digit in digits), part)
        parts.append(pixels)
    return pixels_listing(rows, partial(_pixels, parts))


def _arrays(path: Path) -> tuple[NDArray[np.uint8], list[int]]:
    content = read_mat(path)
    pixels, digits = content.get("X"), whole_numbers(content.get("y"))
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.shape[:3] != SHAPE or pixels.ndim != 4:
        raise UserError(f"{path}: no images 'X' of 32 × 32 pixels in bytes in it")
    if digits is None or len(digits) != pixels.shape[3] or min(digits, default=0) < 1 or max(digits) > 10:
        raise UserError(f"{path}: expected a digit from 1 to 10 in 'y' for each of the {pixels.shape[3]:,} images")
    return pixels, digits


def _pixels(parts: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    return np.concatenate([np.ascontiguousarray(np.moveaxis(part, 3, 0)) for part in parts])


DATASET = Dataset(
    name="svhn",
    title="SVHN",
    classes=10,
    metric="top1",
    test="author",
    validation="fifth",
    few_shot="other",
    counts={"train": 58_606, "val": 14_651, "test": 26_032},
    layouts=(Layout("svhn", tuple(FILES.values()), read),),
    get="Stanford, The Street View House Numbers: train_32x32.mat, test_32x32.mat",
    licence="non-commercial use only",
    citation="Netzer et al. 2011, Reading Digits in Natural Images with Unsupervised Feature Learning",
)

"""CIFAR-10's successors as distributed: arrays of images and of class indices."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.rows import ALL, Listing, numbered, pixels_listing
from unseen.data.formats.named_folders import CIFAR_10
from unseen.errors import UserError
from unseen.reading.arrays import read_npy, read_npz
from unseen.reading.guard import reading

SHAPE = (32, 32, 3)


def npy_arrays(place: Path, images: str, labels: str) -> Listing:
    """Images and labels in one file each."""
    return _listing(_load(place / images), _load(place / labels), place / images)


def npz_arrays(place: Path, file: str) -> Listing:
    """Both in one file, under `images` and `labels`; other arrays are not read."""
    images, labels = (_load(place / file, name) for name in ("images", "labels"))
    return _listing(images, labels, place / file)


def _load(path: Path, name: str | None = None) -> NDArray[Any]:
    """The array in an `.npy` file, or a named array of an `.npz`."""
    with reading(path, "the arrays that were expected"):
        return read_npy(path) if name is None else read_npz(path, (name,))[name]


def _listing(images: NDArray[Any], labels: NDArray[Any], path: Path) -> Listing:
    if images.dtype != np.uint8 or images.shape[1:] != SHAPE or len(images) == 0:
        raise UserError(f"{path}: expected bytes of shape (n, 32, 32, 3), found {images.dtype} {images.shape}")
    whole = np.issubdtype(labels.dtype, np.integer) and labels.shape == (len(images),)
    if not whole or labels.min() < 0 or labels.max() >= len(CIFAR_10):
        raise UserError(f"{path}: expected {len(images):,} labels from 0 to 9, found {labels.dtype} {labels.shape}")
    rows = numbered((CIFAR_10[label] for label in labels.tolist()), ALL)
    return pixels_listing(rows, lambda: images)

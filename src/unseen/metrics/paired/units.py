"""Units of a comparison from hits on images: packed hits, and accuracies of concepts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.resampling import Floats

Values = NDArray[np.generic]
"""Booleans, or numbers of any kind."""


def concept_accuracies(hits: Values, concepts: NDArray[np.integer]) -> tuple[Floats, NDArray[np.int64]]:
    """(…, C) accuracies on the images of each concept that occurs, in order, and its (C,) numbers of images.

    The differences of hits of two backbones give differences of accuracies. The two arrays are the values and the
    sizes of `crossed` and `all_pairs`.

    Args:
        hits: (…, images).
        concepts: (images,) concept of each image.
    """
    matrix: NDArray[Any] = np.asarray(hits)
    if np.shape(concepts) != matrix.shape[-1:] or not matrix.size:
        raise UserError(f"hits of shape {matrix.shape} need one concept per image, not {np.shape(concepts)}")
    place, counts = np.unique(concepts, return_inverse=True, return_counts=True)[1:]
    return per_stratum(matrix, place, counts), counts


def per_stratum(matrix: Values, place: NDArray[np.integer], counts: NDArray[np.integer]) -> Floats:
    """(…, strata) means of (…, units) values.

    Args:
        place: (units,) from 0 to strata − 1.
        counts: (strata,) units of each.
    """
    rows: NDArray[Any] = matrix.reshape(-1, matrix.shape[-1])
    sums = np.array([np.bincount(place, weights=row, minlength=len(counts)) for row in rows])
    return np.asarray((sums / counts).reshape(*matrix.shape[:-1], len(counts)))


def unpacked(bits: NDArray[np.uint8], images: int) -> NDArray[np.bool_]:
    """(…, images) hits from (…, bytes) packed bits, the first image in the highest bit, as `numpy.packbits` writes."""
    if bits.dtype != np.uint8 or bits.shape[-1] != -(-images // 8):
        raise UserError(f"packed hits of {images} images have {-(-images // 8)} bytes, not {bits.shape[-1]}")
    return np.unpackbits(bits, axis=-1, count=images).view(np.bool_)

"""The integer weights that PIL uses to resize 8-bit images, so that other implementations can produce the same bytes.

PIL resizes in two passes, along rows and along columns. Each output pixel of a pass is a weighted sum of its
neighbours, with weights of 22 fractional bits, rounded to a byte: floor(Σ w·pixel + ½), clipped to 0 … 255. The sums
are exact integers, so any order of summation gives the same bytes.
"""

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.decoding.transform import Interpolation, Transform

BITS = 22
"""Fractional bits of a weight."""
SUPPORTS: dict[Interpolation, float] = {"bilinear": 1.0, "bicubic": 2.0, "lanczos": 3.0}
"""Half-width of each filter with weights; "nearest" has none."""


@dataclass(frozen=True, eq=False)
class Taps:
    """The weights of one pass, for some output pixels.

    Attributes:
        first: (n,) index of the first input neighbour of each output pixel.
        weights: (n, k) integers with `BITS` fractional bits; 0 beyond the input.
    """

    first: NDArray[np.int64]
    weights: NDArray[np.int32]

    @cached_property
    def packed(self) -> NDArray[np.int32]:
        """(n, 1 + k) the first neighbour, followed by the weights."""
        return np.concatenate([self.first[:, None].astype(np.int32), self.weights], axis=1)


@lru_cache(maxsize=4096)
def taps(side: int, resized: int, start: int, count: int, interpolation: Interpolation) -> Taps:
    """Weights that resize a side of some pixels to `resized`, for `count` output pixels from `start` on.

    Uses the same float64 operations as PIL's `precompute_coeffs` and `normalize_coeffs_8bpc`. When enlarging, the
    filter has its own width; when reducing, it is wider by the reduction factor (antialiasing).
    """
    scale = side / resized
    widened = max(scale, 1.0)
    support = SUPPORTS[interpolation] * widened
    centre = (np.arange(start, start + count) + 0.5) * scale
    first = np.maximum((centre - support + 0.5).astype(np.int64), 0)
    last = np.minimum((centre + support + 0.5).astype(np.int64), side)
    offsets = np.arange(int((last - first).max(initial=1)))
    values = _filter((first[:, None] + offsets - centre[:, None] + 0.5) * (1.0 / widened), interpolation)
    values[offsets >= (last - first)[:, None]] = 0.0
    values /= np.add.accumulate(values, axis=1)[:, -1:]  # added in the order of the neighbours, as in PIL
    scaled = values * (1 << BITS)
    return Taps(first, np.where(scaled < 0, scaled - 0.5, scaled + 0.5).astype(np.int32))


def _filter(x: NDArray[np.float64], interpolation: Interpolation) -> NDArray[Any]:
    """PIL's filters: triangle, Keys' cubic with a = −½, and Lanczos (sinc times a wider sinc)."""
    x = np.abs(x)
    if interpolation == "bilinear":
        return np.where(x < 1.0, 1.0 - x, 0.0)
    if interpolation == "bicubic":
        a = -0.5
        near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1
        far = (((x - 5) * x + 8) * x - 4) * a
        return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))
    return np.where(x < 3.0, np.sinc(x) * np.sinc(x / 3), 0.0)


def resized_size(size: tuple[int, int], transform: Transform) -> tuple[int, int]:
    """Width and height after the shortest side becomes `transform.resize`, with the other side rounded down."""
    width, height = size
    if transform.resize is None:
        return size
    if transform.squash:
        return transform.resize, transform.resize
    other = int(transform.resize * max(size) / min(size))
    return (transform.resize, other) if width <= height else (other, transform.resize)


def crop_start(side: int, size: int) -> int:
    """Start of the central square, rounded as in torchvision."""
    return round((side - size) / 2)


def columns_first(size: tuple[int, int], resized: tuple[int, int]) -> bool:
    """Whether PIL resizes columns before rows, as it does from version 13 if an image loses most of its height."""
    lost_width, lost_height = size[0] - resized[0], size[1] - resized[1]
    return _turns() and lost_height > max(0, 2 * lost_width)


@cache
def _turns() -> bool:
    import PIL

    return int(PIL.__version__.partition(".")[0]) >= 13

"""Draws with replacement, and the percentile intervals of what is computed from them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with the percentile interval of its resamples."""

    value: float
    low: float
    high: float


def percentile_interval(value: float, resampled: Floats, level: float = 0.95) -> Interval:
    """An estimate with the central `level` interval of its resampled values."""
    tail = (1 - level) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Interval(float(value), float(low), float(high))


def draws(rng: np.random.Generator, n: int, resamples: int) -> Floats:
    """(resamples, n): how often each of n units is in a draw of n with replacement."""
    return rng.multinomial(n, np.full(n, 1 / n), size=resamples).astype(np.float64)

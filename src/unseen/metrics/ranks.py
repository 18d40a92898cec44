"""Ranks of models with their uncertainty."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.resampling import Floats


@dataclass(frozen=True)
class Ranks:
    """Ranks of m models from 1, the largest value; equal values share the better rank.

    Attributes:
        rank: (m,) ranks of the values themselves.
        low, high: (m,) range of ranks in the middle `level` of draws.
        best: (m,) share of draws in which a model is first.
    """

    rank: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    best: Floats


def rank(values: Floats) -> NDArray[np.int64]:
    """(…, m) ranks along the last axis: 1 + the number of larger values."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-np.asarray(values, dtype=np.float64), method="min", axis=-1), dtype=np.int64)


def ranks_from_draws(values: Floats, draws: Floats, level: float = 0.95) -> Ranks:
    """Ranks of values, and their distribution over draws of the values.

    Args:
        values: (m,).
        draws: (b, m) resampled values.
    """
    if np.ndim(values) != 1 or np.ndim(draws) != 2 or np.shape(draws)[1] != len(values):
        raise UserError(f"{np.shape(values)} values do not match draws of shape {np.shape(draws)}")
    drawn = rank(draws)
    tail = (1 - level) / 2
    low = np.quantile(drawn, tail, axis=0, method="lower").astype(np.int64)
    high = np.quantile(drawn, 1 - tail, axis=0, method="higher").astype(np.int64)
    return Ranks(rank(values), low, high, np.asarray((drawn == 1).mean(axis=0)))

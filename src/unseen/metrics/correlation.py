"""Correlations between measurements of the same models, with intervals.

With a dozen models, as in studies of transfer, the interval says more than the coefficient: r = 0.6 of 14 models is
compatible with anything from 0.1 to 0.9.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import atanh, inf, sqrt, tanh

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from unseen.errors import UserError
from unseen.metrics.resampling import RESAMPLES, Floats, Interval

LEAST = 4
"""Minimum number of models for an interval: its width is proportional to 1/√(n − 3)."""
LEAST_DRAWN = 7
"""Minimum number of models for resampling: with fewer, too many draws consist of two or three distinct models, on a
line.
"""
NORMAL_975 = float(special.ndtri(0.975))


@dataclass(frozen=True)
class Correlation:
    """Pearson's and Spearman's coefficients of n pairs, with 95% intervals.

    Attributes:
        pearson, spearman: with intervals by Fisher's z: tanh(atanh r ± 1.96·se), se² = 1/(n − 3) for Pearson's and (1 +
            r²/2)/(n − 3) for Spearman's (Bonett & Wright 2000). Models are treated as a random sample. A perfect order
            of a few models is not certain: its z is taken halfway to the next value that ranks can have.
        resampled: Pearson's with the interval over draws of models with replacement; None below 7 models.
    """

    n: int
    pearson: Interval
    spearman: Interval
    resampled: Interval | None


def correlation(x: ArrayLike, y: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0) -> Correlation:
    """Correlation of two measurements of the same models.

    Args:
        x, y: (n,) finite, n ≥ 4, neither constant.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise UserError(f"a correlation needs two lists with one number per model, not {a.shape} and {b.shape}")
    if len(a) < LEAST:
        raise UserError(f"a correlation with an interval needs at least {LEAST} models, not {len(a)}")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        raise UserError("a constant has no correlation with other values")
    return _correlation(tuple(a.tolist()), tuple(b.tolist()), resamples, seed)


@lru_cache(4096)  # correlations of published models are on every page, hence the cache
def _correlation(x: tuple[float, ...], y: tuple[float, ...], resamples: int, seed: int) -> Correlation:
    from scipy.stats import rankdata

    a, b = np.array(x), np.array(y)
    n, r = len(a), _pearson(a, b)
    return Correlation(
        n=n,
        pearson=_fisher(r, 1 / sqrt(n - 3)),
        spearman=_of_ranks(_pearson(rankdata(a), rankdata(b)), n),
        resampled=_over_draws(a, b, r, resamples, seed) if n >= LEAST_DRAWN else None,
    )


def _over_draws(a: Floats, b: Floats, r: float, resamples: int, seed: int) -> Interval:
    rows = np.random.default_rng(seed).integers(0, len(a), (resamples, len(a)))
    x, y = a[rows], b[rows]
    # A draw of a single value has no correlation; its deviations from its mean are 0 up to rounding.
    sound = (np.ptp(x, axis=1) > 0) & (np.ptp(y, axis=1) > 0)
    low, high = np.quantile(_pearsons(x[sound], y[sound]), [0.025, 0.975])
    return Interval(r, float(low), float(high))


def _of_ranks(rho: float, n: int) -> Interval:
    """Spearman's coefficient with its interval. Without ties its values are 12/(n(n² − 1)) apart; `edge` is half of
    that.
    """
    edge = 1 - 6 / (n * (n**2 - 1))
    inner = min(max(rho, -edge), edge)
    ends = _fisher(inner, sqrt((1 + inner**2 / 2) / (n - 3)))
    return Interval(rho, -1.0 if rho <= -edge else ends.low, 1.0 if rho >= edge else ends.high)


def _pearson(a: Floats, b: Floats) -> float:
    return float(np.clip(_pearsons(a[None], b[None])[0], -1, 1))


def _pearsons(a: Floats, b: Floats) -> Floats:
    """(m,) coefficients of m pairs of rows."""
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return np.asarray((a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1)))


def _fisher(r: float, error: float) -> Interval:
    z = atanh(r) if abs(r) < 1 else inf * r
    return Interval(r, tanh(z - NORMAL_975 * error), tanh(z + NORMAL_975 * error))

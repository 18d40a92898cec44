"""Intervals of ρ over resampled planes, without the scale's inverse of every prediction.

ρ = y − back(p), and `back` is increasing, so that the order of a model's B values of ρ is that of its predictions p
reversed. An interpolated quantile needs two of them: predictions are partitioned, and only those are converted.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
TOGETHER = 2**18
"""Predictions that are computed and partitioned at a time: 2 MB, which stay in the processor's cache."""


def rho_intervals(fits: Array, columns: Array, y: Array, back: Callable[[Array], Array], level: float) -> Array:
    """Ends of the central intervals of ρ, (2, m): equal to `np.quantile` of all B × m values.

    Args:
        fits: (B, k + 1) weights and intercept of resampled planes.
        columns: (m, k) ID accuracies on the scale of the fit.
        y: (m,) OOD accuracies.
        back: from the scale of the fit to accuracies.
    """
    many, tail = len(fits), (1 - level) / 2
    at = np.array([tail, 1 - tail]) * (many - 1)
    below = np.floor(at).astype(np.intp)
    above = np.minimum(below + 1, many - 1)
    share = (at - below)[:, None]
    places = many - 1 - np.stack([below, above])  # of predictions, whose order is reversed
    ends = np.empty((2, len(y)))
    step = max(1, TOGETHER // many)
    for start in range(0, len(y), step):
        some = slice(start, start + step)
        predicted = np.repeat(fits[None, :, -1], len(y[some]), axis=0)
        for place in range(fits.shape[1] - 1):
            predicted += fits[:, place] * columns[some, place, None]
        predicted.partition(np.unique(places), axis=1)
        lower, upper = y[some] - back(np.moveaxis(predicted[:, places], 0, -1))
        # As NumPy interpolates: from the nearer of the two.
        ends[:, some] = np.where(share < 0.5, lower + (upper - lower) * share, upper - (upper - lower) * (1 - share))
    return ends

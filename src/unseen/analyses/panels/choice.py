"""The choice of a panel: k concepts of a level, or k test images per class, that stand for all of them.

With A[m, u] the accuracy of backbone m on unit u (a concept or an image) and w[u] its number of test images, the score
of a backbone is y[m] = Σᵤ w[u] A[m, u] / Σᵤ w[u], and its mean on a panel P is the same over u in P. The score is
estimated by a line through such means, fitted on the backbones at hand. It is the better, the less of the mean's
variance over backbones is not that of the score:

    minimise  Var(Σᵤ∈P w[u] e[·, u]) / (Σᵤ∈P w[u] b[u])²,    A[m, u] ≈ a[u] + b[u] y[m] + e[m, u] by least squares.

The covariances of the residuals e between units are halved. Of few backbones they are mostly noise, which a free choice
would fit; without any, units that err together are chosen together (benchmarks/README.md, Panels). No weights are
fitted, as they suit the backbones at hand still better and others less; see anchor points (tinyBenchmarks, Polo et al.
2024) for a choice with weights.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
SHRINKAGE = 0.5
"""The share of each covariance of residuals that is taken for noise."""
MOST_SWEEPS = 10
LEAST_GAIN = 1e-12
"""Relative decrease of the error below which an exchange is rounding."""


@dataclass(frozen=True)
class Line:
    """score ≈ intercept + slope · mean of the panel; both are shares in [0, 1]."""

    intercept: float
    slope: float


def choose_panel(accuracy: Floats, weights: Floats, k: int, strata: NDArray[np.integer] | None = None) -> Places:
    """The places of the chosen units, ascending; nothing is random.

    Units are added one at a time, each time the one with the smallest objective, and are then exchanged one at a time
    while that decreases it. With strata, k units are chosen of each, in turns, so that every class has as many images.
    O(k · units · backbones) for adding, and as much for each sweep of exchanges.

    Args:
        accuracy: (backbones, units), shares in [0, 1].
        weights: (units,) positive: the number of test images of each unit.
        k: number of units of the panel, or of each stratum.
        strata: (units,) the class of each unit; None for a single one.
    """
    groups = (
        [np.arange(accuracy.shape[1])]
        if strata is None
        else [np.flatnonzero(strata == each) for each in np.unique(strata)]
    )
    fewest = min(map(len, groups))
    if not 1 <= k <= fewest:
        raise UserError(f"a panel has between 1 and {fewest} of {fewest} units, not {k}")
    rows = _rows(accuracy, weights)
    chosen, total = np.zeros(accuracy.shape[1], dtype=bool), np.zeros(len(rows))
    order = list[tuple[int, Places]]()
    for _ in range(k):
        for group in groups:
            free = group[~chosen[group]]
            best = int(free[np.argmin(_objective(rows, total, free))])
            chosen[best], total = True, total + rows[:, best]
            order.append((best, group))
    for _ in range(MOST_SWEEPS):
        changed = False
        for turn, (place, group) in enumerate(order):
            chosen[place], total = False, total - rows[:, place]
            free = group[~chosen[group]]
            objective = _objective(rows, total, free)
            best = int(free[np.argmin(objective)])
            if objective.min() >= objective[np.searchsorted(free, place)] * (1 - LEAST_GAIN):
                best = place
            changed |= best != place
            chosen[best], total = True, total + rows[:, best]
            order[turn] = best, group
        if not changed:
            break
    return np.flatnonzero(chosen)


def panel_mean(accuracy: Floats, weights: Floats, places: Places) -> Floats:
    """(backbones,) the mean accuracy of each backbone on a panel, given by the places of its units."""
    return np.asarray(accuracy[:, places] @ weights[places] / weights[places].sum())


def fit_lines(means: Floats, score: Floats) -> tuple[Floats, Floats]:
    """Intercepts and slopes, (…), of the least-squares lines from means of panels, (…, backbones), to scores.

    A panel on which all backbones have the same accuracy says nothing of their scores: its slope is 0.
    """
    centred = means - means.mean(axis=-1, keepdims=True)
    squares = (centred**2).sum(axis=-1)
    slopes = np.divide(centred @ (score - score.mean()), squares, out=np.zeros_like(squares), where=squares > 0)
    return score.mean() - slopes * means.mean(axis=-1), slopes


def _rows(accuracy: Floats, weights: Floats) -> Floats:
    """(backbones + 2, units) what the objective sums over a panel: residuals e, Σₘ e² and slopes b, times weights.

    Slopes are 1 if all backbones have the same score.
    """
    score = accuracy @ weights / weights.sum()
    weighted, centred = (accuracy - accuracy.mean(axis=0)) * weights, score - score.mean()
    spread = float(centred @ centred)
    slopes = centred @ weighted / spread if spread > 0 else weights.astype(np.float64)
    residuals = weighted - np.outer(centred, slopes)
    return np.vstack([residuals, (residuals**2).sum(axis=0), slopes])


def _objective(rows: Floats, total: Floats, free: Places) -> Floats:
    """The objective, times backbones − 1, of a panel with each of the free units added; infinite if slopes cancel out.

    Args:
        rows: those of `_rows`; `total` is their sum over the panel.
    """
    added = total[:, None] + rows[:, free]
    together, apart, slope = np.einsum("mu,mu->u", added[:-2], added[:-2]), added[-2], added[-1]
    variance = (1 - SHRINKAGE) * together + SHRINKAGE * apart
    return np.asarray(np.divide(variance, slope**2, out=np.full(len(free), np.inf), where=slope > 0))

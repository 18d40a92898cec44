"""The choice of a panel: k concepts of a level, or k test images per class, that stand for all of them.

With A[m, u] the accuracy of backbone m on unit u (a concept or an image) and w[u] the number of test images of the
unit, the score is y[m] = Σᵤ w[u] A[m, u] / Σᵤ w[u], and the mean of a panel P is the same over u in P. The panel is
chosen to minimise  Σₘ (mean of the panel − y[m])²  over the backbones at hand.

The choice fits no weights, so that few backbones suffice and units which happen to suit them get no more say than
others; tinyBenchmarks (Polo et al. 2024) finds the same for anchor points. A line through the means of the panel and
the scores then removes what all backbones have in common: that the panel is harder, or spreads backbones more.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
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

    Units are added one at a time, each time the one that leaves the smallest error, and are then exchanged one at a
    time while that decreases the error. With strata, k units are chosen of each, in turns, so that every class has as
    many images. O(k · units · backbones) for adding, and as much for each sweep of exchanges.

    Args:
        accuracy: (backbones, units), shares in [0, 1].
        weights: (units,) positive: the number of test images of each unit.
        k: number of units of the panel, or of each stratum.
        strata: (units,) the class of each unit; None for a single one.
    """
    units = accuracy.shape[1]
    groups = [np.arange(units)] if strata is None else [np.flatnonzero(strata == each) for each in np.unique(strata)]
    fewest = min(map(len, groups))
    if not 1 <= k <= fewest:
        raise UserError(f"a panel has between 1 and {fewest} of {fewest} units, not {k}")
    score = accuracy @ weights / weights.sum()
    excess = (accuracy - score[:, None]) * weights  # the panel's mean minus the score is their sum over Σ w
    chosen = np.zeros(units, dtype=bool)
    sums, size = np.zeros(len(accuracy)), 0.0
    order = list[tuple[int, Places]]()
    for _ in range(k):
        for group in groups:
            free = group[~chosen[group]]
            best = int(free[np.argmin(_errors(sums, size, excess, weights, free))])
            chosen[best] = True
            sums, size = sums + excess[:, best], size + weights[best]
            order.append((best, group))
    for _ in range(MOST_SWEEPS):
        changed = False
        for turn, (place, group) in enumerate(order):
            sums, size = sums - excess[:, place], size - weights[place]
            chosen[place] = False
            free = group[~chosen[group]]
            errors = _errors(sums, size, excess, weights, free)
            best = int(free[np.argmin(errors)])
            before = errors[np.searchsorted(free, place)]
            if errors.min() >= before * (1 - LEAST_GAIN):
                best = place
            changed |= best != place
            chosen[best] = True
            sums, size = sums + excess[:, best], size + weights[best]
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


def _errors(sums: Floats, size: float, excess: Floats, weights: Floats, free: Places) -> Floats:
    """The sum of squared errors over backbones with each of the free units added."""
    added = sums[:, None] + excess[:, free]
    return np.asarray(np.einsum("mu,mu->u", added, added) / (size + weights[free]) ** 2)

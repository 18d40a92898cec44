"""The lines of OOD accuracy over each ID test set alone, with their intervals, as figures show them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.robustness import Method, bootstrap_fits, interval

Array = NDArray[np.float64]
GRID = 41
"""Points at which the interval of a line is computed."""


@dataclass(frozen=True)
class SingleLine:
    """The interval of a line, on the scale of the fit.

    Attributes:
        grid: (g,) ID accuracies, from the lowest to the highest model.
        low, high: (g,) ends of the interval of the OOD accuracy of the line.
    """

    grid: Array
    low: Array
    high: Array


def single_lines(
    x: Array, y: Array, everyone: Array, *, method: Method, resamples: int, seed: int, level: float
) -> tuple[SingleLine, ...]:
    """The line on each ID test set; the fit to all of them drew the same models just before.

    Args:
        x: (n, k) ID accuracies of the models of the fit.
        y: (n,) their OOD accuracies.
        everyone: (m, k) ID accuracies of all models.
    """
    lines = []
    for place in range(x.shape[1]):
        draws = bootstrap_fits(x[:, place], y, resamples=resamples, seed=seed, method=method)
        known = method.scale.forward(everyone[:, place])
        grid = np.linspace(known.min(), known.max(), GRID)
        low, high = interval(draws[:, :1] * grid + draws[:, 1:], level)
        lines.append(SingleLine(grid, low, high))
    return tuple(lines)

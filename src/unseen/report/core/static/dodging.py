"""Points with error bars beside each other where they would lie on each other: along categories, not numbers."""

from collections.abc import Sequence

import numpy as np

from unseen.report.core.model import Figure, Series
from unseen.report.core.static.style import POINTS

APART = 5.0
"""Points on paper between two error bars: their caps do not touch."""
MOST = 0.76
"""Share of the distance of two places that all error bars of one may take."""
AXES = 0.8
"""Share of the width of a figure that its axes take, about."""


def dodged(figure: Figure, inches: float) -> dict[int, list[float]]:
    """Position of a series with error bars → its x, moved sideways where it shares places with others.

    A series is moved by the same distance everywhere. The name of a place on the x-axis belongs to all points near it.
    Without names the x-axis has numbers, and a point stays at its own.

    Args:
        inches: width of the figure.
    """
    movable = {
        number: series
        for number, series in enumerate(figure.series)
        if series.mode not in ("bars", "box", "lines") and (_has_bars(series) or series.strong)
    }
    of = _places(figure, [*movable.values()])
    if not of or figure.polar or not any(_has_bars(series) for series in movable.values()):
        return {}
    shared = [place for places in of for place in {*places}]
    every = sorted({*shared})
    if len(shared) == len(every):
        return {}
    width = float(np.ptp([x for series in figure.series for x in series.x])) or 1.0
    step = min(APART / (AXES * inches * POINTS) * width, MOST / len(movable))
    middle = (len(movable) - 1) / 2
    moved = dict[int, list[float]]()
    for turn, (number, places) in enumerate(zip(movable, of, strict=True)):
        by = step * (turn - middle)
        moved[number] = [x + by for x in places]
    return moved


def _has_bars(series: Series) -> bool:
    return any(low is not None for low in series.low)


def _places(figure: Figure, movable: Sequence[Series]) -> list[list[float]]:
    """The place of each point of each series; empty without places 0, 1, 2 … that have names."""
    named = [at for at, _ in figure.x_ticks] == [float(place) for place in range(len(figure.x_ticks))]
    every = [[float(x) for x in series.x] for series in movable]
    if not named or figure.log_x or any(abs(x - round(x)) > 0.4 for of in every for x in of):
        return []
    return [[float(round(x)) for x in of] for of in every]

"""Points with error bars beside each other where they would lie on each other."""

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

    A series is moved by the same distance everywhere. Names of places on the x-axis belong to all points near them;
    without names, only points at exactly the same x share a place.

    Args:
        inches: width of the figure.
    """
    movable = {
        number: series
        for number, series in enumerate(figure.series)
        if series.mode not in ("bars", "box", "lines") and (_has_bars(series) or series.strong)
    }
    if figure.polar or not any(_has_bars(series) for series in movable.values()):
        return {}
    of = _places(figure, [*movable.values()])
    shared = [place for places in of for place in {*places}]
    every = sorted({*shared})
    if len(shared) == len(every):
        return {}
    scale = np.log10 if figure.log_x else np.asarray
    gaps = np.diff(scale(np.array(every)))
    width = float(np.ptp(scale(np.array([x for series in figure.series for x in series.x], dtype=float)))) or 1.0
    gap = float(gaps.min()) if len(gaps) else width
    step = min(APART / (AXES * inches * POINTS) * width, MOST * gap / len(movable))
    middle = (len(movable) - 1) / 2
    moved = dict[int, list[float]]()
    for turn, (number, places) in enumerate(zip(movable, of, strict=True)):
        by = step * (turn - middle)
        moved[number] = [float(10 ** (np.log10(x) + by)) if figure.log_x else x + by for x in places]
    return moved


def _has_bars(series: Series) -> bool:
    return any(low is not None for low in series.low)


def _places(figure: Figure, movable: Sequence[Series]) -> list[list[float]]:
    """The x of each series; with places 0, 1, 2 … that have names, those of the nearest place."""
    named = [at for at, _ in figure.x_ticks] == [float(place) for place in range(len(figure.x_ticks))]
    every = [[float(x) for x in series.x] for series in movable]
    if not named or not figure.x_ticks or any(abs(x - round(x)) > 0.4 for of in every for x in of):
        return every
    return [[float(round(x)) for x in of] for of in every]

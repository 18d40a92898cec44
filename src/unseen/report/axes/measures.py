"""The data of the figures across axes."""

from collections.abc import Sequence
from math import ceil, floor
from typing import Any

from unseen.analyses.axes.together import AXES, SEEN, Axes, Measure
from unseen.metrics.accuracy_scales import logit
from unseen.report.axes.words import rank_text, value_text

STEPS = (20, 10, 5, 2, 1, 0.5, 0.2, 0.1)
"""Steps between the ticks of an axis, in percent."""
MARKS = 3
"""Fewest ticks of an axis."""
APART = 0.5
"""Distance between lines that share a rank, in ranks."""


def axis_groups(axes: Axes) -> list[tuple[str, int]]:
    """Titles of the axes that are not missing, with their numbers of measures."""
    count: dict[str, int] = {}
    for measure in axes.measures.values():
        count[measure.axis] = count.get(measure.axis, 0) + 1
    return [(({SEEN: "Seen"} | AXES)[axis], number) for axis, number in count.items()]


def axis_starts(axes: Axes) -> set[int]:
    """The positions of the first measure of each axis, except the first axis."""
    kinds = [measure.axis for measure in axes.measures.values()]
    return {place for place in range(1, len(kinds)) if kinds[place] != kinds[place - 1]}


def drawn_measures(axes: Axes) -> list[dict[str, Any]]:
    """The data of the plots: for each measure one value per backbone, None if it is missing."""
    found = []
    for measure in axes.measures.values():
        standings = [axes.standings[measure.name].get(name) for name in axes.backbones]
        ranks = [standing.rank if standing else None for standing in standings]
        known = {name: measure.interval(name) for name in axes.backbones}
        found.append(
            {
                "title": measure.title,
                "label": axis_label(measure),
                "lowBetter": not measure.higher_is_better,
                "ticks": measure_ticks(measure, axes.backbones),
                "values": [
                    axis_place(measure, measure.percent(measure.values[name])) if name in measure.values else None
                    for name in axes.backbones
                ],
                "ends": [
                    [axis_place(measure, end.low), axis_place(measure, end.high)] if (end := known[name]) else None
                    for name in axes.backbones
                ],
                "texts": [value_text(measure, name) if name in measure.values else "" for name in axes.backbones],
                "ranks": ranks,
                "spots": rank_spots(ranks),
                "rankTexts": [rank_text(standing) if standing else "" for standing in standings],
            }
        )  # fmt: skip
    return found


def axis_place(measure: Measure, percent: float) -> float:
    """The position of a percentage on the axis of a plot; points are not transformed."""
    return float(logit(percent / 100)) if measure.bounded else percent


def rank_spots(ranks: Sequence[int | None]) -> list[float | None]:
    """The position of each rank; equal ranks are close together, in the middle of the ranks that they take up."""
    spots: list[float | None] = []
    for number, rank in enumerate(ranks):
        shared = [place for place, other in enumerate(ranks) if other == rank]
        middle = (len(shared) - 1) / 2
        spots.append(None if rank is None else rank + middle + APART * (shared.index(number) - middle))
    return spots


def measure_ticks(measure: Measure, names: Sequence[str]) -> list[tuple[float, str]]:
    """Round percentages within the range of the values, at their logits; none for points, which have a plain axis."""
    if not measure.bounded:
        return []
    shares = [measure.percent(measure.values[name]) for name in names if name in measure.values]
    for step in STEPS:
        first, last = ceil(min(shares) / step), floor(max(shares) / step)
        percents = [step * number for number in range(first, last + 1) if 0 < step * number < 100]
        if len(percents) >= MARKS:
            return [(float(logit(percent / 100)), f"{percent:g}") for percent in percents]
    return [(float(logit(percent / 100)), f"{percent:.2f}") for percent in sorted({min(shares), max(shares)})]


def axis_label(measure: Measure) -> str:
    """The axis label of a measure."""
    low = "" if measure.higher_is_better else ", lower is better"
    return f"{measure.title} ({'%' if measure.bounded else 'points'}){low}"

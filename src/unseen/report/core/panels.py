"""Figures that a reader compares: panels of one section with the same y-axis share its range."""

from collections.abc import Sequence
from dataclasses import replace

from unseen.report.core.model import Figure, Section

ROOM = 0.05
"""Share of the range that is added at both ends."""


def with_shared_ranges(section: Section) -> Section:
    """The section with one y-range for all of its figures that have the same y-label."""
    groups: dict[str, list[Figure]] = {}
    for figure in section.figures:
        if not _has_own_range(figure):
            groups.setdefault(figure.y_label, []).append(figure)
    ranges = {label: y_range(figures) for label, figures in groups.items() if len(figures) > 1}
    figures = [
        figure if _has_own_range(figure) else replace(figure, y_range=ranges.get(figure.y_label))
        for figure in section.figures
    ]
    return replace(section, figures=figures)


def y_range(figures: Sequence[Figure]) -> tuple[float, float] | None:
    """The range of all values and error bars of some figures, with room at both ends; None without values."""
    series = [each for figure in figures for each in figure.series]
    values = [value for each in series for value in (*each.y, *each.low, *each.high) if value is not None]
    values += [0.0] if any(each.mode == "bars" for each in series) or any(figure.zero for figure in figures) else []
    if not values:
        return None
    low, high = min(values), max(values)
    room = ROOM * (high - low) or 1.0
    return low - room, high + room


def _has_own_range(figure: Figure) -> bool:
    deep = any(series.z for series in figure.series)
    return bool(figure.y_range or figure.polar or figure.drawing or figure.top_is_low or deep)

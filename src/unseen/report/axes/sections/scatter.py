"""Any two measures against each other."""

from collections.abc import Iterator
from itertools import combinations

from unseen.analyses.axes.together import Axes, Measure
from unseen.report.axes.measures import axis_label, axis_place, measure_ticks
from unseen.report.axes.page_data import AxesPage
from unseen.report.axes.words import value_text
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Choice, Figure, Section, Series


def build(page: AxesPage) -> Section:
    """A scatter plot of two measures that the reader chooses; exports have all pairs across axes."""
    measures = list(page.axes.measures.values())
    across, up = _first_pair(page.axes)
    options = [(str(place), measure.title) for place, measure in enumerate(measures)]
    note = (
        "Bounded measures have logit axes; bars are 95% intervals, if known. Better values are always to the right and "
        "at the top."
    )
    return Section(
        "scatter", "Any two measures", menu="Two measures", note=note,
        choices=[Choice("x-axis", "across", options, str(across)), Choice("y-axis", "up", options, str(up))],
        figures=[Figure("", "", "", drawing="pair")], exported=list(_figures(page.axes)),
    )  # fmt: skip


def _figures(axes: Axes) -> Iterator[Figure]:
    for first, second in combinations(axes.measures.values(), 2):
        if first.axis == second.axis:
            continue
        series = [
            _series(first, second, name) for name in axes.backbones if name in first.values and name in second.values
        ]
        if series:
            x_ticks, y_ticks = (tuple(measure_ticks(each, axes.backbones)) for each in (first, second))
            yield Figure(
                f"{second.title} against {first.title}", axis_label(first), axis_label(second), series, x_ticks,
                y_ticks,
                top_is_low=not second.higher_is_better,
            )  # fmt: skip


def _series(first: Measure, second: Measure, name: str) -> Series:
    x, y = (axis_place(each, each.percent(each.values[name])) for each in (first, second))
    ends = second.interval(name)
    return Series(
        name, [x], [y], strong=True, mode="markers", backbone=name,
        low=[axis_place(second, ends.low)] if ends else (), high=[axis_place(second, ends.high)] if ends else (),
        hover=[f"{first.title}: {value_text(first, name)}, {second.title}: {value_text(second, name)}"],
    )  # fmt: skip


def _first_pair(axes: Axes) -> tuple[int, int]:
    """The measures that are shown first: the pair across axes with the strongest correlation, else the first two."""
    names = list(axes.measures)
    across = [pair for pair in axes.pairs if pair.across and pair.correlation]
    if across:
        best = max(across, key=lambda pair: abs(pair.correlation.pearson.value) if pair.correlation else 0.0)
        return names.index(best.first), names.index(best.second)
    return 0, min(1, len(names) - 1)


SECTION = PageSection("axes", 40, build)

"""The page across axes: one HTML file that needs nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from pathlib import Path
from typing import Any

from unseen.files import atomic_write
from unseen.metrics.accuracy_scales import logit
from unseen.metrics.resampling import Interval
from unseen.report.axes.words import findings, from_seen, rank_text, short_value, strong_and_weak, value_text
from unseen.report.concepts.section_parts import COLOURS
from unseen.report.core.render import render
from unseen.studies.axes.page_data import AxesPage
from unseen.studies.axes.together import AXES, SEEN, Axes, AxisPair, Measure
from unseen.words import signed

SHEETS = ("page.css", "axes.css")
SCRIPTS = ("plots.js", "table.js", "look.js", "axes.js")
TITLE = "Across axes: concepts, tasks and shifts"
STEPS = (20, 10, 5, 2, 1, 0.5, 0.2, 0.1)
"""Percents between the marks of an axis."""
MARKS = 3
"""The least that an axis needs."""
SYMBOLS = ("circle", "square", "diamond", "triangle-up")
APART = 0.5
"""How far apart lines that share a rank are drawn, in ranks."""


@dataclass(frozen=True)
class Cell:
    """A number in a table: `shade` is from −1, the worst or r = −1, to 1; None where there is nothing to shade by.

    `beside` stands below the number: what it is to be read with.
    """

    text: str
    value: float | None = None
    small: str = ""
    about: str = ""
    shade: float | None = None
    strong: bool = False
    faint: bool = False
    beside: str = ""


def write_axes_page(page: AxesPage, path: Path) -> None:
    """Write the page; the same data give the same bytes. Names from the data are only ever text in it."""
    axes = page.axes
    content = render(
        "axes.html.j2",
        sheets=SHEETS,
        scripts=SCRIPTS,
        filters={"share": lambda value: f"{100 * abs(value):.0f}"},
        values={
            "title": TITLE,
            "page": page,
            "axes": axes,
            "measures": list(axes.measures.values()),
            "groups": _groups(axes),
            "missing": [AXES[axis] for axis in axes.missing()],
            "starts": _starts(axes),
            "findings": findings(axes),
            "table": {name: _row(axes, name) for name in axes.backbones},
            "matrix": correlation_matrix(axes),
            "profiles": {name: strong_and_weak(axes, name) for name in axes.backbones},
            "colours": {name: number % COLOURS for number, name in enumerate(axes.backbones)},
            "published": {model.name for model in page.models},
            "start": _first_pair(axes),
            # The scripts of the report look for rows of scores; the tables here are plain.
            "payload": {"rows": [], "backbones": _backbones(axes), "measures": _measures(axes), "axes": _groups(axes)},
        },
    )
    with atomic_write(path) as file:
        file.write(content.encode(errors="replace"))


def correlation_matrix(axes: Axes) -> list[list[Cell]]:
    """A cell for every two measures: Pearson's below the diagonal, Spearman's above."""
    pairs = {(pair.first, pair.second): pair for pair in axes.pairs}
    names = list(axes.measures)
    return [
        [
            Cell("")
            if row == column
            else _coefficient(pairs[column, row], "pearson")
            if number > place
            else _coefficient(pairs[row, column], "spearman")
            for place, column in enumerate(names)
        ]
        for number, row in enumerate(names)
    ]


def _coefficient(pair: AxisPair, kind: str) -> Cell:
    if pair.correlation is None:
        return Cell("–", about=f"{pair.n} backbones: too few, or all alike")
    found: Interval = getattr(pair.correlation, kind)
    drawn = pair.correlation.resampled
    about = f"{kind.capitalize()}’s over {pair.n} backbones"
    if kind == "pearson":
        about += f"; over draws of backbones {signed(drawn.low, 2)} to {signed(drawn.high, 2)}" if drawn else ""
        if pair.without_one:
            about += f"; without any one {signed(pair.without_one[0], 2)} to {signed(pair.without_one[1], 2)}"
    if pair.corrected is not None:
        about += f"; p {pair.p_value:.3f}, corrected {pair.corrected:.2f}"
    text, ends = signed(found.value, 2), f"{signed(found.low, 2)} to {signed(found.high, 2)}"
    strong = found.low > 0 or found.high < 0
    return Cell(text, found.value, ends, about, found.value, strong, faint=not pair.across)


def _groups(axes: Axes) -> list[tuple[str, int]]:
    """Titles of the axes with how many measures they have; missing ones have none, and are not here."""
    count: dict[str, int] = {}
    for measure in axes.measures.values():
        count[measure.axis] = count.get(measure.axis, 0) + 1
    return [(({SEEN: "Seen"} | AXES)[axis], number) for axis, number in count.items()]


def _starts(axes: Axes) -> set[int]:
    """The places of measures that an axis begins with."""
    kinds = [measure.axis for measure in axes.measures.values()]
    return {place for place in range(1, len(kinds)) if kinds[place] != kinds[place - 1]}


def _row(axes: Axes, name: str) -> list[Cell]:
    cells = []
    for measure in axes.measures.values():
        standing = axes.standings[measure.name].get(name)
        if standing is None:
            cells.append(Cell("–", about=f"{measure.title}: not measured"))
            continue
        shade = 2 * standing.ahead - 1 if standing.of > 1 else None
        about = f"{measure.title}: {value_text(measure, name)}, {rank_text(standing)}"
        cells.append(
            Cell(
                short_value(measure, name), measure.values[name], str(standing.rank), about, shade, standing.rank == 1,
                beside=from_seen(measure, name),
            )
        )  # fmt: skip
    return cells


def _backbones(axes: Axes) -> list[dict[str, Any]]:
    return [
        {"name": name, "colour": number % COLOURS, "symbol": SYMBOLS[number // COLOURS % len(SYMBOLS)]}
        for number, name in enumerate(axes.backbones)
    ]


def _measures(axes: Axes) -> list[dict[str, Any]]:
    """What the plots are drawn from: for each measure a value for each backbone, null where it has none."""
    found = []
    for measure in axes.measures.values():
        standings = [axes.standings[measure.name].get(name) for name in axes.backbones]
        ranks = [standing.rank if standing else None for standing in standings]
        known = {name: measure.interval(name) for name in axes.backbones}
        found.append(
            {
                "title": measure.title,
                "label": f"{measure.title} ({'%' if measure.bounded else 'points'})",
                "lowBetter": not measure.higher_is_better,
                "ticks": _ticks(measure, axes.backbones),
                "values": [_place(measure, measure.percent(measure.values[name])) if name in measure.values else None
                           for name in axes.backbones],
                "ends": [[_place(measure, end.low), _place(measure, end.high)] if (end := known[name]) else None
                         for name in axes.backbones],
                "texts": [value_text(measure, name) if name in measure.values else "" for name in axes.backbones],
                "ranks": ranks,
                "spots": _spots(ranks),
                "rankTexts": [rank_text(standing) if standing else "" for standing in standings],
            }
        )  # fmt: skip
    return found


def _place(measure: Measure, percent: float) -> float:
    """Where a percentage is on the axis of a plot; points are as they are."""
    return float(logit(percent / 100)) if measure.bounded else percent


def _spots(ranks: Sequence[int | None]) -> list[float | None]:
    """Where each rank is drawn: those that share one stand close together, in the middle of the ranks they take up."""
    spots: list[float | None] = []
    for number, rank in enumerate(ranks):
        shared = [place for place, other in enumerate(ranks) if other == rank]
        middle = (len(shared) - 1) / 2
        spots.append(None if rank is None else rank + middle + APART * (shared.index(number) - middle))
    return spots


def _ticks(measure: Measure, names: Sequence[str]) -> list[tuple[float, str]]:
    """Round percents among the values, at their logits; none for points, whose axis is plain."""
    if not measure.bounded:
        return []
    shares = [measure.percent(measure.values[name]) for name in names if name in measure.values]
    for step in STEPS:
        first, last = ceil(min(shares) / step), floor(max(shares) / step)
        percents = [step * number for number in range(first, last + 1) if 0 < step * number < 100]
        if len(percents) >= MARKS:
            return [(float(logit(percent / 100)), f"{percent:g}") for percent in percents]
    return [(float(logit(percent / 100)), f"{percent:.2f}") for percent in sorted({min(shares), max(shares)})]


def _first_pair(axes: Axes) -> tuple[int, int]:
    """Which two measures the scatter begins with: the closest pair across axes, otherwise the first two."""
    names = list(axes.measures)
    across = [pair for pair in axes.pairs if pair.across and pair.correlation]
    if across:
        best = max(across, key=lambda pair: abs(pair.correlation.pearson.value) if pair.correlation else 0.0)
        return names.index(best.first), names.index(best.second)
    return 0, min(1, len(names) - 1)

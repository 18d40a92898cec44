"""The series and cells of a figure, drawn into its axes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np

from unseen.report.core.looks import COLOURS, Look, look
from unseen.report.core.model import Figure, Series
from unseen.report.core.static.style import DASHES, INK, MARKERS, SMALL, colour_of

BARS = 0.8
"""Total width of all bars at one x."""
STRONG, THIN, BAR = 1.3, 0.8, 0.8
"""Points of lines: of the subject of a page, of others, and of error bars."""
CAP = 1.6
"""Points of half the cap of an error bar."""
SIZES = {"strong": 4.8, "other": 3.2, "many": 2.2}
MANY = 60
LARGER = {"triangle-up": 1.25, "triangle-down": 1.25, "star": 1.6, "cross": 1.15, "x": 1.15, "diamond": 0.92}
"""Marks that look smaller, or larger, than a circle of their size."""
FAINT = 0.65
LETTERS_OF_VALUE = 4.4
"""Letters that a cell of a matrix needs for its value."""


def told_apart(figure: Figure) -> Figure:
    """The figure with colours and marks for subjects that the page gives none, where there are several."""
    without = [each.name for each in figure.series if each.strong and each.name and each.colour is None]
    names = [*dict.fromkeys(without)]
    if len(names) < 2:
        return figure
    looks = {name: look(number) for number, name in enumerate(names)}
    return replace(figure, series=[_with(each, looks.get(each.name)) for each in figure.series])


def _with(series: Series, own: Look | None) -> Series:
    if own is None or series.colour is not None or not series.strong:
        return series
    return replace(series, colour=own.colour, symbol=own.symbol)


def draw_series(axes: Any, figure: Figure, moved: Mapping[int, Sequence[float]]) -> None:
    """All series, the strong ones in front.

    Args:
        moved: position of a series → its x, where that is not its own.
    """
    deep = any(series.z for series in figure.series)
    only_lines = [series.name for series in figure.series if _is_named_line(series)]
    for number, series in sorted(enumerate(figure.series), key=lambda each: each[1].strong):
        x = np.array(moved.get(number, series.x), dtype=float)
        if deep:
            _draw_deep(axes, series)
        elif figure.polar:
            _draw_polar(axes, series)
        elif series.mode == "bars":
            _draw_bars(axes, series, figure)
        elif series.mode == "box":
            _draw_box(axes, series)
        else:
            # Lines without marks differ in dashes, so that they can be told apart without colours.
            turn = only_lines.index(series.name) if _is_named_line(series) and series.dash == "solid" else 0
            _draw_points(axes, series, x, [*DASHES][turn % len(DASHES)] if turn else series.dash)


def _is_named_line(series: Series) -> bool:
    return series.mode == "lines" and series.strong and bool(series.name) and not series.solid


def named(series: Series) -> str | None:
    """What the legend calls a series; None for those of a group, which has a name of its own."""
    return series.name if series.strong or not series.group else None


def _draw_deep(axes: Any, series: Series) -> None:
    y = np.array(series.y, dtype=float)
    if series.mode == "lines":
        axes.plot_trisurf(series.x, y, series.z, color=colour_of(series), alpha=0.3)
    else:
        axes.scatter(
            series.x, y, series.z, color=colour_of(series), marker=MARKERS[series.symbol], s=9, label=named(series)
        )


def _draw_polar(axes: Any, series: Series) -> None:
    x, y = np.array(series.x, dtype=float), np.array(series.y, dtype=float)
    x, y = np.append(x, x[:1]) * 2 * np.pi / len(x), np.append(y, y[:1])
    axes.fill(x, y, color=colour_of(series), alpha=0.2)
    axes.plot(x, y, color=colour_of(series), lw=STRONG, marker=MARKERS[series.symbol], ms=SIZES["other"])


def _draw_bars(axes: Any, series: Series, figure: Figure) -> None:
    """Bars beside those of the other series, with error bars in their middle."""
    beside = [each for each in figure.series if each.mode == "bars"]
    every = [x for each in beside for x, y in zip(each.x, each.y, strict=True) if y is not None]
    if len({*every}) == len(every):  # no place has two bars
        beside = [series]
    width, place = BARS / max(len(beside), 1.3), next(n for n, each in enumerate(beside) if each is series)
    x, y = np.array(series.x, dtype=float), np.array(series.y, dtype=float)
    if len(x) > 1 and not figure.x_ticks:
        width *= float(np.diff(np.sort(np.unique(x))).min())
    x = x + (place - (len(beside) - 1) / 2) * width
    axes.bar(x, y, width, color=colour_of(series), label=named(series), edgecolor="white", linewidth=0.4)
    if series.low:
        axes.errorbar(x, y, _ends(series), fmt="none", ecolor=INK, elinewidth=BAR, capsize=CAP, capthick=BAR)


def _draw_box(axes: Any, series: Series) -> None:
    y = np.array(series.y, dtype=float)
    known, lines = y[np.isfinite(y)], {"color": colour_of(series), "linewidth": STRONG}
    axes.boxplot(
        known, positions=list(series.x[:1]), widths=0.5, manage_ticks=False, showfliers=False, boxprops=lines,
        whiskerprops=lines, capprops=lines, medianprops=lines,
    )  # fmt: skip
    spread = np.linspace(-0.12, 0.12, len(known)) if len(known) > 1 else 0
    points = np.array(series.x, dtype=float)[: len(known)] + spread
    axes.plot(points, known, "o", color=colour_of(series), ms=SIZES["many"], alpha=0.7)  # the tick has the name


def _draw_points(axes: Any, series: Series, x: Any, dash: str) -> None:
    colour, y = colour_of(series), np.array(series.y, dtype=float)
    front = 3 if series.strong else 2
    if series.low:
        axes.errorbar(
            x, y, _ends(series), fmt="none", ecolor=colour, elinewidth=BAR, capsize=CAP, capthick=BAR, zorder=front,
            alpha=1 if series.strong else FAINT,
        )  # fmt: skip
    symbol, line = series.symbol.removesuffix("-open"), "lines" in series.mode
    is_open = symbol != series.symbol
    axes.plot(
        x, y, color=colour, label=named(series), lw=STRONG if series.strong else THIN,
        alpha=1 if series.strong else FAINT, ls=DASHES[dash] if line else "none", zorder=front,
        marker=MARKERS[symbol] if "markers" in series.mode else "",
        mfc="white" if is_open else colour, mec=colour if is_open else "white", mew=0.8 if is_open else 0.3,
        ms=SIZES["many" if len(x) > MANY else "strong" if series.strong else "other"] * LARGER.get(symbol, 1),
    )  # fmt: skip


def _ends(series: Series) -> Any:
    """(2, points) distances of the ends of error bars from their points; 0 where there are none."""
    y, low, high = (np.array(values, dtype=float) for values in (series.y, series.low, series.high))
    return np.nan_to_num(np.stack([np.abs(y - low), np.abs(high - y)]))


def draw_cells(axes: Any, figure: Figure, points: float) -> None:
    """A matrix as a picture, with its values if there is room.

    Args:
        points: width of the axes.
    """
    cells = np.array(figure.cells)
    colours = mpl.colors.LinearSegmentedColormap.from_list("cells", ["#ffffff", COLOURS[0]])
    # Every cell is a rectangle of the file: an image of few pixels is blurred by some viewers.
    axes.pcolormesh(cells, cmap=colours, vmin=0, vmax=1, edgecolors="white", linewidth=0.4, snap=True)
    axes.set_ylim(len(cells), 0)
    has_room = points / cells.shape[1] >= LETTERS_OF_VALUE * 0.62 * SMALL
    for (row, column), value in np.ndenumerate(cells) if has_room else ():
        ink = "white" if value > 0.6 else INK
        axes.text(column + 0.5, row + 0.5, f"{value:.2f}", ha="center", va="center", fontsize=SMALL, color=ink)

"""The texts of a static figure: ticks, labels beside points, and the legend, none of which lie on each other."""

import re
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import matplotlib.text
import numpy as np

from unseen.report.core.looks import GREY
from unseen.report.core.model import Figure, Ticks
from unseen.report.core.static.style import LETTER, POINTS, SMALL, colour_of, letters

NAMES = 0.38
"""Most of the width of a figure that names on the y-axis take."""
HANDLE = 4.0
"""Width of the mark of a name in the legend with the space around it, in its letters' size."""
ROW = 0.105
"""Inches of a line of a name."""
MARGIN = 0.04
"""Share of the width of the axes beside the first and the last tick."""
TURNED = 30
"""Letters of a line of a turned text below the x-axis."""
AROUND = [
    (radius * np.cos(angle), radius * np.sin(angle))
    for radius in (6, 10, 15, 22, 32, 45, 60) for angle in np.radians([40, 140, -40, -140, 90, -90, 0, 180])
]  # fmt: skip
"""Where a label may be, in points from its point: the nearest places first."""


NUMBER = re.compile(r"[−+-]*[\d.,]*\d[\d.,]*(e[+-]\d+)?[−+%-]*")
FAR = 18
"""Points from which on a line leads from a label to its point."""


def set_ticks(axes: Any, figure: Figure, inches: float) -> None:
    """The named places of both axes; long names are wrapped, and turned where they would touch."""
    across, along = thinned(figure, inches)
    if along:
        lines = letters(NAMES * inches * POINTS)
        at, texts = _wrapped(along, lines)
        axes.yaxis.set_ticks([place + 0.5 if figure.cells else place for place in at], texts)
        if figure.cells or (figure.top_is_low and not all(is_number(text) for _, text in along)):
            axes.tick_params(axis="y", length=0)
    if not across:
        return
    if figure.polar:
        at, texts = _wrapped(across, 16)
        axes.xaxis.set_ticks([place * 2 * np.pi / len(at) for place in at], texts)
        return
    room = letters(0.8 * inches * POINTS / len(across)) if len(across) > 1 else 40
    crowded = bool(figure.cells) or (_is_by_place(figure) and any(_longest(text) > room for _, text in across))
    at, texts = _wrapped(across, TURNED if crowded else room)
    limits = axes.get_xlim()
    axes.xaxis.set_ticks([place + 0.5 if figure.cells else place for place in at], texts)
    if not figure.cells and not figure.x_range and any(series.mode != "bars" for series in figure.series):
        axes.set_xlim(*_with_margins(limits, at, log=figure.log_x))
    if crowded:
        steep = bool(figure.cells) or len(at) > inches * 7
        axes.tick_params(axis="x", rotation=90 if steep else 35, **({"length": 0} if figure.cells else {}))
        for label in axes.get_xticklabels():
            label.set(ha="center" if steep else "right", va="top", rotation_mode="default" if steep else "anchor")


def thinned(figure: Figure, inches: float) -> tuple[Ticks, Ticks]:
    """The ticks of both axes without those that would touch their neighbours: numbers, and names of a large matrix."""
    across, along = figure.x_ticks, figure.y_ticks
    if figure.cells:
        step = 1 + int(len(across) * ROW / ((1 - NAMES) * inches))
        return across[::step], along[::step]
    if across and not figure.polar and not _is_by_place(figure):
        needed = sum(LETTER * SMALL * (len(text) + 1.5) for _, text in across)
        across = across[:: 1 + int(needed / (0.8 * inches * POINTS))]
    return across, along


def _with_margins(limits: tuple[float, float], at: list[float], *, log: bool) -> tuple[float, float]:
    """Limits with room beside the first and the last tick, where marks would touch the axis."""
    scale = np.log10 if log else np.asarray
    ends = [float(scale(min(limits[0], *at))), float(scale(max(limits[1], *at)))]
    ticks = [float(scale(min(at))), float(scale(max(at)))]
    room = MARGIN * ((ends[1] - ends[0]) or 1)
    low, high = min(ends[0], ticks[0] - room), max(ends[1], ticks[1] + room)
    return (10**low, 10**high) if log else (low, high)


def _is_by_place(figure: Figure) -> bool:
    return any(not is_number(text) for _, text in figure.x_ticks)


def is_number(text: str) -> bool:
    """Whether a tick is a number, maybe with a sign or in percent."""
    return NUMBER.fullmatch(text) is not None


def _longest(text: str) -> int:
    """Letters of the longest word, which cannot be wrapped, or of the half of the text."""
    return max([*map(len, text.split()), (len(text) + 1) // 2])


def _wrapped(ticks: Ticks, width: int) -> tuple[list[float], list[str]]:
    return [at for at, _ in ticks], [fitted(text, width) for _, text in ticks]


def fitted(text: str, width: int) -> str:
    """A text in lines of at most this many letters, also where it has no spaces."""
    return "\n".join(wrap(text, width)) if len(text) > width else text


def set_legend(canvas: Any, axes: Any, figure: Figure, inches: float) -> Any:
    """The legend below the axes, in as many columns as fit; None if the axes or the title name everything."""
    groups = {series.group: colour_of(series) for series in figure.series if series.group}
    handles, names = axes.get_legend_handles_labels()
    handles += [mpl.lines.Line2D([], [], color=colour, lw=0.8, marker="o", ms=3) for colour in groups.values()]
    shown = dict(zip([*names, *groups], handles, strict=True))
    shown.pop("", None)
    if figure.polar or shown.keys() <= {text for _, text in figure.y_ticks}:
        return None
    texts = [fitted(name, letters(inches * POINTS) - 8) for name in shown]
    legend = _legend(canvas, [*shown.values()], texts, 1)
    room, em = inches * canvas.dpi, SMALL * canvas.dpi / POINTS
    widths = [text.get_window_extent().width + HANDLE * em for text in legend.get_texts()]
    for rows in range(1, len(texts) + 1):
        columns = [widths[start : start + rows] for start in range(0, len(widths), rows)]
        if sum(map(max, columns)) <= room:
            legend.remove()
            return _legend(canvas, [*shown.values()], texts, len(columns))
    return legend


def _legend(canvas: Any, handles: list[Any], texts: list[str], columns: int) -> Any:
    return canvas.legend(
        handles, texts, loc="outside lower center", ncols=columns, frameon=False, fontsize=SMALL,
        borderaxespad=0.2, borderpad=0.2, handlelength=1.9, handletextpad=0.5, columnspacing=1.2, labelspacing=0.3,
    )  # fmt: skip


def place_labels(canvas: Any, axes: Any, figure: Figure) -> None:
    """Labels beside their points, each at the nearest place that is free; of series in the background, only free ones.

    The size of the figure must be final.
    """
    if not any(text for series in figure.series for text in series.labels):
        return
    points = [
        (x, y, text, series.strong) for series in sorted(figure.series, key=lambda series: not series.strong)
        if series.mode != "lines" and not series.z for x, y, text in _with_labels(series)
    ]  # fmt: skip
    scale = canvas.dpi / POINTS
    inside = axes.get_window_extent()
    at = [axes.transData.transform((x, y)) for x, y, *_ in points]
    taken = [_box(across, up, 4 * scale, 4 * scale) for across, up in at]
    for x, y, text, strong in points:
        if not text:
            continue
        label = axes.annotate(
            text,
            (x, y),
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=SMALL,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "lw": 0.4, "color": GREY, "shrinkA": 0, "shrinkB": 2},
        )
        label.set_in_layout(False)
        size = mpl.text.Text.get_window_extent(label)  # without the line to the point
        across, up = axes.transData.transform((x, y))
        best: tuple[float, Any, tuple[float, float]] | None = None
        for right, high in AROUND:
            # A label beside its point begins, or ends, there.
            shift = (right * scale + np.sign(round(right)) * size.width / 2, high * scale)
            here = _box(across + shift[0], up + shift[1], size.width, size.height)
            cost = sum(_overlap(here, other) for other in taken) + _outside(here, inside)
            if best is None or cost < best[0]:
                best = (cost, here, shift)
            if cost == 0:
                break
        assert best is not None
        if best[0] > 0 and not strong:
            label.remove()
            continue
        taken.append(best[1])
        label.arrow_patch.set_visible(np.hypot(*best[2]) > FAR * scale + size.width / 2)
        label.set(ha="center", va="center", position=(best[2][0] / scale, best[2][1] / scale))


def _with_labels(series: Any) -> Iterator[tuple[float, float, str]]:
    labels = [*series.labels, *[""] * (len(series.x) - len(series.labels))]
    for x, y, text in zip(series.x, series.y, labels, strict=True):
        if y is not None:
            yield float(x), float(y), text


def _box(x: float, y: float, width: float, height: float) -> tuple[float, float, float, float]:
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> float:
    across, up = min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(one[1], other[1])
    return float(across * up) if across > 0 and up > 0 else 0.0


def _outside(box: tuple[float, float, float, float], axes: Any) -> float:
    """The area of a box that is not over the axes."""
    within = _overlap(box, (axes.x0, axes.y0, axes.x1, axes.y1))
    return (box[2] - box[0]) * (box[3] - box[1]) - within

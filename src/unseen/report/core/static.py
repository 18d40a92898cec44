"""Figures as PNG, SVG or PDF, with Matplotlib."""

import warnings
from collections.abc import Mapping
from io import BytesIO
from itertools import zip_longest
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure as Canvas

from unseen.report.core.label_places import label_places
from unseen.report.core.looks import COLOURS, GREY
from unseen.report.core.model import Figure, Series

INK = "#1f2430"
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "unseen",  # the same figure gives the same file
    "svg.fonttype": "none",
    "text.parse_math": False,
}
MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v", "cross": "P", "x": "X",
    "star": "*",
}  # fmt: skip
DASHES: Mapping[str, Any] = {
    "solid": "-", "dash": (0, (6, 3)), "dot": (0, (2, 2)), "dashdot": (0, (6, 2, 2, 2)), "longdash": (0, (10, 3)),
    "longdashdot": (0, (10, 2, 2, 2)),
}  # fmt: skip
DATES = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
CELL, NUMBERED = 0.26, 16
"""Inches of a cell of a matrix, and rows with which its cells have room for their values."""
DEEP_ZOOM = 0.85
BARS = 0.8
"""Total width of all bars at one x."""
LEADS = 20
"""Points between a point and its label from which a thin line leads to it."""
MOST_NAMED = 12
"""Series that fit into a legend inside the axes; with more, it is beside them."""
WIDTH, HEIGHT, LETTER, LINE = 8.0, 4.5, 0.085, 0.24
"""Inches of a usual figure, of a letter of a name, and between names on the y-axis."""
USUAL_NAME, MOST_LETTERS, CAPTION = 16, 70, 105
"""Letters of a name that a usual figure has room for, of all texts below the x-axis, and of a line of the caption."""


def static_bytes(figure: Figure, kind: str) -> bytes:
    """A figure as `png`, `svg` or `pdf`; the same figure gives the same bytes."""
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # A character that the font lacks is a box in PNG and PDF; SVG has the text itself.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        canvas = Canvas(figsize=_size(figure), dpi=160, layout="constrained")
        deep = any(series.z for series in figure.series)
        axes = canvas.subplots(subplot_kw={"projection": "polar" if figure.polar else "3d" if deep else None})
        for band in figure.bands:
            axes.axvspan(band.start, band.end, color=band.colour, alpha=0.12, lw=0)
            axes.annotate(
                band.label, ((band.start + band.end) / 2, 1), xycoords=("data", "axes fraction"), xytext=(0, -4),
                textcoords="offset points", ha="center", va="top", color=band.colour, fontweight="bold",
            )  # fmt: skip
        for series in sorted(figure.series, key=lambda series: series.strong):
            _draw(axes, series, figure, deep)
        if figure.cells:
            _draw_cells(axes, figure)
        _shape(axes, figure, deep)
        _name(axes, figure)
        if not deep:
            _label(canvas, axes, figure)
        content = BytesIO()
        canvas.savefig(content, format=kind, metadata=DATES[kind])
        return content.getvalue()


def _size(figure: Figure) -> tuple[float, float]:
    """Width and height in inches, with room for long names below and beside the axes, which would shrink to nothing."""
    below = max(len(text) for _, text in figure.x_ticks) if _is_crowded(figure) else 0
    if figure.cells:
        side, room = CELL * len(figure.cells), LETTER * max(len(text) for _, text in figure.y_ticks)
        return max(WIDTH, side) + room, max(HEIGHT, side) + room
    names = [series.name for series in figure.series if series.strong or not series.group]
    beside = max(map(len, names), default=0) if _has_legend_beside(figure, len(names)) else 0
    lines = LINE * len(figure.y_ticks) if figure.top_is_low else 0
    beside += max(0, max((len(text) for _, text in figure.y_ticks), default=0) - USUAL_NAME)
    return WIDTH + LETTER * beside, max(HEIGHT, lines) + LETTER * max(0, below - USUAL_NAME)


def _is_crowded(figure: Figure) -> bool:
    """Whether the texts below the x-axis are too long to stand side by side."""
    return len("".join(text for _, text in figure.x_ticks)) > MOST_LETTERS and not figure.polar


def _has_legend_beside(figure: Figure, names: int) -> bool:
    """Whether the legend is beside the axes: with many names, and if lines of ranks are everywhere."""
    if figure.polar or {series.name for series in figure.series} <= {text for _, text in figure.y_ticks}:
        return False  # spokes and the y-axis have names of their own
    return names > MOST_NAMED or figure.drawing == "bump"


def _colour(series: Series) -> str:
    return (
        GREY if series.colour is None else series.colour if isinstance(series.colour, str) else COLOURS[series.colour]
    )


def _draw(axes: Any, series: Series, figure: Figure, deep: bool) -> None:
    colour, y = _colour(series), np.array(series.y, dtype=float)
    named = series.name if series.strong or not series.group else None
    if deep:
        if series.mode == "lines":
            axes.plot_trisurf(series.x, y, series.z, color=colour, alpha=0.3)
        else:
            axes.scatter(series.x, y, series.z, color=colour, marker=MARKERS[series.symbol], s=14, label=named)
        return
    x = np.array(series.x, dtype=float)
    if figure.polar:
        x, y = np.append(x, x[:1]) * 2 * np.pi / len(x), np.append(y, y[:1])
        axes.fill(x, y, color=colour, alpha=0.2)
    if series.low and not figure.polar:
        low, high = (np.array(ends, dtype=float) for ends in (series.low, series.high))
        ends = np.nan_to_num(np.stack([np.abs(y - low), np.abs(high - y)]))
        axes.errorbar(x, y, ends, fmt="none", ecolor=colour, elinewidth=1, capsize=2, alpha=1 if series.strong else 0.6)
    if series.mode == "bars":
        beside = [each for each in figure.series if each.mode == "bars"]
        width, place = BARS / len(beside), next(n for n, each in enumerate(beside) if each is series)
        axes.bar(x + (place - (len(beside) - 1) / 2) * width, y, width, color=colour, label=named)
        return
    if series.mode == "box":
        known = y[np.isfinite(y)]
        lines = {"color": colour, "linewidth": 1.4}
        axes.boxplot(
            known, positions=x[:1], widths=0.5, manage_ticks=False, showfliers=False, boxprops=lines,
            whiskerprops=lines, capprops=lines, medianprops=lines,
        )  # fmt: skip
        spread = np.linspace(-0.12, 0.12, len(known)) if len(known) > 1 else 0
        axes.plot(x[: len(known)] + spread, known, "o", color=colour, ms=3, alpha=0.7)  # the tick has the name
        return
    axes.plot(
        x, y, color=colour, label=named, lw=2.2 if series.strong else 1.1, alpha=1 if series.strong else 0.6,
        ls=DASHES[series.dash] if "lines" in series.mode else "none",
        marker=MARKERS[series.symbol.removesuffix("-open")] if "markers" in series.mode else "",
        mfc="none" if series.symbol.endswith("-open") else colour,
        ms=3 if len(x) > 60 else 6 if series.strong else 4,
    )  # fmt: skip


def _label(canvas: Canvas, axes: Any, figure: Figure) -> None:
    """Labels of points beside them, with a thin line to those that have no room nearby."""
    marked = [series for series in figure.series if series.mode != "lines"]
    spots = [
        (x, y, text)
        for series in marked
        for x, y, text in zip_longest(series.x, series.y, series.labels, fillvalue="") if y is not None
    ]  # fmt: skip
    labelled = [place for place, (*_, text) in enumerate(spots) if text]
    if not labelled:
        return
    canvas.draw_without_rendering()  # places the axes
    scale = 72 / canvas.dpi
    points = scale * axes.transData.transform([(x, y) for x, y, _ in spots])
    texts = [
        axes.annotate(
            spots[place][2], spots[place][:2], (0, 0), textcoords="offset points", fontsize=8.5, ha="center",
            va="center", annotation_clip=False, arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.6, "shrinkB": 4},
        )
        for place in labelled
    ]  # fmt: skip
    sizes = np.array([[text.get_window_extent().width, text.get_window_extent().height] for text in texts]) * scale
    centres = label_places(points, labelled, sizes, scale * axes.bbox.extents)
    for text, place, centre, size in zip(texts, labelled, centres, sizes, strict=True):
        offset = centre - points[place]
        text.set_position(offset)
        text.set_in_layout(False)
        text.arrow_patch.set_visible(bool(np.abs(offset[1]) > LEADS or np.abs(offset[0]) > size[0] / 2 + LEADS / 2))


def _draw_cells(axes: Any, figure: Figure) -> None:
    """A matrix as a picture, with its values if there is room."""
    cells = np.array(figure.cells)
    colours = mpl.colors.LinearSegmentedColormap.from_list("cells", ["#ffffff", COLOURS[0]])
    axes.imshow(cells, cmap=colours, vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(cells) if len(cells) <= NUMBERED else ():
        ink = "white" if value > 0.6 else INK
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=ink)


def _shape(axes: Any, figure: Figure, deep: bool) -> None:
    if figure.log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")  # powers are set as formulas, which names in data must not be
        axes.xaxis.set_minor_formatter("")
    for ticks, axis in ((figure.x_ticks, axes.xaxis), (figure.y_ticks, axes.yaxis)):
        if ticks:
            step = 2 * np.pi / len(ticks) if figure.polar and axis is axes.xaxis else 1
            rotation = 90 if axis is axes.xaxis and (_is_crowded(figure) or figure.cells) else 0
            axis.set_ticks([at * step for at, _ in ticks], [text for _, text in ticks], rotation=rotation)
    if figure.polar:
        axes.set_ylim(0, 1.02)
        axes.set_yticklabels([])
        return
    if figure.zero:
        axes.axhline(0, color=GREY, lw=1, zorder=0)
    if figure.x_range:
        axes.set_xlim(*figure.x_range)
    if figure.y_range:
        axes.set_ylim(*figure.y_range)
    elif figure.top_is_low:
        axes.invert_yaxis()
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    if deep:
        axes.set_zlabel(figure.z_label)
        if figure.z_ticks:
            axes.zaxis.set_ticks([at for at, _ in figure.z_ticks], [text for _, text in figure.z_ticks])
        if figure.eye is not None:
            axes.set_box_aspect((1, 1, 1), zoom=DEEP_ZOOM)
            elevation, azimuth = eye_angles(figure.eye)
            axes.view_init(elevation, azimuth)
        return
    if figure.cells:
        return
    axes.grid(axis="y", color=GREY, alpha=0.25, lw=0.6)


def eye_angles(eye: tuple[float, float, float]) -> tuple[float, float]:
    """Elevation and azimuth in degrees of a direction of unit length, as Matplotlib has them."""
    x, y, z = eye
    return float(np.degrees(np.arcsin(z))), float(np.degrees(np.arctan2(y, x)))


def _name(axes: Any, figure: Figure) -> None:
    """Title, caption and legend."""
    caption = wrap(figure.caption, CAPTION)
    axes.set_title(figure.title, loc="left", fontweight="bold", fontsize=11.5, pad=6 + 11 * len(caption))
    if caption:
        above = 0.025 if not figure.cells else 0.025 * HEIGHT / _size(figure)[1]
        axes.text(0, 1 + above, "\n".join(caption), transform=axes.transAxes, fontsize=8.5, color=INK, alpha=0.75)
    groups = {series.group: _colour(series) for series in figure.series if series.group}
    handles, names = axes.get_legend_handles_labels()
    handles += [mpl.lines.Line2D([], [], color=colour, lw=1.1, marker="o", ms=4) for colour in groups.values()]
    shown = dict(zip([*names, *groups], handles, strict=True))
    shown.pop("", None)
    on_axis = {text for _, text in figure.y_ticks}
    if shown.keys() <= on_axis or figure.polar:
        return
    size = 9 if len(shown) < 20 else 6
    if _has_legend_beside(figure, len(shown)):
        axes.legend(
            shown.values(), shown.keys(), frameon=False, fontsize=size, loc="center left", bbox_to_anchor=(1.01, 0.5)
        )
    else:
        axes.legend(shown.values(), shown.keys(), frameon=False, fontsize=size)

"""A figure on paper: as wide as a column or a page, and as high as its contents need."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
from matplotlib.figure import Figure as Canvas

from unseen.report.core.looks import GREY
from unseen.report.core.model import Figure
from unseen.report.core.plain_texts import with_plain_texts
from unseen.report.core.static.dodging import dodged
from unseen.report.core.static.fonts import families
from unseen.report.core.static.series import draw_cells, draw_series, told_apart
from unseen.report.core.static.style import LABEL, PAPER_WIDTHS, POINTS, SMALL, STYLE, TITLE, PaperWidth, letters
from unseen.report.core.static.words import NAMES, is_number, place_labels, set_legend, set_ticks
from unseen.report.core.ticks import log_ticks

DATES: dict[str, dict[str, None]] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
DPI = 220
HEIGHTS: dict[PaperWidth, float] = {"column": 1.9, "page": 2.5}
"""Inches of the axes, without titles, ticks and legend."""
LINE, CELL = 0.165, 0.42
"""Inches between names on the y-axis, and of the largest cell of a matrix."""
DEEP_ZOOM = 0.85
"""Leaves room for the labels of the axes of a 3-D figure."""
MOST = 9.0
"""Inches of the highest figure: what a page has room for."""


class PaperFigure(Canvas):
    """A Matplotlib figure that is written with fonts that publishers accept, whatever the settings of Matplotlib."""

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Write the figure, as `matplotlib.figure.Figure.savefig` does."""
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            # A character that the font lacks is a box in PNG and PDF; SVG has the text itself.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        """The form in notebooks."""
        return written(self, "png")


def static_files(figure: Figure) -> Iterator[tuple[str, bytes]]:
    """The endings and contents of the files of a figure in an export.

    It is drawn once for each width: the caption is taken out of the figure of a page before it is written as PDF, which
    has it in its document, as in papers.
    """
    yield "-column.pdf", written(drawn(figure, "column"), "pdf", laid_out=True)
    canvas = drawn(figure, "page", caption=True)
    for kind in ("svg", "png"):
        yield f".{kind}", written(canvas, kind, laid_out=True)
    if figure.caption:
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            axes, layout = canvas.axes[0], canvas.get_layout_engine()
            height = canvas.get_size_inches()[1] * axes.get_position().height
            axes.set_title("", loc="left")
            assert layout is not None
            layout.execute(canvas)
            _fit_height(canvas, axes, height)
    yield ".pdf", written(canvas, "pdf", laid_out=True)


def static_bytes(figure: Figure, kind: str, width: PaperWidth = "page") -> bytes:
    """A figure with its caption as `png`, `svg` or `pdf`; the same figure gives the same bytes."""
    return written(drawn(figure, width, caption=True), kind, laid_out=True)


def written(canvas: PaperFigure, kind: str, *, laid_out: bool = False) -> bytes:
    """A figure of `drawn` as a file, without a date.

    Args:
        laid_out: nothing was changed since; otherwise Matplotlib draws everything once more to find its place.
    """
    content, layout = BytesIO(), canvas.get_layout_engine()
    if laid_out:
        canvas.set_layout_engine("none")
    canvas.savefig(content, format=kind, metadata=DATES[kind])
    canvas.set_layout_engine(layout)
    return content.getvalue()


def drawn(figure: Figure, width: PaperWidth = "column", *, caption: bool = False) -> PaperFigure:
    """A figure in its size on paper.

    Args:
        caption: write the caption under the title, for readers who do not see it elsewhere.
    """
    inches, figure = PAPER_WIDTHS[width], _with_numbers(told_apart(with_plain_texts(figure)))
    with mpl.rc_context(STYLE | {"font.family": families(figure)}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        canvas = PaperFigure(figsize=(inches, inches), dpi=DPI, layout="constrained")
        deep = any(series.z for series in figure.series)
        axes = canvas.subplots(subplot_kw={"projection": "polar" if figure.polar else "3d" if deep else None})
        for band in figure.bands:
            axes.axvspan(band.start, band.end, color=band.colour, alpha=0.12, lw=0)
            axes.annotate(
                band.label, ((band.start + band.end) / 2, 1), xycoords=("data", "axes fraction"), xytext=(0, -2),
                textcoords="offset points", ha="center", va="top", color=band.colour, fontweight="bold", fontsize=SMALL,
            )  # fmt: skip
        draw_series(axes, figure, dodged(figure, inches))
        if figure.cells:
            draw_cells(axes, figure, inches * POINTS * (1 - min(NAMES, _names(figure, inches))))
        _shape(axes, figure, inches, deep)
        if figure.title:
            # At the left edge, so that it has the width of the figure.
            lines = wrap(figure.title, int(letters(inches * POINTS, TITLE) * 0.93))
            canvas.suptitle("\n".join(lines), x=0.01, ha="left", fontweight="bold", fontsize=TITLE)
        set_legend(canvas, axes, figure, inches)
        _fit(canvas, axes, figure, width, figure.caption if caption else "")
        place_labels(canvas, axes, figure)
    return canvas


def _with_numbers(figure: Figure) -> Figure:
    """The figure with ticks on a logarithmic axis that has none: within one decade, Matplotlib would label none."""
    values = [float(x) for series in figure.series for x in series.x]
    if not figure.log_x or figure.x_ticks or not values:
        return figure
    alone = 1.25 if min(values) == max(values) else 1.0  # of a single place, ticks are on both sides
    return replace(figure, x_ticks=log_ticks([min(values) / alone, max(values) * alone]))


def _names(figure: Figure, inches: float) -> float:
    """Share of the width that names on the y-axis take, about."""
    longest = max((len(text) for _, text in figure.y_ticks), default=0)
    return (longest + 2) / letters(inches * POINTS)


def _shape(axes: Any, figure: Figure, inches: float, deep: bool) -> None:
    """Scales, ticks, ranges and labels of the axes."""
    if figure.log_x:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    elif len({x for series in figure.series for x in series.x}) == 1:
        axes.set_xlim(figure.series[0].x[0] - 0.5, figure.series[0].x[0] + 0.5)  # points beside each other stay so
    set_ticks(axes, figure, inches)
    if figure.polar:
        axes.set_ylim(0, 1.02)
        axes.set_yticklabels([])
        axes.tick_params(axis="x", pad=1)
        return
    if figure.zero:
        axes.axhline(0, color=GREY, lw=0.8, zorder=1)
    if figure.x_range:
        axes.set_xlim(*figure.x_range)
    if figure.y_range:
        axes.set_ylim(*figure.y_range)
    elif figure.top_is_low:
        axes.invert_yaxis()
    values = [y for series in figure.series for y in series.y if y is not None]
    if figure.top_is_low and not figure.y_ticks and all(float(y).is_integer() for y in values):
        axes.yaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))  # ranks
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel("\n".join(wrap(figure.y_label, letters(HEIGHTS["column"] * POINTS, LABEL))))
    if deep:
        axes.set_zlabel(figure.z_label)
        if figure.z_ticks:
            axes.zaxis.set_ticks([at for at, _ in figure.z_ticks], [text for _, text in figure.z_ticks])
        if figure.eye is not None:
            axes.set_box_aspect((1, 1, 1), zoom=DEEP_ZOOM)
            axes.view_init(*eye_angles(figure.eye))
        return
    axes.set_axisbelow(True)
    if figure.cells:
        axes.spines[:].set_visible(False)
        return
    axes.grid(axis="x" if _has_names(figure) else "y", color=GREY, alpha=0.25, lw=0.4)


def eye_angles(eye: tuple[float, float, float]) -> tuple[float, float]:
    """Elevation and azimuth in degrees of a direction of unit length, as Matplotlib has them."""
    x, y, z = eye
    return float(np.degrees(np.arcsin(z))), float(np.degrees(np.arctan2(y, x)))


def _has_names(figure: Figure) -> bool:
    """Whether the rows of a figure are names, and not numbers of which lower ones are better."""
    return figure.top_is_low and any(not is_number(text) for _, text in figure.y_ticks)


def _fit(canvas: PaperFigure, axes: Any, figure: Figure, width: PaperWidth, caption: str) -> None:
    """Make the figure as high as its axes, texts and legend need."""
    inches, layout = PAPER_WIDTHS[width], canvas.get_layout_engine()
    assert layout is not None
    layout.execute(canvas)
    box = axes.get_position()
    if caption:
        room = letters(box.width * inches * POINTS)
        axes.set_title("\n".join(wrap(caption, room)), loc="left", fontsize=SMALL, alpha=0.75, pad=4)
        layout.execute(canvas)
    height = HEIGHTS[width]
    if figure.cells:
        height = len(figure.cells) * min(CELL, box.width * inches / len(figure.cells[0]))
    elif _has_names(figure):
        lines = max(text.get_text().count("\n") + 1 for text in axes.get_yticklabels())
        height = max(0.5, LINE * (0.4 + 0.6 * lines) * len(figure.y_ticks))
    elif figure.polar or any(series.z for series in figure.series):
        height = min(HEIGHTS["page"], inches - 1)
    _fit_height(canvas, axes, height)


def _fit_height(canvas: PaperFigure, axes: Any, height: float) -> None:
    """Make the figure as high as its axes of this many inches and the texts around them, as they are laid out, need."""
    layout, (inches, before) = canvas.get_layout_engine(), canvas.get_size_inches()
    assert layout is not None
    canvas.set_size_inches(inches, min(MOST, height + before * (1 - axes.get_position().height)))
    layout.execute(canvas)

"""A figure on paper: as wide as a column or a page, and as high as its contents need."""

import warnings
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
from unseen.report.core.static.series import draw_cells, draw_series, told_apart
from unseen.report.core.static.style import LABEL, PAPER_WIDTHS, POINTS, SMALL, STYLE, TITLE, PaperWidth, letters
from unseen.report.core.static.words import NAMES, is_number, place_labels, set_legend, set_ticks

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


def static_bytes(figure: Figure, kind: str, width: PaperWidth = "page") -> bytes:
    """A figure with its caption as `png`, `svg` or `pdf`; the same figure gives the same bytes."""
    return written(drawn(figure, width, caption=True), kind)


def written(canvas: PaperFigure, kind: str) -> bytes:
    """A figure of `drawn` as a file, without a date."""
    content = BytesIO()
    canvas.savefig(content, format=kind, metadata=DATES[kind])
    return content.getvalue()


def drawn(figure: Figure, width: PaperWidth = "column", *, caption: bool = False) -> PaperFigure:
    """A figure in its size on paper.

    Args:
        caption: write the caption under the title, for readers who do not see it elsewhere.
    """
    inches, figure = PAPER_WIDTHS[width], told_apart(with_plain_texts(figure))
    with mpl.rc_context(STYLE), warnings.catch_warnings():
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


def _names(figure: Figure, inches: float) -> float:
    """Share of the width that names on the y-axis take, about."""
    longest = max((len(text) for _, text in figure.y_ticks), default=0)
    return (longest + 2) / letters(inches * POINTS)


def _shape(axes: Any, figure: Figure, inches: float, deep: bool) -> None:
    """Scales, ticks, ranges and labels of the axes."""
    if figure.log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")  # powers are set as formulas, which names in data must not be
        axes.xaxis.set_minor_formatter("")
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
    around = canvas.get_size_inches()[1] * (1 - axes.get_position().height)
    canvas.set_size_inches(inches, min(MOST, height + around))
    layout.execute(canvas)

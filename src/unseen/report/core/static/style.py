"""Sizes and settings of static figures: all lengths are those on paper, as figures are included without scaling."""

from collections.abc import Mapping
from typing import Any, Literal

from unseen.report.core.looks import COLOURS, GREY
from unseen.report.core.model import Series
from unseen.report.core.static.fonts import FAMILY

PaperWidth = Literal["column", "page"]
PAPER_WIDTHS: Mapping[PaperWidth, float] = {"column": 3.25, "page": 6.75}
"""Inches of one column and of both columns of a conference paper on letter paper."""
POINTS = 72.0
"""Points per inch."""
TITLE, LABEL, SMALL = 8.5, 8.0, 7.0
"""Points of titles, of labels of axes, and of everything else; below 7, journals refuse."""
LETTER = 0.6
"""Width of an average letter of the font, in its size."""
INK = "#1f2430"
STYLE: dict[Any, Any] = {
    "font.family": FAMILY,
    "font.size": LABEL,
    "axes.labelsize": LABEL,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelpad": 2.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.constrained_layout.h_pad": 0.02,
    "figure.constrained_layout.w_pad": 0.02,
    "svg.hashsalt": "unseen",  # the same figure gives the same file
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # TrueType: publishers refuse the Type 3 fonts that Matplotlib embeds by default
    "ps.fonttype": 42,
    "text.parse_math": False,
    "text.usetex": False,
}
MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v", "cross": "P", "x": "X",
    "star": "*",
}  # fmt: skip
DASHES: Mapping[str, Any] = {
    "solid": "-", "dash": (0, (5, 2)), "dot": (0, (1.2, 1.4)), "dashdot": (0, (5, 1.6, 1.2, 1.6)),
    "longdash": (0, (9, 2.5)), "longdashdot": (0, (9, 2, 1.2, 2)),
}  # fmt: skip


def colour_of(series: Series) -> str:
    """The colour of a series for light paper."""
    if series.colour is None:
        return GREY
    return series.colour if isinstance(series.colour, str) else COLOURS[series.colour]


def letters(points: float, size: float = SMALL) -> int:
    """How many letters of a size fit into a width in points."""
    return max(8, int(points / (LETTER * size)))

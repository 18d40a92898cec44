"""Figures as PNG, SVG and PDF in the sizes of papers, with Matplotlib."""

from unseen.report.core.static.canvas import PaperFigure, drawn, static_bytes
from unseen.report.core.static.style import PAPER_WIDTHS, PaperWidth

__all__ = ["PAPER_WIDTHS", "PaperFigure", "PaperWidth", "drawn", "static_bytes"]

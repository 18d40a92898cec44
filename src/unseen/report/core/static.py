"""Charts as PNG, SVG or PDF, with Matplotlib."""

from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from unseen.files import atomic_write
from unseen.report.core.chart import GREY, INK, Chart

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
    "svg.hashsalt": "unseen",  # the same chart gives the same file
    "svg.fonttype": "none",
}


def save_static(chart: Chart, path: Path) -> None:
    """Draw a chart into a file; the same chart gives the same bytes."""
    with atomic_write(path) as file:
        file.write(static_bytes(chart, path.suffix.lower().removeprefix(".")))


def static_bytes(chart: Chart, kind: str) -> bytes:
    """A chart as `png`, `svg` or `pdf`."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 4.5), dpi=160, layout="constrained")
        axes = figure.subplots()
        for band in chart.bands:
            axes.axvspan(band.start, band.end, color=band.colour, alpha=0.12, lw=0)
            middle = (band.start + band.end) / 2
            axes.annotate(
                band.label, (middle, 1), xycoords=("data", "axes fraction"), xytext=(0, -4), textcoords="offset points",
                ha="center", va="top", color=band.colour, fontweight="bold",
            )  # fmt: skip
        for line in chart.lines:
            axes.plot(line.x, line.y, color=line.colour, label=line.name or None, lw=1.8)
        for mark in chart.marks:
            axes.plot([mark.x], [mark.y], "o", color=mark.colour, ms=5)
            axes.annotate(mark.text, (mark.x, mark.y), xytext=(6, 5), textcoords="offset points", fontsize=8.5)
        if chart.log_x:
            axes.set_xscale("log")
        if chart.x_range:
            axes.set_xlim(*chart.x_range)
        if chart.y_range:
            axes.set_ylim(*chart.y_range)
        axes.set_xlabel(chart.x_label)
        axes.set_ylabel(chart.y_label)
        axes.grid(axis="y", color=GREY, alpha=0.25, lw=0.6)
        axes.set_title(f"{chart.title}\n", loc="left", fontweight="bold", fontsize=11.5)
        axes.text(0, 1.025, chart.caption, transform=axes.transAxes, fontsize=8.5, color=INK, alpha=0.75)
        if any(line.name for line in chart.lines):
            axes.legend(frameon=False, fontsize=9)
        dates = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        content = BytesIO()
        figure.savefig(content, format=kind, metadata=dates[kind])
        return content.getvalue()

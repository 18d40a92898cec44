"""Sections of a page: a title, sentences and plots, as plain data that the page's script draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Mode = Literal["lines", "markers", "lines+markers", "bars"]
Ticks = tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class Series:
    """What a plot shows of one thing.

    Attributes:
        x, y: a None in `y` leaves a hole.
        low, high: ends of the error bars, in the units of `y`; empty for none.
        colour: number of one of the page's colours; None for grey.
        group: readers hide and show what is in a group together; empty for what is always there.
        strong: thick, on top and named in the plot: what the page is about, not what it is compared with.
        hover: a text for each point.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    colour: int | None = None
    group: str = ""
    strong: bool = False
    mode: Mode = "lines+markers"
    symbol: str = "circle"
    dash: str = "solid"
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    hover: Sequence[str] = ()


@dataclass(frozen=True)
class Plot:
    """One pair of axes.

    Attributes:
        x_ticks, y_ticks: place and text of each, where numbers as they are would not do.
        zero: whether there is a line at zero.
        top_is_low: whether y grows downwards, as ranks do.
    """

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_ticks: Ticks = ()
    y_ticks: Ticks = ()
    zero: bool = False
    top_is_low: bool = False


@dataclass(frozen=True)
class Section:
    """A part of a page that answers one question.

    Attributes:
        name: in the address of the section; short, of small letters and hyphens.
        sentences: the answer in words.
        note: how to read the plots.
    """

    name: str
    title: str
    sentences: Sequence[str]
    plots: Sequence[Plot]
    note: str = ""

    @property
    def groups(self) -> tuple[tuple[str, int | None], ...]:
        """The groups of its plots, each with its colour, in order of appearance."""
        found = {series.group: series.colour for plot in self.plots for series in plot.series if series.group}
        return tuple(found.items())

    @property
    def names(self) -> tuple[tuple[str, int | None, str], ...]:
        """What its plots are about, each with its colour and symbol, in order of appearance."""
        strong = [series for plot in self.plots for series in plot.series if series.strong]
        return tuple({series.name: (series.name, series.colour, series.symbol) for series in strong}.values())

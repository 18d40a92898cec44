"""The parts of pages: sections with figures, tables and lists, as plain frozen data.

`render` turns them into one HTML file, `export` into CSV, LaTeX, BibTeX, PDF, SVG and PNG files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

Mode = Literal["lines", "markers", "lines+markers", "bars", "box"]
"""How points are drawn; `box` is a box plot of all points at one x."""
Ticks = tuple[tuple[float, str], ...]
Value = float | str | None


@dataclass(frozen=True)
class Series:
    """One line, set of points or set of bars of a figure.

    Attributes:
        x, y: coordinates; a None in `y` leaves a gap.
        z: heights, in a 3-D figure.
        backbone: the backbone that it belongs to, which decides its look (`looks.dressed`).
        variant: number among several lines of the same backbone; each has different dashes.
        solid: whether its line never has dashes, since gaps would be misread, as in an interval.
        colour: number of one of the page's colours, a colour as `#rrggbb`, or None for grey.
        group: readers hide and show the series of a group together; empty for series that are always visible.
        strong: thick, in front and named in the figure: the subject of the page, not a comparison.
        low, high: ends of the error bars, in the units of `y`; empty for none.
        hover: one text per point, for pointers, keyboards and screen readers.
        labels: one label per point, empty for none; placed so that labels do not overlap.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    colour: int | str | None = None
    group: str = ""
    strong: bool = False
    mode: Mode = "lines+markers"
    symbol: str = "circle"
    dash: str = "solid"
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    hover: Sequence[str] = ()
    labels: Sequence[str] = ()
    backbone: str = ""
    variant: int = 0
    solid: bool = False
    z: Sequence[float] = ()


@dataclass(frozen=True)
class Band:
    """A shaded range of x with a label at its top."""

    start: float
    end: float
    label: str
    colour: str


@dataclass(frozen=True)
class Figure:
    """One pair of axes.

    Attributes:
        caption: a sentence under the title, in files and for screen readers.
        x_ticks, y_ticks: position and text of each tick, if plain numbers are not suitable; in a polar figure
            `x_ticks` are the spokes, and y is between 0 and 1.
        zero: whether there is a line at zero.
        top_is_low: whether y grows downwards, as for ranks; a `y_range` then begins with its larger end.
        drawing: name of the script function that draws it, for figures that depend on choices of the reader; `series`
            then is the first view, for files and for readers without scripts.
        data: arguments of that function.
        cells: rows of values from 0 to 1, which files show as a picture; the ticks of both axes name them.
        choice: name and value of a choice of the reader with which alone it is shown; empty if it always is.
        eye: in a 3-D figure, the direction that it is looked at from, from the middle of its axes.
    """

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series] = ()
    x_ticks: Ticks = ()
    y_ticks: Ticks = ()
    zero: bool = False
    top_is_low: bool = False
    caption: str = ""
    bands: Sequence[Band] = ()
    log_x: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    polar: bool = False
    z_label: str = ""
    z_ticks: Ticks = ()
    drawing: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    cells: Sequence[Sequence[float]] = ()
    choice: tuple[str, str] | tuple[()] = ()
    eye: tuple[float, float, float] | None = None

    @property
    def is_single_points(self) -> bool:
        """Whether all values are at a single x, which a table shows better, unless it is one of several choices."""
        places = {x for series in self.series for x, y in zip(series.x, series.y, strict=True) if y is not None}
        boxes = any(series.mode == "box" for series in self.series)
        return bool(self.x_ticks) and not self.polar and not boxes and not self.choice and len(places) == 1

    def save(self, path: str | PathLike[str]) -> None:
        """Write the figure in the format of the file name: .png, .svg, .pdf or .html."""
        from unseen.report.core.export import save_figure

        save_figure(self, Path(path))

    def __repr__(self) -> str:
        return f"Figure({self.title!r}: {len(self.series)} series; .save('figure.svg') writes it)"

    def _repr_png_(self) -> bytes:
        """The form in notebooks."""
        from unseen.report.core.static import static_bytes

        return static_bytes(self, "png")


@dataclass(frozen=True)
class Column:
    """A column of a table; `names` are its columns in CSV, as a cell may have several values."""

    title: str = ""
    about: str = ""
    number: bool = True
    names: Sequence[str] = ()


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, and its values for sorting and CSV.

    Attributes:
        values: in CSV, one per name of the column; the text if empty.
        order: the sort key, if it is not the first value.
        style: class names of the style sheet: best and strong for numbers that an interval supports (the highest of a
            column, an interval that excludes 0), main for the main column, faint, none; model for the header of its
            row. In papers, numbers that are not resolved from the best of their column, `tied`, are bold too.
        small, below: texts beside and below the main text, in smaller type.
        about: text of the tooltip.
        shade: background colour, from −1 for the worst to 1 for the best; None for none.
        span: ends and middle of a small bar beside the text, in percent of its width.
        meter: a share that is drawn as a bar.
        look: whether the mark of the backbone of the row precedes the text.
        dot: number of the colour of a dot before the text.
        shows: pressing the cell sets the choices `across` and `up` to these numbers.
        link: relative address of the page that the text links to.
        again: whether the row above has the same text, which is then not shown as long as that row is above it.
    """

    text: str = "–"
    values: Sequence[Value] = ()
    order: Value = None
    style: str = ""
    small: str = ""
    below: str = ""
    about: str = ""
    shade: float | None = None
    span: tuple[float, float, float] | None = None
    meter: float | None = None
    look: bool = False
    dot: int | None = None
    shows: tuple[int, int] | None = None
    link: str = ""
    again: bool = False


@dataclass(frozen=True)
class Row:
    """A row of a table; `style` is published, yours, main or foot; `group` is hidden with that of the figures."""

    cells: Sequence[Cell]
    style: str = ""
    backbone: str = ""
    group: str = ""


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: short name for its file and address, of small letters and hyphens.
        groups: title and width of each group of columns, above their titles; empty for none.
        sortable: whether pressing a heading sorts the rows.
        filter: placeholder of the field that filters rows; empty for no such field.
        head: whether the first cell of each row is its header.
        kind: class of the style sheet: `wide` for many numbers, `plain` for a few rows, `matrix` for squares.
        folded: if not empty, the table is closed at first, and this text opens it.
        bold: what its bold numbers are, in sentences, for captions in papers.
    """

    name: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    caption: str = ""
    groups: Sequence[tuple[str, int]] = ()
    sortable: bool = False
    filter: str = ""
    head: bool = False
    kind: Literal["wide", "plain", "matrix"] = "wide"
    folded: str = ""
    note: str = ""
    bold: str = ""


@dataclass(frozen=True)
class Choice:
    """A choice of the reader for the figures; `options` are values and their texts."""

    label: str
    name: str
    options: Sequence[tuple[str, str]]
    chosen: str
    disabled: Sequence[str] = ()
    buttons: bool = False


@dataclass(frozen=True)
class Picture:
    """An image file, PNG or JPEG, and the lines of its caption; without content, a grey square."""

    content: bytes
    lines: Sequence[str]
    kind: str = "png"


@dataclass(frozen=True)
class Gallery:
    """A row of pictures; `words` is a list that opens below them, counted as `noun`s.

    Attributes:
        panels: number of panels of each picture, side by side; 0 for small pictures without panels.
        colours: (colour as `#rrggbb`, its meaning) for every colour that pictures use.
    """

    title: str
    pictures: Sequence[Picture] = ()
    words: Sequence[str] = ()
    noun: str = "concept"
    panels: int = 0
    colours: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Section:
    """A part of a page that answers one question.

    Attributes:
        name: short name for its address and files, of small letters and hyphens.
        sentences: the answer in words.
        note: how to read the figures and tables.
        menu: its title in the menu, if shorter.
        facts: label → text; `by_backbone` if the labels are backbones.
        legend: whether the section has a legend with which readers hide and show backbones.
        row_groups: groups of table rows, each with colour and symbol, if no figure has them.
        exported: figures for files only; on the page, choices of the reader lead to each of them.
    """

    name: str
    title: str
    sentences: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    note: str = ""
    tables: Sequence[Table] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    by_backbone: bool = False
    galleries: Sequence[Gallery] = ()
    choices: Sequence[Choice] = ()
    legend: bool = False
    menu: str = ""
    row_groups: Sequence[tuple[str, int | str | None, str]] = ()
    exported: Sequence[Figure] = ()

    @property
    def groups(self) -> tuple[tuple[str, int | str | None, str, str], ...]:
        """The groups of its figures, each with its colour, symbol and dash, in order of appearance."""
        grouped = [series for figure in self.figures for series in figure.series if series.group]
        return _marks({series.group: series for series in grouped}, grouped) or tuple(
            (*group, "") for group in self.row_groups
        )

    @property
    def names(self) -> tuple[tuple[str, int | str | None, str, str], ...]:
        """The strong series with names, each with its colour, symbol and dash, in order of appearance."""
        strong = [series for figure in self.figures for series in figure.series if series.strong and series.name]
        return _marks({series.name: series for series in strong}, strong)


def _marks(named: Mapping[str, Series], drawn: Sequence[Series]) -> tuple[tuple[str, int | str | None, str, str], ...]:
    """Name, colour, symbol and dash of each; an empty dash if no series of that name has a line."""
    lines = {name for series in drawn if "lines" in series.mode for name in (series.name, series.group)}
    return tuple((name, s.colour, s.symbol, s.dash if name in lines else "") for name, s in named.items())


@dataclass(frozen=True)
class Backbone:
    """A backbone in the legend of a page; the order of backbones decides their looks."""

    name: str
    category: str = ""
    about: str = ""
    published: bool = False


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        facts: a few words each, under the title.
        notices: cautions at the top of the page.
        findings: the answers in sentences.
        terms: words that the page uses, each with what it means; a reader opens the list.
        beside_published: whether published models are on the page; their colours are then not used for backbones.
        follow: whether pressing the name of a backbone highlights it instead of hiding it.
        scripts: script files with the drawings of its figures.
        data: data of these scripts.
        links: text and relative address of related pages and files.
        paper_tables: tables for files only: the scores as papers print them.
        references: the papers behind its numbers, as BibTeX entries.
    """

    title: str
    sections: Sequence[Section]
    facts: Sequence[str] = ()
    notices: Sequence[str] = ()
    findings: Sequence[str] = ()
    terms: Sequence[tuple[str, str]] = ()
    backbones: Sequence[Backbone] = ()
    beside_published: bool = False
    follow: bool = False
    scripts: Sequence[str] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    links: Sequence[tuple[str, str]] = ()
    paper_tables: Sequence[Table] = ()
    references: Sequence[str] = ()

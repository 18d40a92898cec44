"""What pages are made of: sections with figures, tables and lists, as plain frozen data.

Pages are drawn from these by `render` (one HTML file) and by `export` (CSV, SVG and PNG files).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Mode = Literal["lines", "markers", "lines+markers", "bars", "box"]
"""What is drawn at each point; a box is of all points at one place."""
Ticks = tuple[tuple[float, str], ...]
Value = float | str | None


@dataclass(frozen=True)
class Series:
    """What a figure shows of one thing.

    Attributes:
        x, y: a None in `y` leaves a hole.
        z: heights of a figure in three dimensions.
        backbone: whose it is; the page then gives it the one look of that backbone (`looks.dressed`).
        variant: which of several lines of the same backbone; each has other dashes.
        colour: number of one of the page's colours, a colour as `#rrggbb`, or None for grey.
        group: readers hide and show what is in a group together; empty for what is always there.
        strong: thick, on top and named in the figure: what the page is about, not what it is compared with.
        low, high: ends of the error bars, in the units of `y`; empty for none.
        hover: a text for each point.
        labels: a text beside each point.
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
        caption: a sentence under the title.
        x_ticks, y_ticks: place and text of each, where numbers as they are would not do; in a polar figure `x_ticks`
            are the spokes, and y is between 0 and 1.
        zero: whether there is a line at zero.
        top_is_low: whether y grows downwards, as ranks do.
        drawing: the function of the page's scripts that draws it, where it answers to the reader's choices; `series`
            then are what it shows first, for files and for readers without scripts.
        data: what that function needs to know.
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
    drawing: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_single_points(self) -> bool:
        """Whether all there is to see are values at one place, which a table says better."""
        places = {x for series in self.series for x, y in zip(series.x, series.y, strict=True) if y is not None}
        boxes = any(series.mode == "box" for series in self.series)
        return bool(self.x_ticks) and not self.polar and not boxes and len(places) == 1

    def save(self, path: str | Path) -> None:
        """Write the figure in the form its file name asks for: .png, .svg, .pdf or .html."""
        from unseen.report.core.export import save_figure

        save_figure(self, Path(path))

    def __repr__(self) -> str:
        return f"Figure({self.title!r}: {len(self.series)} series; .save('figure.svg') writes it)"

    def _repr_png_(self) -> bytes:
        """What a notebook shows."""
        from unseen.report.core.static import static_bytes

        return static_bytes(self, "png")


@dataclass(frozen=True)
class Column:
    """A column of a table: `names` are what its numbers are called in CSV, where one cell has several."""

    title: str = ""
    about: str = ""
    number: bool = True
    names: Sequence[str] = ()


@dataclass(frozen=True)
class Cell:
    """A cell: what it says, and what sorting and CSV take for it.

    Attributes:
        values: in CSV, one for each of the column's names; the text where there are none.
        order: what rows are sorted by, where it is not the first value.
        style: class names of the style sheet: best, second, strong, faint, none.
        small, below: beside the text and under it, in smaller type.
        about: what a pointer on it tells.
        shade: from −1, the worst, to 1; None for no colour behind it.
        span: ends and middle of a small bar beside the text, in percent of its width.
        meter: a share that is drawn as a bar.
        look: whether the mark of the row's backbone stands before the text.
        dot: number of the colour of a dot before the text.
        shows: two numbers that a press on it sets the choices `across` and `up` to.
        link: the address of the page that its text leads to, relative to this one.
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


@dataclass(frozen=True)
class Row:
    """A row of a table; `style` is published, yours, strong or foot, `group` hides with the figures' group."""

    cells: Sequence[Cell]
    style: str = ""
    backbone: str = ""
    group: str = ""


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: of its file, and in its address; short, of small letters and hyphens.
        groups: title and width of each group of columns, above their titles; empty for none.
        sortable: whether headings sort.
        filter: what stands in the field that filters rows; empty for no such field.
        head: whether the first cell of each row is its heading.
        kind: of the style sheet: `wide` for many numbers, `plain` for a few rows, `matrix` for squares.
        folded: the words that open it, where it is closed at first.
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


@dataclass(frozen=True)
class Choice:
    """Something that the reader chooses for the figures: `options` are values and their texts."""

    label: str
    name: str
    options: Sequence[tuple[str, str]]
    chosen: str
    disabled: Sequence[str] = ()
    buttons: bool = False


@dataclass(frozen=True)
class Picture:
    """An image file, PNG or JPEG, and what is told under it; without content, a grey square."""

    content: bytes
    lines: Sequence[str]
    kind: str = "png"


@dataclass(frozen=True)
class Gallery:
    """Pictures of one thing; `words` are a list that opens under them, counted as `noun`s.

    Attributes:
        panels: how many each picture has side by side; 0 for pictures without panels, which are shown small.
    """

    title: str
    pictures: Sequence[Picture] = ()
    words: Sequence[str] = ()
    noun: str = "concept"
    panels: int = 0


@dataclass(frozen=True)
class Section:
    """A part of a page that answers one question.

    Attributes:
        name: in the address of the section and of its files; short, of small letters and hyphens.
        sentences: the answer in words.
        note: how to read the figures and tables.
        menu: its title in the menu, where that is shorter.
        facts: label → text; `by_backbone` where labels are backbones.
        legend: whether readers hide and show backbones here.
        row_groups: groups of the rows of its tables, each with its colour and symbol, where no figure has them.
        exported: figures that are written to files only, where a reader's choice leads to each of them on the page.
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
        """What its figures are about, each with its colour, symbol and dash, in order of appearance."""
        strong = [series for figure in self.figures for series in figure.series if series.strong]
        return _marks({series.name: series for series in strong}, strong)


def _marks(named: Mapping[str, Series], drawn: Sequence[Series]) -> tuple[tuple[str, int | str | None, str, str], ...]:
    """Name, colour, symbol and dash of each; no dash where nothing of its name has a line."""
    lines = {name for series in drawn if "lines" in series.mode for name in (series.name, series.group)}
    return tuple((name, s.colour, s.symbol, s.dash if name in lines else "") for name, s in named.items())


@dataclass(frozen=True)
class Backbone:
    """A backbone in the page's legend, whose order decides the looks."""

    name: str
    category: str = ""
    about: str = ""
    published: bool = False


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        facts: a few words each, under the title.
        notices: what a reader must know before anything else.
        findings: the answers in sentences.
        terms: words that the page uses, each with what it means; a reader opens the list.
        beside_published: whether the published models are on it, whose colours are then not given to backbones.
        follow: whether pressing a backbone's name brings it out instead of hiding it.
        scripts: files that have the drawings of its figures.
        data: what those scripts draw.
        links: text and relative address of pages and files beside this one.
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

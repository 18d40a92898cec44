"""A chart as plain data, to be drawn as a picture (`static`) or as an interactive page (`interactive`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UserError

# Steps of the viridis map, dark to light: ordered, and told apart by colour-blind readers.
LEVEL_COLOURS = ("#440154", "#3b528b", "#21918c", "#5ec962", "#d9b310")
GREY = "#8a8f98"
INK = "#1f2430"


@dataclass(frozen=True)
class Line:
    """A curve; `hover` has a text per point for the interactive form."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    hover: Sequence[str] = ()


@dataclass(frozen=True)
class Band:
    """A shaded range of x with a label at its top."""

    start: float
    end: float
    label: str
    colour: str


@dataclass(frozen=True)
class Mark:
    """A point with a text beside it."""

    x: float
    y: float
    text: str
    colour: str
    hover: str = ""


@dataclass(frozen=True)
class Chart:
    """Everything on one pair of axes. `caption` is a sentence under the title."""

    title: str
    caption: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...] = ()
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    log_x: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None

    def save(self, path: str | Path) -> None:
        """Write the chart in the form its file name asks for: .png, .svg, .pdf or .html."""
        save_chart(self, Path(path))

    def __repr__(self) -> str:
        return f"Chart({self.title!r}: {len(self.lines)} lines; .save('figure.svg') writes it)"

    def _repr_png_(self) -> bytes:
        """What a notebook shows."""
        from unseen.report.core.static import static_bytes

        return static_bytes(self, "png")


def level_colour(level: int) -> str:
    """The colour of a level, counted from 1; more than five start over."""
    return LEVEL_COLOURS[(level - 1) % len(LEVEL_COLOURS)]


def save_chart(chart: Chart, path: Path) -> None:
    """Write a chart in the form its file name asks for: .png, .svg, .pdf or .html."""
    suffix = path.suffix.lower()
    # The drawing libraries are heavy: only the one in use is imported.
    if suffix in (".png", ".svg", ".pdf"):
        from unseen.report.core.static import save_static

        save_static(chart, path)
    elif suffix == ".html":
        from unseen.report.core.interactive import save_interactive

        save_interactive(chart, path)
    else:
        raise UserError(f"{path}: a figure is written as .png, .svg, .pdf or .html")

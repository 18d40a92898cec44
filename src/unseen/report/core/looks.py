"""The look of each backbone on a page: a colour, a symbol and dashes, by its position among the backbones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from unseen.report.core.model import Figure, Page, Section, Series

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b8578f", "#6b7280", "#e69f00", "#56b4e9", "#8a7f00")
"""For light pages and files; --c0 to --c7 in page.css are the same, with other colours for dark pages."""
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
LEVELS = ("#440154", "#3b528b", "#21918c", "#5ec962", "#d9b310")
"""Steps of the viridis map, dark to light: ordered, and distinguishable for colour-blind readers."""
GREY = "#8a8f98"
YOURS = 5
"""The first colour of the backbones on pages with published models; their categories have the colours before it."""


@dataclass(frozen=True)
class Look:
    """How a backbone is drawn: `colour` is a number of the page's colours."""

    colour: int
    symbol: str
    dash: str


def look(number: int, *, beside_published: bool = False) -> Look:
    """The look of the backbone at a position: 48 are different; the first eight differ in colour, with solid lines."""
    colours = [*range(YOURS, len(COLOURS)), *range(YOURS)] if beside_published else range(len(COLOURS))
    turn = number // len(COLOURS)
    return Look(
        colours[number % len(COLOURS)], SYMBOLS[(number + turn) % len(SYMBOLS)], DASHES[turn % len(DASHES)]
    )  # fmt: skip


def level_colour(level: int) -> str:
    """The colour of a level, counted from 1; more than five start over."""
    return LEVELS[(level - 1) % len(LEVELS)]


def page_looks(page: Page) -> dict[str, Look]:
    """Backbone → its look on all of a page."""
    names = dict.fromkeys(backbone.name for backbone in page.backbones)
    return {name: look(number, beside_published=page.beside_published) for number, name in enumerate(names)}


def dressed(page: Page) -> Page:
    """The page with the look of its backbone in every series that belongs to one."""
    looks = page_looks(page)
    return replace(page, sections=[_section(section, looks) for section in page.sections])


def _section(section: Section, looks: Mapping[str, Look]) -> Section:
    figures, exported = _figures(section.figures, looks), _figures(section.exported, looks)
    return replace(section, figures=figures, exported=exported)


def _figures(figures: Sequence[Figure], looks: Mapping[str, Look]) -> list[Figure]:
    return [replace(figure, series=[_series(series, looks) for series in figure.series]) for figure in figures]


def _series(series: Series, looks: Mapping[str, Look]) -> Series:
    own = looks.get(series.backbone)
    if own is None:
        return series
    dash = "solid" if series.solid else DASHES[(DASHES.index(own.dash) + series.variant) % len(DASHES)]
    # Points without lines have no dashes, so variants have open symbols.
    symbol = f"{own.symbol}-open" if series.mode == "markers" and series.variant else own.symbol
    return replace(series, colour=own.colour, symbol=symbol, dash=dash)

"""The report of a study of shifts: one HTML file that needs nothing else."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.files import atomic_write
from unseen.report.core.render import render
from unseen.studies.shifts.model_score import ModelScore
from unseen.words import signed

if TYPE_CHECKING:
    from unseen.studies.shifts.of_runs import RunTable

SCRIPTS = ("plots.js", "table.js", "look.js", "shifts.js")
COLOURS = 8
"""As many as the style sheet has, --c0 to --c7."""
SYMBOLS = ("circle", "square", "diamond", "cross", "x")
"""Those that Plotly has in two and in three dimensions; with the colours, 40 groups before a pair comes again."""


@dataclass(frozen=True)
class GroupLine:
    """The fit to one group's models alone, from end to end, on the fit's scale."""

    group: str
    x: tuple[float, float]
    y: tuple[float, float]


@dataclass(frozen=True)
class Line:
    """The fit to a single ID set, with the band of its bootstrap at the places of `grid`, all on the fit's scale."""

    id_set: str
    weight: float
    intercept: float
    r2: float
    mae: float
    grid: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    groups: tuple[GroupLine, ...]


@dataclass(frozen=True)
class OodPanel:
    """What the page shows of an OOD set; `record` is its part of fit.json."""

    name: str
    record: Mapping[str, Any]
    points: tuple[ModelScore, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class ShiftPage:
    """What a page shows.

    Attributes:
        scale: logit or probit, of axes.
        group_scores: means of groups, as in fit.json, with `average` true for those over OOD sets.
        notes: sentences above everything else.
        accuracies: of a run, where the page is of one.
    """

    title: str
    id_sets: tuple[str, ...]
    scale: str
    groups: tuple[str, ...]
    panels: tuple[OodPanel, ...]
    group_scores: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    provenance: Mapping[str, str]
    accuracies: "RunTable | None" = None


def write_shift_page(page: ShiftPage, path: Path) -> None:
    """Write the page; the same data give the same bytes. Names from the data are only ever text in it."""
    content = _render(page)
    with atomic_write(path) as file:
        file.write(content.encode(errors="replace"))


def _render(page: ShiftPage) -> str:
    styles = {group: _style(number) for number, group in enumerate(page.groups)}
    values = {
        "page": page, "styles": styles, "striped": len(styles) > COLOURS, "payload": _payload(page, styles),
    }  # fmt: skip
    sheets, filters = ("page.css", "shifts.css"), {"points": _points}
    return render("shifts.html.j2", sheets=sheets, scripts=SCRIPTS, filters=filters, values=values)


def _style(number: int) -> dict[str, Any]:
    """Colours first, then other symbols with the same colours."""
    return {"colour": number % COLOURS, "symbol": SYMBOLS[number // COLOURS % len(SYMBOLS)]}


def _payload(page: ShiftPage, styles: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What the scripts draw; rows in the order of the table of models."""
    panels = [
        {
            "name": panel.name,
            "weights": list(panel.record["coefficients"].values()),
            "intercept": panel.record["intercept"],
            "lines": [asdict(line) for line in panel.lines],
        }
        for panel in page.panels
    ]
    rows = [asdict(point) | {"domain": panel.name} for panel in page.panels for point in panel.points]
    groups = [{"name": name, **styles[name]} for name in page.groups]
    return {"id_sets": page.id_sets, "scale": page.scale, "groups": groups, "panels": panels, "rows": rows}


def _points(value: float) -> str:
    """Points with a sign, to two digits."""
    return signed(value, 2)

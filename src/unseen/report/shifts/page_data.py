"""What the page of a fit of effective robustness is made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unseen.studies.shifts.fitted_model import FittedModel

if TYPE_CHECKING:
    from unseen.studies.shifts.of_runs import RunTable


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
    """What the page shows of an OOD set; `id_columns` are those of its ID sets, `record` its part of fit.json."""

    name: str
    id_columns: tuple[str, ...]
    record: Mapping[str, Any]
    points: tuple[FittedModel, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class ShiftPage:
    """What a page shows.

    Attributes:
        scale: logit or probit, of axes.
        group_scores: means of groups, as in fit.json, with `average` true for those over OOD sets.
        notes: sentences above everything else.
        accuracies: of runs, where the page is of such; there may be no panels then.
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

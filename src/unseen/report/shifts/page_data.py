"""The data of the page of a fit of effective robustness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unseen.analyses.robustness.fitted_model import FittedModel

if TYPE_CHECKING:
    from unseen.analyses.robustness.found_subsets import ShiftSubsets
    from unseen.analyses.robustness.group_effects import GroupEffect
    from unseen.analyses.robustness.of_runs import RunTable
    from unseen.analyses.robustness.predictors import PredictorStudy
    from unseen.analyses.robustness.severity import Severity


@dataclass(frozen=True)
class GroupLine:
    """The fit to the models of one group, by its end points, on the scale of the fit."""

    group: str
    x: tuple[float, float]
    y: tuple[float, float]


@dataclass(frozen=True)
class Line:
    """The fit to a single ID set, with its bootstrap interval at the points of `grid`, all on the scale of the fit."""

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
    """One OOD set on the page; `id_columns` are the columns of its ID sets, `record` is its part of fit.json."""

    name: str
    id_columns: tuple[str, ...]
    record: Mapping[str, Any]
    points: tuple[FittedModel, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class ShiftPage:
    """The contents of a page.

    Attributes:
        scale: logit or probit, the scale of the axes.
        group_scores: means of groups, as in fit.json, with `average` true for means over OOD sets.
        group_effects: groups under the line of the others, with what so many models resolve; empty for few groups.
        notes: sentences at the top of the page.
        level: coverage of the intervals of fits and models.
        accuracies: the accuracies of runs, for a page of runs, which may have no panels.
        predictors: what predicts the accuracy of held-out models, if it could be compared.
        severities: severity of mistakes on ID columns, of runs that keep predictions, and `severity_notes` about them.
        subsets: the searches for subsets of shifted test sets, if results keep which images are right.
        subset_pictures: OOD test set → number of an image → its picture as a JPEG file.
    """

    title: str
    id_sets: tuple[str, ...]
    scale: str
    groups: tuple[str, ...]
    panels: tuple[OodPanel, ...]
    group_scores: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    provenance: Mapping[str, str]
    level: float = 0.95
    accuracies: "RunTable | None" = None
    group_effects: "Sequence[GroupEffect]" = ()
    predictors: "PredictorStudy | None" = None
    severities: "Sequence[Severity]" = ()
    severity_notes: Sequence[str] = ()
    subsets: "ShiftSubsets | None" = None
    subset_pictures: Mapping[str, Mapping[int, bytes]] = field(default_factory=dict)

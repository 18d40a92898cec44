"""The study of distribution shifts: from a table of accuracies to fits, scores and diagnostics.

Protocol `shi-2023`: ordinary least squares on logits over the models of the fit, one fit per OOD test set. Rules that
the paper does not state: a model without an accuracy on one of the ID test sets or on the OOD test set is left out for
that OOD test set; so is a model with an accuracy of exactly 0 or 1, unless the size of the test set is given (see
`accuracy_scales`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.fitted_model import FittedModel
from unseen.analyses.robustness.single_lines import SingleLine, single_lines
from unseen.analyses.robustness.table import ShiftTable
from unseen.errors import UserError, did_you_mean
from unseen.metrics import robustness
from unseen.metrics.accuracy_scales import within_unit
from unseen.metrics.robustness import METHODS, PAPER, LogitFit, Method, bootstrap_fits, fit_accuracies, interval
from unseen.metrics.robustness_checks import (
    Collinearity,
    Comparison,
    collinearity,
    compare_id_sets,
    held_out_predictions,
)
from unseen.runs.data import Axis
from unseen.text.notebook import table_html

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
AXIS: Axis = "shifts"


@dataclass(frozen=True)
class ShiftSettings:
    """The settings that can change a number besides the table.

    Attributes:
        method: method of the fit.
        minimum: lowest accuracy on an ID test set for a model to be included, by name and in the unit of the table.
        sizes: number of images of test sets, if known.
        resamples, seed: number of bootstrap resamples over models, and their seed.
        level: coverage of the intervals.
    """

    method: Method = PAPER
    minimum: Mapping[str, float] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    resamples: int = 2000
    seed: int = 0
    level: float = 0.95


@dataclass(frozen=True)
class Alternative:
    """The fit with another method: its leave-one-out error and the largest change of a ρ, both in points."""

    fit: LogitFit
    held_out: float
    change: float


@dataclass(frozen=True)
class LeftOut:
    """Why a model is left out: a `gap` in the table, `below` the minimum, or at the `end` of the scale of logits."""

    kind: Literal["gap", "below", "end"]
    text: str


@dataclass(frozen=True)
class ShiftFit:
    """The fit of an OOD test set, its diagnostics, and the scores of all models.

    Attributes:
        intervals: (2, k + 1) lower and upper ends of the intervals of weights and intercept.
        lines: the lines on each ID test set alone, with their intervals.
        comparisons: fits on single ID test sets, pairs and all, best leave-one-out error first.
        by_group: the same with whole groups held out; empty with fewer than two groups, or if too few models remain.
        left_out: model → why it is in neither fit nor scores.
    """

    ood: str
    fit: LogitFit
    intervals: Array
    lines: tuple[SingleLine, ...]
    collinearity: Collinearity
    comparisons: tuple[Comparison, ...]
    by_group: tuple[Comparison, ...]
    alternatives: tuple[Alternative, ...]
    scores: tuple[FittedModel, ...]
    left_out: Mapping[str, LeftOut]

    @cached_property
    def id_accuracy(self) -> Array:
        """(m, k) accuracies on the ID test sets of the models in `scores`."""
        return np.array([score.id_accuracy for score in self.scores])

    @cached_property
    def accuracy(self) -> Array:
        """(m,) accuracies of the same models on the OOD test set."""
        return np.array([score.accuracy for score in self.scores])

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """(m,) whether the fit is to each of the same models."""
        return np.array([score.in_fit for score in self.scores])

    @property
    def held_out(self) -> Comparison:
        """The held-out error of the fit on all ID test sets."""
        return next(found for found in self.comparisons if found.fit.names == self.fit.names)


@dataclass(frozen=True)
class ShiftStudy:
    """The fits of all OOD test sets of a table."""

    table: ShiftTable
    settings: ShiftSettings
    fits: tuple[ShiftFit, ...]

    def to_frame(self) -> "pd.DataFrame":
        """One row per OOD test set and model: accuracies, expected accuracy, and ρ with its interval, as fractions."""
        import pandas as pd

        rows = [
            {
                "ood": fit.ood, "model": score.model, "group": score.group, "in_fit": score.in_fit,
                **dict(zip(self.table.id_sets, score.id_accuracy, strict=True)), "accuracy": score.accuracy,
                "expected": score.expected, "rho": score.rho, "low": score.low, "high": score.high,
            }
            for fit in self.fits
            for score in fit.scores
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        fits = ", ".join(f"{fit.ood} R² {fit.fit.r2:.3f}, {len(fit.scores)} models" for fit in self.fits[:3])
        more = f", … {len(self.fits) - 3} more" if len(self.fits) > 3 else ""
        return f"{type(self).__name__}({' + '.join(self.table.id_sets)} → {fits}{more})"

    def _repr_html_(self) -> str:
        return table_html(repr(self), self.to_frame().sort_values("rho", ascending=False))


def study_shifts(table: ShiftTable, settings: ShiftSettings | None = None) -> ShiftStudy:
    """Fit every OOD test set of a table."""
    settings = settings or ShiftSettings()
    check_settings(table, settings)
    return ShiftStudy(table, settings, tuple(_fit_ood(table, ood, settings) for ood in table.ood_sets))


def check_settings(table: ShiftTable, settings: ShiftSettings) -> None:
    """Refuse sizes and minimums of unknown test sets, and minimums that no accuracy can reach."""
    names = table.test_sets
    for name in (*settings.sizes, *settings.minimum):
        if name not in names:
            raise UserError(
                f"a size or a minimum is given for '{name}', which is not in this fit{did_you_mean(name, names)}"
            )
    for name, least in settings.minimum.items():
        if name not in table.all_id_columns:
            raise UserError(f"a minimum applies to an ID test set, but '{name}' is OOD")
        if table.fraction(least) > 1:
            raise UserError(
                f"a minimum of {least:g} on '{name}' is above any possible accuracy, since the table is in {table.unit}"
            )


def _fit_ood(table: ShiftTable, ood: str, settings: ShiftSettings) -> ShiftFit:
    names = table.id_sets
    accuracy, left_out = usable_models(table, ood, settings)
    rows = [row for row, model in enumerate(table.models) if model not in left_out]
    x, y, inside = accuracy[rows, :-1], accuracy[rows, -1], table.in_fit[rows]
    fewest = len(names) + 2
    if inside.sum() < fewest:
        sets = ", ".join((*table.id_columns[ood], ood))
        below = sum(why.kind == "below" for why in left_out.values())
        raise UserError(
            f"a fit on {len(names)} ID test set{'s' if len(names) > 1 else ''} needs at least {fewest} models "
            f"with accuracies on {sets}, and there {'is' if inside.sum() == 1 else 'are'} {inside.sum()}"
            + (f"; {below} are below the minimum: lower it" if below else "")
        )
    fitted, target, method = x[inside], y[inside], settings.method
    try:
        fit = fit_accuracies(fitted, target, names, method)
        draws = bootstrap_fits(fitted, target, resamples=settings.resamples, seed=settings.seed, method=method)
        lines = single_lines(
            fitted, target, x, method=method, resamples=settings.resamples, seed=settings.seed, level=settings.level
        )
        comparisons = compare_id_sets(fitted, target, names, method=method)
    except UserError as error:
        raise UserError(f"{ood}: {error}") from None
    return ShiftFit(
        ood=ood,
        fit=fit,
        intervals=interval(draws, settings.level),
        lines=lines,
        collinearity=collinearity(fitted, method=method),
        comparisons=tuple(comparisons),
        by_group=_by_group(fitted, target, names, [table.groups[row] for row in np.array(rows)[inside]], method),
        alternatives=tuple(_alternative(fit, fitted, target, x, other) for other in METHODS if other != method),
        scores=_scores(table, rows, fit, draws, x, y, ood, settings),
        left_out=left_out,
    )


def usable_models(table: ShiftTable, ood: str, settings: ShiftSettings) -> tuple[Array, dict[str, LeftOut]]:
    """Accuracies on the ID test sets and an OOD test set, and the models that are left out.

    Returns:
        (models, k + 1) fractions, with those of 0 and 1 moved inside if the size of their test set is known; and
        model → why it is left out.
    """
    names = (*table.id_columns[ood], ood)
    accuracy = np.column_stack([_finite(table, name, settings) for name in names])
    limits = np.array([table.fraction(settings.minimum[name]) if name in settings.minimum else 0.0 for name in names])
    reasons = dict[str, LeftOut]()
    unusable = np.isnan(accuracy) | (accuracy < limits) | (accuracy == 0) | (accuracy == 1)
    for row in np.flatnonzero(unusable.any(axis=1)).tolist():
        model, values = table.models[row], accuracy[row]
        gaps = [name for name, value in zip(names, values, strict=True) if np.isnan(value)]
        below = [name for name, value, limit in zip(names, values, limits, strict=True) if value < limit]
        ends = {name: value for name, value in zip(names, values, strict=True) if value in (0, 1)}
        if gaps:
            reasons[model] = LeftOut("gap", f"no accuracy on {', '.join(gaps)}")
        elif below:
            reasons[model] = LeftOut("below", f"below the minimum on {', '.join(below)}")
        elif ends:
            parts = (f"{value:.0%} on {name}" for name, value in ends.items())
            reasons[model] = LeftOut("end", f"exactly {', '.join(parts)}, of unknown size")
    return accuracy, reasons


def _finite(table: ShiftTable, name: str, settings: ShiftSettings) -> Array:
    accuracy = table.accuracy[name]
    return within_unit(accuracy, settings.sizes[name]) if name in settings.sizes else accuracy


def _by_group(
    x: Array, y: Array, names: Sequence[str], groups: Sequence[str], method: Method
) -> tuple[Comparison, ...]:
    if len(set(groups)) < 2:
        return ()
    try:
        return tuple(compare_id_sets(x, y, names, folds=groups, method=method))
    except UserError:  # without one of the groups, the other models do not determine a plane
        return ()


def _alternative(fit: LogitFit, fitted: Array, target: Array, x: Array, method: Method) -> Alternative:
    other = fit_accuracies(fitted, target, fit.names, method)
    held_out = robustness.mean_error(held_out_predictions(fitted, target, method=method), target)
    return Alternative(other, held_out, 100 * float(np.abs(other.predict(x) - fit.predict(x)).max()))


def _scores(
    table: ShiftTable,
    rows: Sequence[int],
    fit: LogitFit,
    draws: Array,
    x: Array,
    y: Array,
    ood: str,
    settings: ShiftSettings,
) -> tuple[FittedModel, ...]:
    names = (*table.id_columns[ood], ood)
    sizes = {place: settings.sizes[name] for place, name in enumerate(names) if name in settings.sizes}
    low, high = robustness.robustness_intervals(
        draws, x, y, method=fit.method, sizes=sizes, seed=settings.seed, level=settings.level
    )
    expected, rho = fit.predict(x), fit.rho(x, y)
    return tuple(
        FittedModel(
            table.models[row], table.groups[row], bool(table.in_fit[row]), tuple(x[i].tolist()),
            float(y[i]), float(expected[i]), float(rho[i]), float(low[i]), float(high[i]),
        )
        for i, row in enumerate(rows)
    )  # fmt: skip

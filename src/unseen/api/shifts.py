"""`unseen.effective_robustness`: what models have under a shift beyond what their accuracies lead to expect."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from unseen.studies.shifts.study import ShiftSettings, ShiftStudy
from unseen.studies.shifts.study import effective_robustness as fit_and_score
from unseen.studies.shifts.table import FitOn
from unseen.studies.shifts.units import Unit

if TYPE_CHECKING:
    import pandas as pd

    from unseen.metrics.robustness import Method


def effective_robustness(
    table: "pd.DataFrame",
    id: str | Sequence[str],  # noqa: A002  (what the field calls it)
    ood: str | Sequence[str],
    *,
    fit_on: FitOn = None,
    group: str | None = None,
    model: str = "model",
    unit: Unit | None = None,
    method: "Method | None" = None,
    minimum: Mapping[str, float] | None = None,
    sizes: Mapping[str, int] | None = None,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> ShiftStudy:
    """Fit accuracies out of distribution (OOD) on those in distribution (ID), and score models by what lies beyond.

    Args:
        table: one row per model, one column per test set, in percent or as fractions.
        id, ood: names of columns, each one or several.
        fit_on: the models of the fit, as an expression (`"group in {a, b}"`) or a function of the table; the others
            are only scored. By default all.
        group: column of groups, for means and for held-out groups.
        model: column of the models' names.
        unit: "percent" or "fraction"; by default it is detected.
        method: of the fit, by default that of the paper: least squares on logits.
        minimum: least accuracy on an ID test set for a model to take part, by the test set's name.
        sizes: number of images of test sets; with it, accuracies of exactly 0 or 1 can be used.
        resamples, seed, level: of the bootstrap over models, and the coverage of its intervals.

    Returns:
        A study with one fit per OOD test set, and `.to_frame()`.

    Example:
        >>> study = unseen.effective_robustness(table, id=["imagenet", "yfcc"], ood="imagenet-v2")
        >>> study.to_frame().sort_values("rho", ascending=False).head()
    """
    defaults = ShiftSettings()
    settings = ShiftSettings(method or defaults.method, minimum or {}, sizes or {}, resamples, seed, level)
    return fit_and_score(table, id, ood, fit_on=fit_on, group=group, model=model, unit=unit, settings=settings)

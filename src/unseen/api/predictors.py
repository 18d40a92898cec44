"""`unseen.predictors` and `Run.predictors`: what predicts the accuracy of held-out models on shifted test sets."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Literal

from unseen.analyses.robustness.fits import ShiftSettings
from unseen.analyses.robustness.predictor_columns import Columns, measures_of_table
from unseen.analyses.robustness.predictors import HeldOut, PredictorStudy, compare_predictors
from unseen.analyses.robustness.table import FitOn
from unseen.analyses.robustness.units import Unit
from unseen.api.shift_tables import given_table
from unseen.metrics.accuracy_scales import LOGIT, PROBIT
from unseen.metrics.robustness import Method

if TYPE_CHECKING:
    import pandas as pd


def predictors(
    table: "pd.DataFrame | str | PathLike[str]",
    id: str | Sequence[str] | Mapping[str, str | Sequence[str]],  # noqa: A002  (the field's own term)
    ood: str | Sequence[str] | None = None,
    *,
    measures: Sequence[str] = (),
    group: str | None = None,
    held_out: HeldOut | None = None,
    fit_on: FitOn = None,
    model: str = "model",
    unit: Unit | None = None,
    minimum: Mapping[str, float] | None = None,
    sizes: Mapping[str, int] | None = None,
    scale: Literal["logit", "probit"] = "logit",
) -> PredictorStudy:
    """Compare what predicts the accuracy of held-out models on OOD test sets.

    Every predictor is fitted on logits to all models but those of one group, and predicts these. All are compared on
    the same models. `unseen.Run.predictors` adds those that need predictions: severity of mistakes and agreement.

    Args:
        table, id, ood, fit_on, model, unit, minimum, sizes: as in `unseen.effective_robustness`.
        measures: further columns of the table that may predict, as they are, such as a severity of mistakes.
        group: column with groups of models, each of which is held out in turn; without it, single models are.
        held_out: "groups" or "models".
        scale: "logit" or "probit", the scale of the fit.

    Returns:
        A comparison with `.statements`, the sentences of what is resolved, and `.to_frame()`, one row per OOD test set
        and predictor: the error on held-out models, its difference from that of the first ID test set, their intervals,
        and a corrected p-value.

    Example:
        >>> import pandas as pd
        >>> table = pd.DataFrame({
        ...     "model": ["A", "B", "C", "D", "E", "F"],
        ...     "family": ["x", "x", "y", "y", "z", "z"],
        ...     "imagenet": [60.0, 65.0, 62.0, 70.0, 66.0, 72.0],
        ...     "sketch": [20.0, 24.5, 22.5, 29.0, 25.0, 31.5],
        ... })
        >>> study = unseen.predictors(table, id="imagenet", ood="sketch", group="family")
        >>> study.to_frame()[["ood", "predictor", "models", "groups", "error"]].round(2)
              ood       predictor  models  groups  error
        0  sketch        imagenet       6       3   0.40
        1  sketch  (no predictor)       6       3   4.09
    """
    rows, checked = given_table(table, id, ood, model=model, group=group, fit_on=fit_on, unit=unit)
    settings = ShiftSettings(
        method=Method(PROBIT if scale == "probit" else LOGIT), minimum=minimum or {}, sizes=sizes or {}
    )
    columns = Columns([*measures_of_table(rows, list(measures), checked)])
    return compare_predictors(checked, settings, columns, held_out=held_out)

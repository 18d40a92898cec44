"""Which predictor? What predicts the OOD accuracy of models that were held out of the fit, for every OOD test set.

Every candidate (`predictor_columns`) is fitted by least squares on the scale of the fit of effective robustness, logit
or probit, to the models outside a group, and predicts those of the group (leave-one-group-out; without groups, one
model at a time). All candidates are compared on the same models.

Errors are means of |accuracy − prediction| over held-out models. Their intervals, and those of differences from
accuracy on the first ID test set, are over groups, which are what another study would draw anew: a mean over models is
a ratio of sums over groups, whose error is that of its linearised values (Cochran 1977, §6), with G/(G − 1) and a
t-quantile with the effective number of groups, N²/Σn², minus 1 degrees of freedom. A bootstrap over few groups would
be too narrow: with three groups that agree in sign, no resample has the other sign. They are about these fits: what
another choice of the other groups would change is not in them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.fits import ShiftSettings, check_settings, usable_models
from unseen.analyses.robustness.groups import AVERAGE
from unseen.analyses.robustness.notes import group_notes, left_out_sentences
from unseen.analyses.robustness.predictor_columns import Candidate, Columns, Design, Known, candidates, usable_columns
from unseen.analyses.robustness.table import UNGROUPED, ShiftTable
from unseen.errors import UserError, setting
from unseen.metrics.comparisons import holm
from unseen.metrics.grouped_means import Means, Parts
from unseen.metrics.held_out_many import held_out_many
from unseen.metrics.paired.estimate import Estimate, p_values
from unseen.text.notebook import table_html

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
HeldOut = Literal["groups", "models"]
FEWEST = 4
"""Models that a comparison needs: three to fit a line with a residual, and one to predict."""
INSIDE = 1e-6
"""How near estimates may come to 0 and 1, where scales are infinite."""


@dataclass(frozen=True)
class PredictorScore:
    """The error of a candidate on the held-out models of an OOD test set, or on average (`AVERAGE`).

    Attributes:
        error: mean absolute error in percentage points; `scaled` is that on the scale of the fit.
        difference: its error minus that of the first ID test set; None for that one itself.
        p_holm: p-value of the difference, corrected by Holm's method: over all candidates and OOD test sets, or for
            averages, or a single OOD test set, over all pairs of candidates.
        models, groups: how many were predicted, and in how many held-out parts. OOD test sets may have different
            models: then an average has the fewest of any as `models`, and the most as `most_models`.
    """

    ood: str
    candidate: Candidate
    error: Estimate
    scaled: float
    difference: Estimate | None
    p_holm: float | None
    models: int
    most_models: int
    groups: int


@dataclass(frozen=True, eq=False)
class PredictorStudy:
    """The comparison.

    Attributes:
        scores: every candidate on every OOD test set that could be compared, and on average if there are several.
        left_out: OOD test set → why it has no comparison.
        best: p-values of the candidates against the best one on average, corrected over all pairs as in `p_holm`.
    """

    id_sets: tuple[str, ...]
    scale: str
    held_out: HeldOut
    scores: tuple[PredictorScore, ...]
    left_out: Mapping[str, str]
    notices: tuple[str, ...]
    best: Mapping[str, float]

    @cached_property
    def ood_sets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(score.ood for score in self.scores))

    def on(self, ood: str) -> list[PredictorScore]:
        """The candidates on an OOD test set, in their order."""
        return [score for score in self.scores if score.ood == ood]

    @property
    def overall(self) -> list[PredictorScore]:
        """The averages over OOD test sets; of a single one, its own."""
        return self.on(self.ood_sets[-1])

    def to_frame(self) -> "pd.DataFrame":
        """One row per OOD test set and candidate; errors, differences and their intervals in percentage points."""
        import pandas as pd

        return pd.DataFrame([_row(score) for score in self.scores])

    @property
    def statements(self) -> list[str]:
        """What is resolved, in sentences."""
        from unseen.analyses.robustness.predictor_words import statements

        return statements(self)

    def _repr_html_(self) -> str:
        return table_html(repr(self), self.to_frame().round(4))

    def __repr__(self) -> str:
        first = min(self.overall, key=lambda score: score.error.value)
        return f"PredictorStudy({len(self.overall)} predictors; {first.candidate.name} {first.error.value:.2f} points)"


def _row(score: PredictorScore) -> dict[str, object]:
    error, difference = score.error.interval(), score.difference and score.difference.interval()
    ends = (difference.value, difference.low, difference.high) if difference else (None, None, None)
    return {
        "ood": score.ood, "predictor": score.candidate.name, "models": score.models, "groups": score.groups,
        "error": error.value, "low": error.low, "high": error.high, "scaled": score.scaled,
        "difference": ends[0], "difference_low": ends[1], "difference_high": ends[2], "p_holm": score.p_holm,
    }  # fmt: skip


def compare_predictors(
    table: ShiftTable,
    settings: ShiftSettings | None = None,
    columns: Columns | None = None,
    *,
    held_out: HeldOut | None = None,
) -> PredictorStudy:
    """Compare the candidates of a table on all its OOD test sets.

    Args:
        settings: the scale of the fit, minimum accuracies and sizes of test sets; its loss is not used.
        columns: what is known of the models beside accuracies.
        held_out: groups or models at a time; by default groups if there are several.
    """
    settings = settings or ShiftSettings()
    check_settings(table, settings)
    known, told = usable_columns(columns or Columns(), table)
    told += group_notes(table)
    several = len({group for group, inside in zip(table.groups, table.in_fit, strict=True) if inside}) > 1
    if held_out == "groups" and not several:
        raise UserError("all models are of one group, so none can be held out; name a column of groups (group)")
    by: HeldOut = held_out or ("groups" if several else "models")
    if held_out is None and not several:
        given = UNGROUPED not in table.groups
        why = "All models are of one group" if given else f"No groups were given ({setting('group', 'COLUMN')})"
        told.append(f"{why}, so models are held out one at a time, with others like them left in.")
    labels = table.groups if by == "groups" else table.models
    folds = np.unique(np.array(labels), return_inverse=True)[1]
    design = _design(table, settings, known, folds)
    if not design.ood_sets:
        raise UserError(next(iter(design.left_out.values())))
    design = _determined(design, table.id_sets[0], settings, folds)
    told += left_out_sentences({ood: usable_models(table, ood, settings)[1] for ood in design.ood_sets})
    chosen = candidates(table.id_sets, known)
    predictions = [_predicted(each, design, folds) for each in chosen]
    lost = [bool(np.isnan(of[design.used]).any()) for of in predictions]
    told += [
        f"{each.name} is not compared: without one of the {by}, the other models do not determine its fit."
        for each, undetermined in zip(chosen, lost, strict=True)
        if undetermined
    ]
    kept = [(each, of) for each, of, undetermined in zip(chosen, predictions, lost, strict=True) if not undetermined]
    scores, best = _compared([each for each, _ in kept], np.stack([of for _, of in kept]), design, settings, folds)
    return PredictorStudy(table.id_sets, settings.method.scale.name, by, scores, design.left_out, tuple(told), best)


def _determined(design: Design, first: str, settings: ShiftSettings, folds: NDArray[np.intp]) -> Design:
    """The OOD test sets on which accuracy on the first ID test set, which all others are compared with, has a fit."""
    found = held_out_many(design.of(Candidate(first, (first,))), design.target, design.used, folds)
    places = np.flatnonzero(~np.isnan(np.where(design.used, found, 0.0)).any(axis=1))
    if len(places) == 0:
        raise UserError(f"without one of its parts, accuracies on {first} do not determine a fit; add other models")
    return design.among(places.tolist(), f"without one of the held-out parts, {first} does not determine a fit")


def _design(table: ShiftTable, settings: ShiftSettings, known: Columns, folds: NDArray[np.intp]) -> Design:
    """The columns of all OOD test sets with enough models; why others are left out."""
    forward = settings.method.scale.forward
    more: list[Known] = [*known.measures, *known.estimates]
    kept, left_out, rows = list[str](), dict[str, str](), list[tuple[Array, NDArray[np.bool_]]]()
    for ood in table.ood_sets:
        accuracy, reasons = usable_models(table, ood, settings)
        used = table.in_fit & np.array([model not in reasons for model in table.models])
        used &= np.array([np.isfinite(each.values[ood]) for each in more]).all(axis=0) if more else True
        why = _too_little(accuracy[used], len(np.unique(folds[used])), ood)
        if why:
            left_out[ood] = why
        else:
            kept.append(ood)
            rows.append((accuracy, used))
    if not kept:
        return Design((), {}, np.empty((0, 0)), np.empty((0, 0)), np.empty((0, 0), dtype=bool), left_out)
    masks = np.stack([used for _, used in rows])
    accuracies = np.where(masks[:, None], np.stack([accuracy.T for accuracy, _ in rows]), 0.5)
    names: dict[str, Array] = {name: forward(accuracies[:, place]) for place, name in enumerate(table.id_sets)}
    names |= {each.name: np.stack([each.values[ood] for ood in kept]) for each in known.measures}
    for each in known.estimates:
        values = np.where(masks, np.stack([each.values[ood] for ood in kept]), 0.5)
        names[each.name] = forward(np.clip(values, INSIDE, 1 - INSIDE))
    return Design(tuple(kept), names, forward(accuracies[:, -1]), accuracies[:, -1], masks, left_out)


def _too_little(accuracy: Array, folds: int, ood: str) -> str:
    """Why an OOD test set cannot be compared; empty if it can."""
    if len(accuracy) < FEWEST:
        return (
            f"{ood}: predicting held-out models needs at least {FEWEST} models with everything that is compared, and "
            f"there {'is' if len(accuracy) == 1 else 'are'} {len(accuracy)}"
        )
    if folds < 2:
        return f"{ood}: its models are all of one group, so none can be held out"
    flat = np.ptp(accuracy, axis=0) == 0
    if flat.any():
        return f"{ood}: all models have the same accuracy {'on it' if flat[-1] else 'on an ID test set'}"
    return ""


def _predicted(candidate: Candidate, design: Design, folds: NDArray[np.intp]) -> Array:
    """(T, n) predictions of held-out models on the scale of the fit."""
    columns = design.of(candidate)
    if candidate.as_it_is:
        return np.where(design.used, columns[:, :, 0], np.nan)
    return held_out_many(columns, design.target, design.used, folds)


def _compared(
    chosen: Sequence[Candidate], predictions: Array, design: Design, settings: ShiftSettings, folds: NDArray[np.intp]
) -> tuple[tuple[PredictorScore, ...], Mapping[str, float]]:
    """All scores, and the p-values against the best candidate on average.

    Args:
        predictions: (C, T, n) on the scale of the fit, NaN for models that are not used; the first is the reference.
    """
    parts = Parts.of(design.used, folds)
    errors = 100 * np.abs(settings.method.scale.back(predictions) - design.accuracy)
    scaled = parts.means(np.abs(predictions - design.target)).value
    differences = errors - errors[:1]
    pooled, pairs = parts.averages(errors), _pairs(errors, parts)
    scores = list[PredictorScore]()
    if len(design.ood_sets) > 1:
        apart = parts.means(differences)
        p = p_values(apart.value[1:], apart.error[1:], apart.df[1:])
        found = parts.means(errors), apart, scaled, holm(p) if p.size else p
        scores += _scores(chosen, *found, design.ood_sets, parts)
    of_all = parts.averages(differences), scaled.mean(axis=1, keepdims=True), pairs[1:, :1]
    name = (AVERAGE,) if len(design.ood_sets) > 1 else design.ood_sets
    scores += _scores(chosen, pooled, *of_all, name, parts)
    best = int(np.argmin(pooled.value[:, 0]))
    against = {each.name: float(p) for each, p in zip(chosen, pairs[best], strict=True) if each != chosen[best]}
    return tuple(scores), against


def _pairs(errors: Array, parts: Parts) -> Array:
    """(C, C) p-values of the differences of all candidates on average, one family for Holm's method.

    The best candidate is chosen by the same errors, so its comparisons are among all pairs.
    """
    many = len(errors)
    p = np.ones((many, many))
    for one in range(many - 1):
        apart = parts.averages(errors[one + 1 :] - errors[one])
        p[one, one + 1 :] = p_values(apart.value[:, 0], apart.error[:, 0], apart.df[:, 0])
    upper = np.triu_indices(many, 1)
    p[upper] = holm(p[upper]) if many > 1 else 1.0
    return np.minimum(p, p.T)


def _scores(
    chosen: Sequence[Candidate],
    errors: Means,
    differences: Means,
    scaled: Array,
    p_holm: Array,
    oods: Sequence[str],
    parts: Parts,
) -> Iterator[PredictorScore]:
    """The scores on some OOD test sets, or of their average; `p_holm` (C − 1, T) are of differences from the first."""
    for place, ood in enumerate(oods):
        counts = parts.counts if ood == AVERAGE else parts.counts[[place]]
        models, groups = counts.sum(axis=1).astype(int), int((counts.sum(axis=0) > 0).sum())
        for number, candidate in enumerate(chosen):
            apart = differences.estimate(number, place) if number else None
            yield PredictorScore(
                ood, candidate, errors.estimate(number, place, 0.0), float(scaled[number, place]), apart,
                float(p_holm[number - 1, place]) if number else None, int(models.min()), int(models.max()), groups,
            )  # fmt: skip

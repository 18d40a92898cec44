"""Notes for the reader of a fit: models that were left out, and fits with little evidence."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from unseen.analyses.robustness.fits import LeftOut, ShiftFit, ShiftStudy
from unseen.analyses.robustness.table import NO_GROUP, ShiftTable
from unseen.errors import names_of
from unseen.metrics.robustness import LogitFit
from unseen.text.words import counted, joined

MOST_NAMED = 4
WHY_LEFT_OUT = {
    "gap": "because of gaps in the table",
    "end": "at exactly 0% or 100%, where logits are infinite (test-set sizes keep them)",
    "below": "below the minimum ID accuracy",
}
"""Kinds of reasons, for readers."""


def notes(study: ShiftStudy) -> list[str]:
    """Sentences about OOD test sets: few models, collinear ID test sets, models that were left out; each told once."""
    told = dict[str, list[str]]()
    for fit in study.fits:
        for sentence in _notes(fit):
            told.setdefault(sentence, []).append(fit.ood)
    left_out = left_out_sentences({fit.ood: fit.left_out for fit in study.fits})
    return [*group_notes(study.table), *(f"{_named(oods)}: {each}" for each, oods in told.items()), *left_out]


def group_notes(table: ShiftTable) -> Iterator[str]:
    """A sentence if some models have an empty cell as their group, and are one group together."""
    if table.without_group:
        many = table.without_group
        yield (
            f"{counted(len(many), 'model')} with an empty cell as their group {'is' if len(many) == 1 else 'are'} of "
            f"the group '{NO_GROUP}': {names_of(many)}."
        )


def left_out_sentences(by_ood: Mapping[str, Mapping[str, LeftOut]]) -> Iterator[str]:
    """Which models are left out on which OOD test sets, and why; the same models for the same reason only once."""
    told = dict[tuple[str, tuple[str, ...]], list[str]]()
    for kind in WHY_LEFT_OUT:
        for ood, left_out in by_ood.items():
            models = tuple(model for model, reason in left_out.items() if reason.kind == kind)
            if models:
                told.setdefault((kind, models), []).append(ood)
    for (kind, models), oods in told.items():
        yield f"{_named(oods)}: {counted(len(models), 'model')} left out {WHY_LEFT_OUT[kind]}: {names_of(models)}."


def _named(oods: Sequence[str]) -> str:
    more = [f"{len(oods) - MOST_NAMED} more"] if len(oods) > MOST_NAMED else []
    return joined([*oods[:MOST_NAMED], *more])


def few_models(fit: LogitFit) -> str | None:
    """A sentence if a fit has few models for its number of coefficients, since R² is then high by chance."""
    if not fit.few_models:
        return None
    adjusted = "" if fit.adjusted_r2 is None else f" (adjusted R²: {fit.adjusted_r2:.4f})"
    return (
        f"{fit.n} models for {counted(len(fit.weights) + 1, 'coefficient')} leave "
        f"{counted(fit.degrees_of_freedom, 'degree')} of freedom; ID accuracies drawn at random would reach an R² of "
        f"{fit.chance_r2:.2f} on average, so read R² {fit.r2:.4f} with care{adjusted}."
    )


def _notes(fit: ShiftFit) -> Iterator[str]:
    few = few_models(fit.fit)
    if few:
        yield few
    if fit.collinearity.warning:
        worst = int(np.argmax(fit.collinearity.inflation))
        yield (
            f"the ID sets are nearly collinear (variance inflation {fit.collinearity.inflation[worst]:.0f} for "
            f"{fit.fit.names[worst]}, condition {fit.collinearity.condition:.0f}), so single weights are uncertain; "
            "predictions can still be good."
        )

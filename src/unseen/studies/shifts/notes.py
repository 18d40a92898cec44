"""What a reader of a fit should not miss, in sentences: who was left out, and how little some fits can tell."""

from collections.abc import Iterator

import numpy as np

from unseen.errors import names_of
from unseen.metrics.robustness import LogitFit
from unseen.studies.shifts.study import ShiftFit, ShiftStudy


def notes(study: ShiftStudy) -> list[str]:
    """Of every OOD set: few models, collinear ID sets, models left out."""
    return [f"{fit.ood}: {sentence}" for fit in study.fits for sentence in _notes(fit)]


def few_models(fit: LogitFit) -> str | None:
    """A sentence where a fit has few models for its coefficients, as R² is then high whatever the models do."""
    if not fit.few_models:
        return None
    adjusted = "" if fit.adjusted_r2 is None else f" (adjusted R²: {fit.adjusted_r2:.4f})"
    return (
        f"{fit.n} models for {_count(len(fit.weights) + 1, 'coefficient')} leave "
        f"{_count(fit.degrees_of_freedom, 'degree')} of freedom; ID accuracies drawn at random would reach an R² of "
        f"{fit.chance_r2:.2f} on average, so read R² {fit.r2:.4f} with care{adjusted}."
    )


def _notes(fit: ShiftFit) -> Iterator[str]:
    few = few_models(fit.fit)
    if few:
        yield few
    if fit.collinearity.warning:
        worst = int(np.argmax(fit.collinearity.inflation))
        yield (
            f"the ID sets nearly determine each other (variance inflation {fit.collinearity.inflation[worst]:.0f} for "
            f"{fit.fit.names[worst]}, condition {fit.collinearity.condition:.0f}), so single weights say little; "
            "predictions can still be good."
        )
    kinds = {
        "gap": "because of gaps in the table",
        "end": "at exactly 0% or 100%, where logits are infinite (test-set sizes keep them)",
        "below": "below the minimum ID accuracy",
    }
    for kind, why in kinds.items():
        models = [model for model, reason in fit.left_out.items() if reason.kind == kind]
        if models:
            yield f"{_count(len(models), 'model')} left out {why}: {names_of(models)}."


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"

"""Notes for the reader of a fit: models that were left out, and fits with little evidence."""

from collections.abc import Iterator

import numpy as np

from unseen.analyses.robustness.fits import ShiftFit, ShiftStudy
from unseen.errors import names_of
from unseen.metrics.robustness import LogitFit


def notes(study: ShiftStudy) -> list[str]:
    """Sentences about every OOD test set: few models, collinear ID test sets, models that were left out."""
    return [f"{fit.ood}: {sentence}" for fit in study.fits for sentence in _notes(fit)]


def few_models(fit: LogitFit) -> str | None:
    """A sentence if a fit has few models for its number of coefficients, since R² is then high by chance."""
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
            f"the ID sets are nearly collinear (variance inflation {fit.collinearity.inflation[worst]:.0f} for "
            f"{fit.fit.names[worst]}, condition {fit.collinearity.condition:.0f}), so single weights are uncertain; "
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

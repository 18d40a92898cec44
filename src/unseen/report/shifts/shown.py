"""Which models the page of a large fit shows: the most and the least robust, and an even choice of those between."""

from collections.abc import Sequence

import numpy as np

from unseen.studies.shifts.fitted_model import FittedModel
from unseen.studies.shifts.study import ShiftStudy


def shown_models(models: Sequence[FittedModel], most: int) -> tuple[FittedModel, ...]:
    """At most so many models, in their order: a quarter of them each from the greatest and from the least ρ."""
    if len(models) <= most:
        return tuple(models)
    by_rho = np.argsort([model.rho for model in models], kind="stable")
    ends = most // 4
    between = np.linspace(ends, len(models) - ends - 1, most - 2 * ends).round().astype(int)
    chosen = np.concatenate([by_rho[:ends], by_rho[between], by_rho[len(models) - ends :]])
    return tuple(models[place] for place in np.sort(chosen))


def shown_note(study: ShiftStudy, most: int) -> list[str]:
    """A sentence where some models are not shown; `most` for each OOD set."""
    many = max(len(fit.scores) for fit in study.fits)
    if many <= most:
        return []
    return [
        f"This page shows {most:,} of {many:,} models for each OOD test set: the {most // 4:,} of greatest and of "
        "least effective robustness and an even choice of the others. Fits and group means are of all models, and "
        "models.csv lists them all."
    ]

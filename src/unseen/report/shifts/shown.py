"""The models on the page of a large fit: the most and the least robust, and an even selection of the others."""

from collections.abc import Sequence

import numpy as np

from unseen.studies.shifts.fitted_model import FittedModel
from unseen.studies.shifts.study import ShiftStudy


def shown_models(models: Sequence[FittedModel], most: int) -> tuple[FittedModel, ...]:
    """At most `most` models, in their order: a quarter each with the highest and the lowest ρ, the rest between."""
    if len(models) <= most:
        return tuple(models)
    by_rho = np.argsort([model.rho for model in models], kind="stable")
    ends = most // 4
    between = np.linspace(ends, len(models) - ends - 1, most - 2 * ends).round().astype(int)
    chosen = np.concatenate([by_rho[:ends], by_rho[between], by_rho[len(models) - ends :]])
    return tuple(models[place] for place in np.sort(chosen))


def shown_note(study: ShiftStudy, most: int) -> list[str]:
    """A sentence if some models are not shown; `most` counts models per OOD set."""
    many = max(len(fit.scores) for fit in study.fits)
    if many <= most:
        return []
    return [
        f"This page shows {most:,} of {many:,} models for each OOD test set: the {most // 4:,} with the highest and "
        "the lowest effective robustness, and an even selection of the others. Fits and group means use all models; "
        "models.csv lists them all."
    ]

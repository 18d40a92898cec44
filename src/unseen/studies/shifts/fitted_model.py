"""A model in a fit: what it has on a shifted test set beyond what its accuracies in distribution lead to expect.

Its numbers as scores of all studies are in `unseen.studies.shifts.fit_scores`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class FittedModel:
    """A model on an OOD set; accuracies and ρ are fractions, `low` and `high` the ends of the interval of ρ."""

    model: str
    group: str
    in_fit: bool
    id_accuracy: tuple[float, ...]
    accuracy: float
    expected: float
    rho: float
    low: float
    high: float

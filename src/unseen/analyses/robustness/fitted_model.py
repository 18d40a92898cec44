"""A model in a fit: its accuracy on a shifted test set, and its effective robustness.

`unseen.analyses.robustness.fit_scores` converts these numbers to scores.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class FittedModel:
    """A model on an OOD test set; accuracies and ρ are fractions, `low` and `high` the ends of the interval of ρ."""

    model: str
    group: str
    in_fit: bool
    id_accuracy: tuple[float, ...]
    accuracy: float
    expected: float
    rho: float
    low: float
    high: float

"""What a model has on a shifted test set beyond what its accuracies in distribution lead to expect."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelScore:
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

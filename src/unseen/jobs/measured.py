"""From the values of a result to scores: what all kinds of jobs share."""

from collections.abc import Iterator, Sequence

from unseen.errors import UserError
from unseen.metrics.catalogue import METRICS
from unseen.runs.results import Result
from unseen.runs.score import Score

ROUNDING = 1e-9
KEYS = {"scaled-ece": "scaled_ece"}
"""Metric → what results call its value, where that is not its name."""


def measured(result: Result, *, probe: str, protocol: str, metrics: Sequence[str], seed: int) -> Iterator[Score]:
    """A score for each metric, if the result has a sound value of it.

    Args:
        protocol: its name.
        seed: as the score has it; 0 where nothing was drawn.
    """
    job = result.job
    for metric in metrics:
        value, facts = result.values.get(KEYS.get(metric, metric)), METRICS[metric]
        if not isinstance(value, float) or not facts.lower - ROUNDING <= value <= facts.upper + ROUNDING:
            raise UserError(f"the result {result.key}.json has no sound {metric}; delete the file and run again")
        yield Score(
            study=job["study"],
            protocol=protocol,
            backbone=job["backbone"],
            domain=job["domain"],
            probe=probe,
            shots=job.get("shots"),
            seed=seed,
            metric=metric,
            value=value,
            seconds=result.seconds,
            versions=result.versions,
            key=result.key,
        )

"""Probes of features as the jobs of a study."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from unseen.probes.probe import FeatureJob
from unseen.runs.data import RunData
from unseen.runs.means import Means
from unseen.studies.probing import FeaturePair, estimate, job_cost, run
from unseen.studies.study import Prepared

J = TypeVar("J", bound=FeatureJob)


def prepared_probes(
    data: RunData,
    jobs: Sequence[J],
    pairs: Sequence[FeaturePair],
    *,
    write_beside: Callable[[Path], None] = lambda folder: None,
    replaces: bool = False,
) -> Prepared[J]:
    """The jobs on existing features, with the functions that run them and estimate their time.

    Args:
        data: the record of the run, without its scores.
        pairs: the features.
        write_beside, replaces: as in `Prepared`.
    """

    def work(jobs: Sequence[J], results: Path, means: Means) -> Iterator[J]:
        return run(jobs, pairs, results, means)

    def seconds(jobs: Sequence[J], results: Path, means: Means) -> float:
        return estimate(jobs, pairs, results, means)

    return Prepared(data, jobs, work, seconds, write_beside, replaces=replaces, cost=job_cost(pairs))

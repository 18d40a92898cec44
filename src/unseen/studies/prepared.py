"""Probes of features as the jobs of a study."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from unseen.probes.job import Job
from unseen.runs.data import RunData
from unseen.runs.fit_progress import FitProgress
from unseen.runs.means import Means
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.probing import estimate, job_cost, run
from unseen.studies.study import Prepared


def prepared_probes(
    data: RunData,
    jobs: Sequence[Job],
    pairs: Sequence[ProbedFeatures],
    *,
    write_beside: Callable[[Path], None] = lambda folder: None,
    replaces: bool = False,
    tell: Callable[[FitProgress], None] | None = None,
) -> Prepared:
    """The jobs on existing features, with the functions that run them and estimate their time.

    Args:
        data: the record of the run, without its scores.
        pairs: the features.
        write_beside, replaces: as in `Prepared`.
        tell: as in `run`.
    """

    def work(jobs: Sequence[Job], results: Path, means: Means) -> Iterator[Job]:
        return run(jobs, pairs, results, means, tell)

    def seconds(jobs: Sequence[Job], results: Path, means: Means) -> float:
        return estimate(jobs, pairs, results, means)

    return Prepared(data, jobs, work, seconds, write_beside, replaces=replaces, cost=job_cost(pairs))

"""Jobs that need the results of others: in two waves, both of which resume and can be divided among processes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from unseen.errors import JobsError, OtherPartsError, UserError
from unseen.probes.job import Job
from unseen.runs.results import missing

Run = Callable[[Sequence[Job]], Iterator[Job]]


def with_needs(jobs: Sequence[Job], results: Path) -> list[Job]:
    """Jobs with those that they need; a job that has its result does not need results that were not kept.

    Results that are there change nothing, so that parts of a job array divide the same jobs whenever they start.
    """
    every = dict[str, Job]()
    for job in jobs:
        every |= {each.key: each for each in (*job.needs, job) if each.key not in every}
    undone = {job.key for job in missing([*every.values()], results)}
    found = dict[str, Job]()
    for job in jobs:
        lost = job.key not in undone and any(each.key in undone for each in job.needs)
        found |= {each.key: each for each in (*(() if lost else job.needs), job)}
    return [each for key, each in every.items() if key in found]


def in_waves(jobs: Sequence[Job], results: Path, run: Run) -> Iterator[Job]:
    """Run the jobs that need nothing, then those that need them; a failure does not stop the others.

    A job whose needs have failed is not run. If others have to compute its needs first, that is an error at the end.
    """
    first = [job for job in jobs if not job.needs]
    second = [job for job in jobs if job.needs]
    yield from one_after_another(
        [lambda: run(first), lambda: run(_ready(second, results))] if second else [lambda: run(first)]
    )
    waiting = [job for job in missing(second, results) if missing(job.needs, results)]
    if waiting:
        raise OtherPartsError(
            f"this part has done its share, but {waiting[0].backbone} on {waiting[0].dataset} needs jobs of other "
            "parts, which have not finished; run the same command again after that"
        )


def one_after_another(runs: Iterable[Callable[[], Iterable[Job]]]) -> Iterator[Job]:
    """The jobs of several runs as they are done; what fails is raised after all others."""
    failures, done, waiting = list[str](), 0, list[OtherPartsError]()
    for run in runs:
        try:
            for job in run():
                done += 1
                yield job
        except OtherPartsError as error:
            waiting.append(error)
        except JobsError as error:
            failures += error.failures
        except UserError as error:
            failures.append(str(error))
    if failures:
        raise JobsError(failures, done) if done else UserError("; ".join(failures))
    if waiting:
        raise waiting[0]


def _ready(jobs: Sequence[Job], results: Path) -> list[Job]:
    left = missing(jobs, results)
    return [job for job in left if not missing(job.needs, results)]

"""Execution of the jobs without a result, in this process, in several processes, on GPUs or on Ray.

A study defines how the values of jobs are computed and which jobs are best computed together. `Computing` writes these
values as result files, and an executor (`unseen.runs.executors`) decides where and when it is called.
"""

import re
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from unseen.errors import UserError
from unseen.probes.job import Job
from unseen.runs.results import missing, write_result
from unseen.text.words import joined

J = TypeVar("J")
Values = dict[str, Any]
Work = Callable[[Sequence[Job]], Iterator[tuple[Job, Values]]]
"""Computes the values of jobs and yields each when it is done. It must be picklable: at module level, or a partial."""


class Compute(Protocol[J]):
    """Computes jobs, writes their results below `folder`, and yields each job when it is done; it is picklable."""

    @property
    def folder(self) -> Path: ...
    def __call__(self, jobs: Sequence[J], /) -> Iterator[J]: ...


def even(_: object) -> float:
    """The same cost for every job."""
    return 1.0


class Executor(Protocol):
    """Where jobs run."""

    def __call__(self, groups: Sequence[Sequence[J]], compute: Compute[J], cost: Callable[[J], float]) -> Iterator[J]:
        """Pass every job to `compute` once, and yield each job when it is done.

        Args:
            groups: jobs that are cheapest when computed by one call; an executor may split them.
            cost: relative cost of a job, to distribute jobs evenly.
        """


@dataclass(frozen=True)
class OneByOne:
    """Work that computes each job separately."""

    values: Callable[[Job], Values]

    def __call__(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Values]]:
        for job in jobs:
            yield job, self.values(job)


def groups_of(jobs: Sequence[J], shared: Callable[[J], Hashable]) -> list[list[J]]:
    """The jobs in groups that share something, in the order of the first job of each."""
    groups: dict[Hashable, list[J]] = {}
    for job in jobs:
        groups.setdefault(shared(job), []).append(job)
    return list(groups.values())


def job_key(job: Job) -> str:
    """The key of a job, which it shares with no other."""
    return job.key


def execute(
    jobs: Sequence[Job],
    folder: Path,
    work: Work,
    executor: Executor,
    *,
    shared: Callable[[Job], Hashable] = job_key,
    cost: Callable[[Job], float] = even,
) -> Iterator[Job]:
    """Run the jobs that have no result in `folder`, and yield each when it is done.

    Args:
        shared: what jobs share that are best passed to `work` together.
        cost: relative cost of a job.
    """
    groups = groups_of(missing(jobs, folder), shared)
    if groups:
        yield from executor(groups, Computing(work, folder), cost)


@dataclass(frozen=True)
class Computing:
    """Computes jobs by one call, writes each result when it is available, and yields its job.

    Jobs that have a result by now, from another process that shares the folder, are skipped. The time of a job is
    measured from the end of the previous one, so the times of jobs that were computed together have the correct sum.
    """

    work: Work
    folder: Path

    def __call__(self, jobs: Sequence[Job], /) -> Iterator[Job]:
        left = missing(jobs, self.folder)
        start = time.perf_counter()
        try:
            for job, values in self.work(left) if left else ():
                now = time.perf_counter()
                write_result(self.folder, job, values, now - start)
                start = now
                yield job
        except UserError as error:
            raise _named(error, left) from None


def _named(error: UserError, jobs: Sequence[Job]) -> UserError:
    """The error with the cell that it is about, if it is one cell and the error does not say which."""
    cells = {(job.backbone, job.dataset) for job in jobs}
    names = "|".join(re.escape(name) for cell in cells for name in cell)
    if type(error) is not UserError or len(cells) > 1 or re.search(rf"(?<!\w)({names})(?!\w)", str(error)):
        return error
    [(backbone, dataset)] = cells
    probes = joined(sorted({job.probe for job in jobs}))
    return UserError(f"{probes} of {backbone} on {dataset}: {error}")


def execute_groups(
    jobs: Sequence[Job], folder: Path, work: Work, executor: Executor, shared: Callable[[Job], Hashable]
) -> Iterator[Job]:
    """Like `execute`, but no executor splits a group: for jobs that must not run at the same time."""
    groups = [tuple(group) for group in groups_of(missing(jobs, folder), shared)]
    if groups:
        compute = _Whole(Computing(work, folder), folder)
        for group in executor([[group] for group in groups], compute, len):
            yield from group


@dataclass(frozen=True)
class _Whole:
    """Computes groups of jobs."""

    compute: Computing
    folder: Path

    def __call__(self, groups: Sequence[tuple[Job, ...]], /) -> Iterator[tuple[Job, ...]]:
        for group in groups:
            for _ in self.compute(group):
                pass
            yield group

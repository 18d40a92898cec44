"""Running jobs: only those whose result is missing, here, in processes, on GPUs or on Ray, as an executor does it.

A study says how the values of jobs are computed and which jobs are best computed together; `compute` turns that into
result files, and an executor (`unseen.runs.executors`) decides where and when it is called.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from unseen.runs.results import missing, write_result

J = TypeVar("J")
Values = dict[str, Any]
Work = Callable[[Sequence[J]], Iterator[tuple[J, Values]]]
"""The values of some jobs, each passed on as it is done. At module level, or a partial, so that it can be sent."""


class Compute(Protocol[J]):
    """Computes some jobs, writes what they give below `folder`, and passes on each as it is done; it can be sent."""

    @property
    def folder(self) -> Path: ...
    def __call__(self, jobs: Sequence[J], /) -> Iterator[J]: ...


def even(_: object) -> float:
    """The cost of jobs of which nothing is known."""
    return 1.0


class Executor(Protocol):
    """Where jobs run."""

    def __call__(self, groups: Sequence[Sequence[J]], compute: Compute[J], cost: Callable[[J], float]) -> Iterator[J]:
        """Call `compute` until it was given every job once, and pass on each job as it is done.

        Args:
            groups: jobs that cost least when they are computed by one call, where that suits the executor.
            cost: of a job, to spread jobs evenly.
        """


@dataclass(frozen=True)
class OneByOne(Generic[J]):
    """Work that computes each job on its own."""

    values: Callable[[J], Values]

    def __call__(self, jobs: Sequence[J]) -> Iterator[tuple[J, Values]]:
        for job in jobs:
            yield job, self.values(job)


def alone(jobs: Sequence[J]) -> list[list[J]]:
    """Groups of one."""
    return [[job] for job in jobs]


def execute(
    jobs: Sequence[J],
    folder: Path,
    work: Work[J],
    executor: Executor,
    *,
    grouped: Callable[[Sequence[J]], Sequence[Sequence[J]]] = alone,
    cost: Callable[[J], float] = even,
) -> Iterator[J]:
    """Run the jobs that have no result in `folder` and pass on each as it is done.

    Args:
        grouped: puts jobs together that `work` had better be given at once.
        cost: of a job, compared with the others.
    """
    groups = grouped(missing(jobs, folder))
    if groups:
        yield from executor(groups, Computing(work, folder), cost)


@dataclass(frozen=True)
class Computing(Generic[J]):
    """Computes jobs by one call, writes each result as it comes, and passes on its job.

    Jobs that have a result by now, from another process that shares the folder, are passed over. A job's time is that
    since the one before it, so the times of jobs that were computed together add up to the right sum.
    """

    work: Work[J]
    folder: Path

    def __call__(self, jobs: Sequence[J], /) -> Iterator[J]:
        left = missing(jobs, self.folder)
        start = time.perf_counter()
        for job, values in self.work(left) if left else ():
            now = time.perf_counter()
            write_result(self.folder, job, values, now - start)
            start = now
            yield job


def execute_whole(
    jobs: Sequence[J],
    folder: Path,
    work: Work[J],
    executor: Executor,
    grouped: Callable[[Sequence[J]], Sequence[Sequence[J]]],
) -> Iterator[J]:
    """As `execute`, but no executor takes a group apart: for jobs that would get in each other's way."""
    groups = [tuple(group) for group in grouped(missing(jobs, folder))]
    if groups:
        compute = _Whole(Computing(work, folder), folder)
        for group in executor([[group] for group in groups], compute, len):
            yield from group


@dataclass(frozen=True)
class _Whole(Generic[J]):
    """Computes groups of jobs."""

    compute: Computing[J]
    folder: Path

    def __call__(self, groups: Sequence[tuple[J, ...]], /) -> Iterator[tuple[J, ...]]:
        for group in groups:
            for _ in self.compute(group):
                pass
            yield group

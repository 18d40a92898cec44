"""Running jobs: only those whose result is missing, here, in processes, on a GPU, or wherever an executor runs them.

A study says how the values of jobs are computed and which jobs are best computed together; `compute` turns that into
result files, and an executor (`unseen.runs.executors`) decides where and when it is called.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from unseen.runs.results import missing, write_result

J = TypeVar("J")
Values = dict[str, Any]
Work = Callable[[Sequence[J]], Iterator[tuple[J, Values]]]
"""The values of some jobs, each passed on as it is done. At module level, or a partial, so that it can be sent."""
Compute = Callable[[Sequence[J]], Iterator[J]]
"""Computes some jobs, writes their results, and passes on each job as it is done; it can be sent like `Work`."""


class Executor(Protocol):
    """Where jobs run."""

    def __call__(self, groups: Sequence[Sequence[J]], compute: Callable[[Sequence[J]], Iterator[J]]) -> Iterator[J]:
        """Call `compute` until it was given every job once, and pass on each job as it is done.

        Args:
            groups: jobs that cost least when they are computed by one call, where that suits the executor.
        """


@dataclass(frozen=True)
class Means:
    """What there is to run jobs with.

    Attributes:
        workers: processes.
        threads: of a job that runs in this process. With more than one, sums are taken in an order that depends on it.
        gpu: whether jobs run on a GPU, which one process drives, with groups of jobs computed together.
    """

    workers: int = 1
    threads: int = 1
    gpu: bool = False


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
) -> Iterator[J]:
    """Run the jobs that have no result in `folder` and pass on each as it is done.

    Args:
        grouped: puts jobs together that `work` had better be given at once.
    """
    yield from executor(grouped(missing(jobs, folder)), partial(compute, work, folder))


def compute(work: Work[J], folder: Path, jobs: Sequence[J]) -> Iterator[J]:
    """Compute jobs by one call, write each result as it comes, and pass on its job.

    Jobs that have a result by now, from another process that shares the folder, are passed over. A job's time is that
    since the one before it, so the times of jobs that were computed together add up to the right sum.
    """
    left = missing(jobs, folder)
    start = time.perf_counter()
    for job, values in work(left) if left else ():
        now = time.perf_counter()
        write_result(folder, job, values, now - start)
        start = now
        yield job

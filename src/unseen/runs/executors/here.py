"""Jobs one after another in this process."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from unseen.probes.job import Job
from unseen.runs.execute import Compute, J, OneByOne, Values, execute
from unseen.runs.means import Means
from unseen.runs.pool import one_by_one


@dataclass(frozen=True)
class Here:
    """Runs each job with a fixed number of threads."""

    threads: int = 1

    def __call__(self, groups: Sequence[Sequence[J]], compute: Compute[J], cost: Callable[[J], float]) -> Iterator[J]:
        def alone(job: J) -> list[J]:
            with limited_threads(self.threads):
                return list(compute([job]))

        yield from one_by_one((job for group in groups for job in group), alone)


@contextmanager
def limited_threads(count: int) -> Iterator[None]:
    """Limit the number of threads. With one, as in worker processes, scores are bit-identical to theirs."""
    import torch

    usual = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


def executor(means: Means) -> Here:
    return Here(means.threads)


def run_here(jobs: Sequence[Job], folder: Path, values: Callable[[Job], Values]) -> Iterator[Job]:
    """Run jobs one by one in this process regardless of UNSEEN_EXECUTOR, for work that cannot be pickled."""
    yield from execute(jobs, folder, OneByOne(values), Here())

"""Jobs in several new processes of one thread each."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from unseen.errors import UserError
from unseen.runs.execute import Compute, J, Means
from unseen.runs.executors.here import limited_threads


@dataclass(frozen=True)
class Processes:
    """Runs as many jobs at a time as there are workers, each on its own."""

    workers: int

    def __call__(self, groups: Sequence[Sequence[J]], compute: Compute[J]) -> Iterator[J]:
        yield from each(partial(_compute, compute), [job for group in groups for job in group], workers=self.workers)


def executor(means: Means) -> Processes:
    return Processes(means.workers)


def _compute(compute: Compute[J], job: J) -> None:
    for _ in compute([job]):
        pass


def each(function: Callable[[J], None], items: Sequence[J], *, workers: int) -> Iterator[J]:
    """Call a function on every item, here or in several new processes of one thread each, and pass on each item done.

    Processes of one thread share a busy machine better than threads that wait for each other.
    """
    if workers <= 1 or len(items) <= 1:
        for item in items:
            with limited_threads(1):
                function(item)
            yield item
        return
    context = get_context("spawn")  # a forked process would share PyTorch's threads in an unknown state
    with ProcessPoolExecutor(min(workers, len(items)), mp_context=context, initializer=_single_thread) as pool:
        waiting: dict[Future[None], J] = {}
        try:
            # A few items ahead of the workers, so that an interruption has little to cancel.
            for item in items:
                waiting[pool.submit(function, item)] = item
                if len(waiting) >= 2 * workers:
                    yield from _collect(waiting)
            while waiting:
                yield from _collect(waiting)
        except BrokenProcessPool:
            raise UserError(
                "a worker process was killed, perhaps because memory ran out; run the same command again to continue"
            ) from None
        except Exception:
            pool.shutdown(cancel_futures=True)  # jobs that others have under way are finished and kept
            raise
        except BaseException:
            processes = list((pool._processes or {}).values())  # shutting down forgets them
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            raise


def _collect(waiting: dict[Future[None], J]) -> Iterator[J]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        job = waiting.pop(future)
        future.result()
        yield job


def _single_thread() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"  # which PyTorch reads when it is imported
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)

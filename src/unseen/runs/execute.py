"""Running jobs: only those whose result is missing, in this process or in several, each result a small file."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from unseen.errors import UserError
from unseen.runs.job import job_key
from unseen.runs.results import missing, read_result, write_result

J = TypeVar("J")
Work = Callable[[J], dict[str, Any]]


def run_jobs(jobs: Sequence[J], folder: Path, work: Work[J], *, workers: int = 1, threads: int = 1) -> Iterator[J]:
    """Run what is missing and pass on each job as it is done.

    Args:
        work: computes the values of a job; a function at module level (or a partial of one), so that it can be sent.
        workers: 1 runs here; more run in as many new processes, each with one thread.
        threads: of jobs that run here. With more than one, sums are taken in an order that depends on how many.
    """
    yield from each(partial(_run_one, work, folder), missing(jobs, folder), workers=workers, threads=threads)


def run_together(
    jobs: Sequence[J], folder: Path, work: Callable[[Sequence[J]], Iterator[tuple[J, dict[str, Any]]]]
) -> Iterator[J]:
    """Run what is missing by one call in this process, and pass on each job as its values come.

    For a device that is at its best with many jobs at once. A job's time is that since the one before it, so the times
    of jobs that were computed together add up to the right sum.
    """
    start = time.perf_counter()
    for job, values in work(missing(jobs, folder)):
        now = time.perf_counter()
        write_result(folder, job, values, now - start)
        start = now
        yield job


def each(function: Callable[[J], None], items: Sequence[J], *, workers: int, threads: int = 1) -> Iterator[J]:
    """Call a function on every item, here or in several new processes of one thread each, and pass on each item done.

    Processes of one thread share a busy machine better than threads that wait for each other.
    """
    if workers <= 1 or len(items) <= 1:
        for item in items:
            with _threads(threads):
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
                "a worker process was killed, perhaps for want of memory; the same command goes on"
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


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """So many threads. With one, as in the processes, sums are in the same order and scores the same to the bit."""
    import torch

    usual = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


def _single_thread() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    torch.set_num_threads(1)


def _run_one(work: Work[J], folder: Path, job: J) -> None:
    key = job_key(job)
    if read_result(folder, key) is not None:  # another runner was here in the meantime
        return
    start = time.perf_counter()
    values = work(job)
    write_result(folder, job, values, time.perf_counter() - start)

"""Workers that are processes on this machine, each with its own device or without one."""

import os
import pickle
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from unseen.orphans import end_with_parent
from unseen.runs.execute import Compute
from unseen.runs.pool import Done, Event, Failed, Finished, Lost, Ready

J = TypeVar("J")
Message = tuple[str, Any]
"""A message of a worker: "ready", "finished", "done" with a job's number, or "failed" with numbers and an error."""


@dataclass(frozen=True)
class _Worker:
    process: BaseProcess
    pipe: "Connection[Any, Any]"


class ProcessTeam(Generic[J]):
    """New processes with a fixed number of threads, one per device.

    Args:
        devices: as for `environment_of`.
        together: whether all jobs of a piece are computed by one call, or each by a separate call.
    """

    most_deaths = 1
    lost = "a worker process was killed, perhaps because memory ran out; run the same command again to continue"

    def __init__(
        self, compute: Compute[J], devices: Sequence[str | None], *, together: bool = False, threads: int = 1
    ) -> None:
        self._devices, self._together, self._threads = devices, together, threads
        self._compute = pickle.dumps(compute)
        self._context = get_context("spawn")  # a forked process would share PyTorch's threads in an unknown state
        self._workers = [self._start(device) for device in devices]

    @property
    def size(self) -> int:
        return len(self._workers)

    def give(self, worker: int, jobs: Sequence[J], /) -> None:
        with suppress(OSError):  # the worker is dead, which `wait` will report
            self._workers[worker].pipe.send(list(jobs))

    def wait(self) -> Iterable[Event]:
        pipes = {worker.pipe: number for number, worker in enumerate(self._workers) if not worker.pipe.closed}
        ready = set(wait(list(pipes)))
        for pipe, number in pipes.items():
            if pipe not in ready:
                continue
            try:
                what, more = pipe.recv()
            except (EOFError, OSError):
                self._workers[number].pipe.close()
                yield Lost(number)
                continue
            if what == "ready":
                yield Ready(number)
            elif what == "finished":
                yield Finished(number)
            elif what == "done":
                yield Done(number, more)
            else:
                yield Failed(number, *more)

    def restart(self, worker: int, /) -> None:
        self._workers[worker].process.join()
        self._workers[worker] = self._start(self._devices[worker])

    def close(self, *, now: bool) -> None:
        for worker in self._workers:
            worker.pipe.close()  # a worker that waits for jobs ends when its pipe is closed
            if now:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join()

    def _start(self, device: str | None) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_work, args=(theirs, device, self._threads, self._compute, self._together)
        )
        process.start()
        theirs.close()  # so that this end of the pipe is closed when the process ends
        return _Worker(process, ours)


def environment_of(device: str | None) -> dict[str, str]:
    """Environment variables with which a process sees only one device.

    Args:
        device: `cuda:1` for the second visible GPU, `cpu` for none; None changes nothing.
    """
    if device is None:
        return {}
    if device == "cpu":
        return {"CUDA_VISIBLE_DEVICES": ""}
    number = int(device.partition(":")[2] or 0)
    visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return {"CUDA_VISIBLE_DEVICES": visible[number] if visible else str(number)}


def set_up(environment: dict[str, str], threads: int) -> None:
    """Set up a new process for jobs, if possible before it imports PyTorch."""
    os.environ |= environment | {"OMP_NUM_THREADS": str(threads)}  # read by PyTorch when it is imported
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


def computed(compute: Compute[J], jobs: Sequence[J], *, together: bool) -> Iterator[Message]:
    """Compute jobs, by one call or each separately, and yield messages about them with their numbers."""
    for batch in [list(range(len(jobs)))] if together else [[number] for number in range(len(jobs))]:
        left = set(batch)
        try:
            for job in compute([jobs[number] for number in batch]):
                number = next(number for number in left if jobs[number] == job)
                left.remove(number)
                yield "done", number
        except Exception as error:
            yield "failed", (sorted(left), sendable(error))


def sendable(error: Exception) -> Exception:
    """A picklable form of an error, with its traceback."""
    error.add_note(f"In a worker:\n{traceback.format_exc()}")
    try:
        read: Exception = pickle.loads(pickle.dumps(error))  # noqa: S301  (our own, made just now)
        return read
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}\n{traceback.format_exc()}")


def _work(pipe: "Connection[Any, Any]", device: str | None, threads: int, compute: bytes, together: bool) -> None:
    """The main loop of a process: compute jobs from the pipe until it is closed."""
    end_with_parent()
    set_up(environment_of(device), threads)
    try:
        found: Compute[Any] = pickle.loads(compute)  # noqa: S301  (sent by our own parent)
        pipe.send(("ready", None))
        while True:
            jobs = pipe.recv()
            for message in computed(found, jobs, together=together):
                pipe.send(message)
            pipe.send(("finished", None))
    except (EOFError, OSError, KeyboardInterrupt):
        return

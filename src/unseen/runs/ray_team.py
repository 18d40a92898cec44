"""Workers that are actors of a Ray cluster."""

import os
import pickle
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from unseen.errors import UserError
from unseen.runs.execute import Compute
from unseen.runs.pool import Done, Event, Failed, Finished, Lost, Ready
from unseen.runs.process_team import Message, computed, set_up

J = TypeVar("J")
SECONDS_TO_START = 300.0
"""Seconds until a worker must have started if none is working."""
SECONDS_TO_LOOK = 5.0


class Actor:
    """An actor that computes jobs on one device and loads what they need once."""

    def __init__(self, compute: bytes, folder: str, threads: int, gpu: bool, together: bool) -> None:
        self._sent, self._folder, self._together = compute, folder, together
        set_up({} if gpu else {"CUDA_VISIBLE_DEVICES": ""}, threads)  # Ray makes only its own GPU visible

    def ready(self) -> None:
        """Unpickle the function that computes jobs."""
        os.chdir(self._folder)  # paths may be relative to the folder of the command
        self._compute: Compute[Any] = pickle.loads(self._sent)  # noqa: S301  (sent by the driver)

    def run(self, jobs: bytes) -> Iterator[Message]:
        """Compute jobs: results are written to the folder of the run, and messages on their outcome are yielded."""
        yield from computed(self._compute, pickle.loads(jobs), together=self._together)  # noqa: S301  (by the driver)


@dataclass
class _Worker:
    """An actor, its pending answer, and the number of jobs it was given."""

    actor: Any
    awaited: Any
    started: bool = False
    jobs: int = 0
    since: float = field(default_factory=time.monotonic)


class RayTeam(Generic[J]):
    """A fixed number of actors.

    Args:
        gpu: whether each has its own GPU; otherwise each has `threads` CPUs.
        together: whether all jobs of a piece are computed by one call.
    """

    most_deaths = 3
    lost = "workers of the Ray cluster were lost repeatedly; check it (ray status), and run the same command again"

    def __init__(self, compute: Compute[J], size: int, *, gpu: bool, threads: int, together: bool) -> None:
        import ray
        from ray import cloudpickle

        self._ray, self._dumps = ray, cloudpickle.dumps
        self._class = ray.remote(Actor).options(
            num_cpus=threads, num_gpus=1 if gpu else 0, max_restarts=0, max_task_retries=0
        )
        self._arguments = (ray.put(self._dumps(compute)), str(Path.cwd()), threads, gpu, together)
        self._workers: dict[int, _Worker] = {number: self._start() for number in range(size)}
        self.size = size

    def give(self, worker: int, jobs: Sequence[J], /) -> None:
        found = self._workers[worker]
        found.awaited = found.actor.run.options(num_returns="streaming").remote(self._dumps(list(jobs)))
        found.jobs = len(jobs)

    def wait(self) -> Iterable[Event]:
        awaited = {worker.awaited: number for number, worker in self._workers.items() if worker.awaited is not None}
        ready, _ = self._ray.wait(list(awaited), num_returns=1, timeout=SECONDS_TO_LOOK)
        if not ready:
            self._refuse_waiting_forever()
        for answer in ready:
            yield from self._told(awaited[answer])

    def _told(self, number: int) -> Iterator[Event]:
        """The events of a worker."""
        from ray.exceptions import RayError, RayTaskError

        worker = self._workers[number]
        try:
            if not worker.started:
                self._ray.get(worker.awaited)
                worker.started, worker.awaited = True, None
                yield Ready(number)
                return
            message = self._ray.get(next(worker.awaited))
        except StopIteration:
            worker.awaited = None
            yield Finished(number)
        except RayTaskError as error:  # not an error of a job, which `computed` reports
            if not worker.started:
                raise UserError(f"a worker of the Ray cluster cannot start: {error.cause}") from None
            worker.awaited = None
            yield Failed(number, range(worker.jobs), RuntimeError(str(error)))
            yield Finished(number)
        except RayError:
            worker.awaited = None
            yield Lost(number)
        else:
            what, more = message
            yield Done(number, more) if what == "done" else Failed(number, *more)

    def restart(self, worker: int, /) -> None:
        self._ray.kill(self._workers[worker].actor)  # it may be alive but unreachable
        self._workers[worker] = self._start()

    def close(self, *, now: bool) -> None:
        for worker in self._workers.values():
            self._ray.kill(worker.actor)

    def _start(self) -> _Worker:
        actor = self._class.remote(*self._arguments)
        return _Worker(actor, actor.ready.remote())

    def _refuse_waiting_forever(self) -> None:
        at_work = any(worker.started and worker.awaited is not None for worker in self._workers.values())
        if not at_work and all(time.monotonic() - w.since > SECONDS_TO_START for w in self._workers.values()):
            raise UserError(
                f"no node of the Ray cluster has started a worker for {SECONDS_TO_START:.0f} seconds; check it (ray "
                "status), and run the same command again: finished jobs are kept"
            )

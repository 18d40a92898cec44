"""Workers that stand in for processes: work is sent to them as to those, and done in this one, at no cost."""

import pickle
from collections.abc import Sequence
from typing import Any

from unseen.runs.execute import Compute
from unseen.runs.pool import Done, Event, Failed, Finished, Ready
from unseen.runs.process_team import computed


class SentTeam:
    """As many workers as devices, each with what was sent to it."""

    most_deaths = 1
    lost = "a worker was lost"

    def __init__(
        self, compute: Compute[Any], devices: Sequence[str | None], *, together: bool = False, threads: int = 1
    ) -> None:
        self.size, self._together = len(devices), together
        self._workers = [pickle.loads(pickle.dumps(compute)) for _ in devices]
        self._events: list[Event] = [Ready(number) for number in range(self.size)]

    def give(self, worker: int, jobs: Sequence[Any], /) -> None:
        sent = pickle.loads(pickle.dumps(list(jobs)))
        for what, more in computed(self._workers[worker], sent, together=self._together):
            self._events.append(Done(worker, more) if what == "done" else Failed(worker, *more))
        self._events.append(Finished(worker))

    def wait(self) -> list[Event]:
        told, self._events = self._events, []
        return told

    def restart(self, worker: int, /) -> None:
        raise AssertionError("none is lost")

    def close(self, *, now: bool) -> None:
        pass

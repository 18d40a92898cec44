"""Jobs in several new processes with one thread each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from unseen.runs.execute import Compute, J, even
from unseen.runs.executors.here import limited_threads
from unseen.runs.means import Means
from unseen.runs.pool import run_pool, spread
from unseen.runs.process_team import ProcessTeam


@dataclass(frozen=True)
class Processes:
    """Runs as many jobs at a time as there are workers, each separately.

    Processes with one thread share a busy machine better than threads that wait for each other.
    """

    workers: int

    def __call__(self, groups: Sequence[Sequence[J]], compute: Compute[J], cost: Callable[[J], float]) -> Iterator[J]:
        pieces = spread(groups, cost, self.workers, together=False)
        yield from run_pool(pieces, ProcessTeam(compute, [None] * min(self.workers, len(pieces))))


def executor(means: Means) -> Processes:
    return Processes(means.workers)


@dataclass(frozen=True)
class _Calls(Generic[J]):
    """Calls a function on each item."""

    function: Callable[[J], None]
    folder: Path = Path()

    def __call__(self, items: Sequence[J], /) -> Iterator[J]:
        for item in items:
            self.function(item)
            yield item


def each(function: Callable[[J], None], items: Sequence[J], *, workers: int) -> Iterator[J]:
    """Call a function on every item, here or in new processes with one thread each, and yield each when done."""
    if workers > 1 and len(items) > 1:
        yield from Processes(workers)([[item] for item in items], _Calls(function), even)
        return
    for item in items:
        with limited_threads(1):
            function(item)
        yield item

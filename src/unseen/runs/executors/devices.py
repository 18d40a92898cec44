"""Groups of jobs on several devices of this machine, one process per device."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from unseen.runs.execute import Compute, J
from unseen.runs.means import Means
from unseen.runs.pool import run_pool, spread
from unseen.runs.process_team import ProcessTeam


@dataclass(frozen=True)
class Devices:
    """Distributes jobs over devices; on GPUs, the jobs of a group are computed together."""

    devices: tuple[str, ...]
    threads: int = 1

    def __call__(self, groups: Sequence[Sequence[J]], compute: Compute[J], cost: Callable[[J], float]) -> Iterator[J]:
        together = self.devices[0] != "cpu"
        pieces = spread(groups, cost, len(self.devices), together=together)
        team = ProcessTeam(compute, self.devices[: len(pieces)], together=together, threads=self.threads)
        yield from run_pool(pieces, team)


def executor(means: Means) -> Devices:
    return Devices(means.devices or ("cpu",) * means.workers, means.threads)

"""Jobs on the nodes of a Ray cluster that share the folder of the run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from unseen.device import on_gpu
from unseen.runs.execute import Compute, J
from unseen.runs.means import Means
from unseen.runs.pool import run_pool, spread
from unseen.runs.ray_cluster import checked_nodes, connect, useful_nodes
from unseen.runs.ray_team import RayTeam


@dataclass(frozen=True)
class OnRay:
    """Runs jobs in as many actors as the cluster has room for, one per GPU or per group of CPU threads.

    Jobs run on GPUs if this machine has one: the kind of device is a part of a job.
    """

    means: Means

    def __call__(self, groups: Sequence[Sequence[J]], compute: Compute[J], cost: Callable[[J], float]) -> Iterator[J]:
        gpu, threads = on_gpu(), self.means.threads
        connect(self.means.ray_address, max(self.means.workers, threads))
        nodes = checked_nodes(useful_nodes(gpu=gpu, threads=threads), compute.folder)
        actors = max(1, sum(node.gpus if gpu else node.cpus // threads for node in nodes))
        together = gpu and self.means.gpu
        pieces = spread(groups, cost, actors, together=together)
        team = RayTeam(compute, min(actors, len(pieces)), gpu=gpu, threads=threads, together=together)
        yield from run_pool(pieces, team)


def executor(means: Means) -> OnRay:
    return OnRay(means)

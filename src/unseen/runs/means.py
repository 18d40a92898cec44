"""What there is to run jobs with."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Means:
    """What there is to run jobs with.

    Attributes:
        workers: processes.
        threads: of a job that runs in this process. With more than one, sums are taken in an order that depends on it.
        gpu: whether jobs run on GPUs, each driven by one process, with groups of jobs computed together.
        devices: what each of several processes drives: `("cuda:0", "cuda:1")`; empty for one GPU or the CPU.
        executor: the name of one (`unseen.runs.executors`); empty for the one that suits the rest.
        ray_address: of the Ray cluster; empty for the one that is running, or else a local one.
    """

    workers: int = 1
    threads: int = 1
    gpu: bool = False
    devices: tuple[str, ...] = ()
    executor: str = ""
    ray_address: str = ""

    @property
    def spread(self) -> bool:
        """Whether devices or an executor were asked for, so that jobs may run elsewhere than in this process."""
        return bool(self.devices or self.executor)

    @property
    def places(self) -> int:
        """How many GPUs work at a time."""
        return max(len(self.devices), 1)


ALONE = Means()
"""One process of this machine."""

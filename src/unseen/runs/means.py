"""The hardware that jobs run on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Means:
    """The hardware that jobs run on.

    Attributes:
        workers: number of processes.
        threads: threads of a job that runs in this process. With more than one, the order of sums depends on it.
        gpu: whether jobs run on GPUs, one process per GPU, with groups of jobs computed together.
        devices: the device of each process, such as `("cuda:0", "cuda:1")`; empty for one GPU or the CPU.
        executor: name of an executor (`unseen.runs.executors`); empty to choose it from the other attributes.
        ray_address: address of the Ray cluster; empty for the running one, or else a local one.
        decoders: number of processes that decode images, 0 for the process of the command; None for `workers`.
    """

    workers: int = 1
    threads: int = 1
    gpu: bool = False
    devices: tuple[str, ...] = ()
    executor: str = ""
    ray_address: str = ""
    decoders: int | None = None

    @property
    def decoding(self) -> int:
        """Number of processes that decode images."""
        return self.workers if self.decoders is None else self.decoders

    @property
    def spread(self) -> bool:
        """Whether devices or an executor were requested, so that jobs may run outside this process."""
        return bool(self.devices or self.executor)

    @property
    def places(self) -> int:
        """Number of GPUs that work at the same time."""
        return max(len(self.devices), 1)


ALONE = Means()
"""One process on this machine."""

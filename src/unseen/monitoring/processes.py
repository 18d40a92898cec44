"""The processes of a distributed training, among which the first one keeps the scores."""

from dataclasses import dataclass
from typing import Any, Self

import torch.distributed as dist


@dataclass(frozen=True)
class Processes:
    """This process and the others of the training.

    Attributes:
        rank, size: the place of this process, and their number.
        share: whether all of them extract; then each one calls the monitor at the same steps, and gets the scores.
    """

    rank: int = 0
    size: int = 1
    share: bool = False

    @classmethod
    def now(cls, *, share: bool) -> Self:
        """As PyTorch knows them at present; alone if it knows of none."""
        if not (dist.is_available() and dist.is_initialized()):
            return cls()
        return cls(dist.get_rank(), dist.get_world_size(), share and dist.get_world_size() > 1)

    @property
    def first(self) -> bool:
        return self.rank == 0

    @property
    def works(self) -> bool:
        """Whether this process has anything to do in a check."""
        return self.first or self.share

    @property
    def part(self) -> tuple[int, int]:
        """The share of this process in the extraction."""
        return (self.rank, self.size) if self.share else (0, 1)

    def gathered(self, value: Any) -> list[Any]:
        """The values of all processes that work, in the order of their ranks."""
        if not self.share:
            return [value]
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, value)
        return found

    def from_first(self, value: Any) -> Any:
        """The value of the first process."""
        if not self.share:
            return value
        found = [value]
        dist.broadcast_object_list(found, src=0)
        return found[0]

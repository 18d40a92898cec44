"""Where a long fit stores what it has solved, so that an interrupted one resumes from there."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from unseen.probes.newton.search import Stage
    from unseen.probes.newton.walk import Solved


class FitsSoFar(Protocol):
    """The solved parts of a regularization path."""

    @property
    def solved(self) -> "Mapping[Stage, Sequence[Solved]]":
        """The parts that an earlier run has solved."""

    def add(self, stage: "Stage", stretch: "Solved", total: int) -> None:
        """Store a part that was just solved, of a path with `total` penalties."""


class NotKept:
    """Nothing was solved before, and nothing is stored."""

    solved: "Mapping[Stage, Sequence[Solved]]" = MappingProxyType({})

    def add(self, stage: "Stage", stretch: "Solved", total: int) -> None:
        pass

"""The protocols of ImageNet-CoG: for its logistic regression, and for the MLPs of its first version."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

from unseen.errors import UserError, look_up


@dataclass(frozen=True)
class Setting:
    """One probe of the same features: samples per class (None for all) and the seed of every draw."""

    shots: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class SearchProtocol:
    """A search protocol; every field can change a number.

    Attributes:
        round_size: trials evaluated together; 1 is the paper's one-at-a-time order (`sequential`).
        validation: share of each class's training samples on which trials are scored.
        starts: number of first trials spread evenly over the range of rates; 0 draws ten at random, like TPE.
    """

    name: str
    epochs: int = 100
    trials: int = 30
    round_size: int = 10
    batch: int = 1024
    momentum: float = 0.9
    rates: tuple[float, float] = (1e-1, 1e2)
    decays: tuple[float, float] = (1e-12, 1e-4)
    validation: float = 0.2
    starts: int = 0

    @property
    def sequential(self) -> Self:
        """The same with trials one at a time."""
        return replace(self, round_size=1)

    @property
    def trial_epochs(self) -> int:
        """Epochs of all trials together."""
        return self.trials * self.epochs


@dataclass(frozen=True)
class LogisticProtocol(SearchProtocol):
    """The protocol of the logistic regression."""

    name: str = "cog-v2"

    @property
    def cuts(self) -> tuple[tuple[int, int], ...]:
        """(epochs, trials): after these epochs, this many of the best trials continue. By default all do."""
        return ()

    @property
    def unpruned(self) -> "LogisticProtocol":
        """The protocol in which every trial trains to its end."""
        return self

    def for_steps(self, steps: int) -> "LogisticProtocol":
        """The protocol for trials with this many steps per epoch."""
        return self


@dataclass(frozen=True)
class PrunedProtocol(LogisticProtocol):
    """A search that stops inferior trials early: the best by validation accuracy continue, with an unchanged schedule.

    Which trials continue is decided among all of them, so all are drawn at random beforehand and train side by side.
    After a few dozen steps their order says little: if epochs are short, trials are compared later, and if they have
    only a step or two, as with few samples per class, the search is that of the whole protocol, which takes little
    time.

    Attributes:
        cut_epochs: epochs after which trials are compared, ascending; even, since a GPU takes steps in pairs.
        survivors: number of trials that continue after each of them.
        late_cut_epochs: replaces `cut_epochs` if an epoch has fewer than `many_steps`.
        least_steps: minimum number of steps per epoch for trials to be stopped at all.
    """

    name: str = "cog-v2-pruned"
    round_size: int = 30
    cut_epochs: tuple[int, ...] = (10, 30)
    survivors: tuple[int, ...] = (12, 4)
    late_cut_epochs: tuple[int, ...] = (20, 50)
    many_steps: int = 16
    least_steps: int = 3

    def __post_init__(self) -> None:
        if self.round_size < self.trials:
            raise UserError(
                f"{self.name} compares all {self.trials} trials while they train, so they cannot be searched "
                f"{self.round_size} at a time; use cog-v2 for that"
            )
        left = self.survivors
        for epochs in (self.cut_epochs, self.late_cut_epochs):
            if any(epoch < 2 or epoch % 2 for epoch in epochs) or list(epochs) != sorted(set(epochs)):
                raise UserError(f"trials are compared after even numbers of epochs, in ascending order, not {epochs}")
            if len(left) != len(epochs):
                raise UserError(f"give for each of the epochs {epochs} how many trials continue, not {left}")
        if any(trials < 1 for trials in left) or list(left) != sorted(left, reverse=True):
            raise UserError(f"after each comparison fewer trials continue, and at least one, not {left}")

    @property
    def cuts(self) -> tuple[tuple[int, int], ...]:
        pairs = zip(self.cut_epochs, self.survivors, strict=True)
        return tuple((epoch, trials) for epoch, trials in pairs if epoch < self.epochs)

    def for_steps(self, steps: int) -> LogisticProtocol:
        if steps < self.least_steps:
            return self.unpruned
        return self if steps >= self.many_steps else replace(self, cut_epochs=self.late_cut_epochs)

    @property
    def trial_epochs(self) -> int:
        epochs, running, before = 0, self.trials, 0
        for epoch, left in self.cuts:
            epochs += running * (epoch - before)
            running, before = min(running, left), epoch
        return epochs + running * (self.epochs - before)

    @property
    def unpruned(self) -> LogisticProtocol:
        usual = {each.name: getattr(self, each.name) for each in fields(LogisticProtocol)}
        return LogisticProtocol(**usual | {"name": COG_V2.name, "round_size": COG_V2.round_size})


def cuts_text(epochs: Sequence[object], survivors: Sequence[object]) -> str:
    """`12 continue after 10 epochs and 4 after 30`."""
    first, *others = zip(survivors, epochs, strict=True)
    rest = "".join(f" and {trials} after {epoch}" for trials, epoch in others)
    return f"{first[0]} continue after {first[1]} epochs{rest}"


COG_V2 = LogisticProtocol()
COG_V2_SHORT = LogisticProtocol(name="cog-v2-short", epochs=30, trials=10, round_size=5, starts=5)
"""A short form for demonstrations, with its first five trials evenly spread; its numbers are not those of the protocol.
"""
COG_V2_PRUNED = PrunedProtocol()
"""27 to 39% of the trial epochs of `cog-v2` if trials are pruned, with the same final fit."""
PROTOCOLS = {protocol.name: protocol for protocol in (COG_V2, COG_V2_PRUNED, COG_V2_SHORT)}


def protocol_named(name: str, *, sequential: bool = False) -> LogisticProtocol:
    """The protocol of that name; an unknown name is a user error."""
    found = look_up(PROTOCOLS, name, "protocol")
    return found.sequential if sequential else found


@dataclass(frozen=True)
class MlpProtocol(SearchProtocol):
    """The protocol of an MLP.

    Attributes:
        hidden: units of each hidden layer.
        relu: whether max(0, ·) follows each hidden layer; otherwise there is no activation.
    """

    name: str = "cog-v1-mlp"
    decays: tuple[float, float] = (1e-8, 1e-4)
    hidden: tuple[int, ...] = (2048, 2048)
    relu: bool = True


COG_V1_MLP = MlpProtocol()
COG_V1_MLP_LINEAR = MlpProtocol(name="cog-v1-mlp-linear", relu=False, rates=(1e-2, 1e1))
"""Without activations, MLPs diverge at lower rates, so the paper searches lower ones."""

"""The protocols of ImageNet-CoG: of its logistic regression, and of the networks of its first version."""

from dataclasses import dataclass, replace
from typing import Self

from unseen.errors import look_up


@dataclass(frozen=True)
class Setting:
    """One probe of the same features: samples of each class (None for all) and the seed of every draw."""

    shots: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class SearchProtocol:
    """What is done with features; everything here can change a number.

    Attributes:
        round_size: trials evaluated together; 1 is the paper's one-at-a-time order (`sequential`).
        validation: share of each class's training samples that trials are scored on.
        starts: how many first trials are spread evenly over the range of rates; 0 draws ten at random, as TPE does.
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


@dataclass(frozen=True)
class LogisticProtocol(SearchProtocol):
    """That of the logistic regression."""

    name: str = "cog-v2"


COG_V2 = LogisticProtocol()
COG_V2_SHORT = LogisticProtocol(name="cog-v2-short", epochs=30, trials=10, round_size=5, starts=5)
"""A short form for demonstrations, its first five trials spread evenly; its numbers are not those of the protocol."""
PROTOCOLS = {protocol.name: protocol for protocol in (COG_V2, COG_V2_SHORT)}


def protocol_named(name: str, *, sequential: bool = False) -> LogisticProtocol:
    """The protocol of that name; an unknown one is a user's error."""
    found = look_up(PROTOCOLS, name, "protocol")
    return found.sequential if sequential else found


@dataclass(frozen=True)
class MlpProtocol(SearchProtocol):
    """That of a network.

    Attributes:
        hidden: units of each hidden layer.
        relu: whether max(0, ·) follows each hidden layer; nothing does otherwise.
    """

    name: str = "cog-v1-mlp"
    decays: tuple[float, float] = (1e-8, 1e-4)
    hidden: tuple[int, ...] = (2048, 2048)
    relu: bool = True


COG_V1_MLP = MlpProtocol()
COG_V1_MLP_LINEAR = MlpProtocol(name="cog-v1-mlp-linear", relu=False, rates=(1e-2, 1e1))
"""Without activations: it diverges at lower rates, so the paper searches lower ones."""

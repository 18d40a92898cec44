"""The probe `mlp`: the MLPs with two hidden layers of ImageNet-CoG's first version.

A study trains two: with ReLU, and without activations (`mlp-linear`), which is a linear classifier with as many
weights.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.probes.by_name.logistic import listed
from unseen.probes.probe import Drawn, DrawnProbe, Numbers, ProbeData, Size
from unseen.probes.protocol import (
    COG_V1_MLP,
    COG_V1_MLP_LINEAR,
    PROTOCOLS,
    LogisticProtocol,
    MlpProtocol,
    Setting,
    protocol_named,
)
from unseen.probes.units import hit_units
from unseen.reading.keys import key

if TYPE_CHECKING:
    from unseen.probes.vectors import Vectors

SHARED = ("name", "epochs", "trials", "round_size", "batch", "momentum", "validation", "starts")
"""Fields that an MLP takes from the logistic protocol; layers and search ranges are its own."""


@dataclass(frozen=True)
class MLP(DrawnProbe):
    """An MLP with two hidden layers on unnormalised features; see `unseen.probes.mlp`.

    Its learning rate and weight decay are searched as thoroughly as the logistic protocol specifies. With few shots,
    the search uses only the shots, so that each class needs at least two.
    """

    name: ClassVar[str] = "mlp"
    title: ClassVar[str] = "an MLP with two hidden layers (ImageNet-CoG, first version)"
    citation: ClassVar[str] = "Sariyildiz et al. 2021, Concept Generalization in Visual Representation Learning"
    purpose: ClassVar[str] = "what a linear classifier misses"
    random: ClassVar[bool] = True
    extended: ClassVar[bool] = True
    keeps_units: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("top1", "top5")
    hidden: tuple[int, ...] | None = key(
        None, "units of each hidden layer; unset: 2048 and 2048", least=1, repeats=True
    )
    relu: bool = key(True, "ReLU after hidden layers; studies train both forms")
    protocol: str | LogisticProtocol | MlpProtocol = key(
        "cog-v2", "search like that of the logistic regression", choices=tuple(PROTOCOLS), hint=str
    )

    @property
    def protocol_name(self) -> str:
        return self.searched.name

    @property
    def resolved(self) -> "MLP":
        return replace(self, protocol=self.searched)

    def with_protocol(self, protocol: Any) -> "MLP":
        return replace(self, protocol=protocol_named(protocol) if isinstance(protocol, str) else protocol)

    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[Drawn]:
        from unseen.probes.mlp import probe_mlp

        protocol = self.searched
        result = probe_mlp(
            data.train_rows(copies=2),
            data.y_train,
            data.test_rows(),
            data.y_test,
            protocol=protocol,
            seed=seed,
            device=data.device,
        )
        details = {"rate": result.rate, "decay": result.decay, "trials": listed(result.trials)}
        values = ("top1", result.top1), ("top5", result.top5)
        yield variant(protocol.relu), values, details, hit_units(result.hits)

    @property
    def searched(self) -> MlpProtocol:
        """The protocol of the MLP."""
        if isinstance(self.protocol, MlpProtocol):
            return self.protocol
        given = protocol_named(self.protocol) if isinstance(self.protocol, str) else self.protocol
        shared: dict[str, Any] = {name: getattr(given.unpruned, name) for name in SHARED}
        own = COG_V1_MLP if self.relu else COG_V1_MLP_LINEAR
        return replace(own, hidden=self.hidden or own.hidden, **shared)

    def flops(self, size: Size, setting: Setting) -> float:
        """Six per weight, sample and epoch, for the trials on the larger part and the final training."""
        protocol = self.searched
        weights = sum(a * b for a, b in pairwise((size.dimension, *protocol.hidden, size.classes)))
        passes = protocol.epochs * ((1 - protocol.validation) * protocol.trials + 1)
        return 6 * weights * size.rows * passes

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        """Bytes of the 32-bit features, as much again while they are checked, and one round of MLPs with momentum."""
        protocol = self.searched
        sizes = (size.dimension, *protocol.hidden, size.classes)
        weights = sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))
        return 4 * (2 * size.rows * size.dimension + 2 * protocol.round_size * weights)

    def multiplies(self, *, gpu: bool = False) -> Numbers:
        return "tf32" if gpu else "float32"

    def planned(self, vectors: "Vectors", *, gpu: bool = False) -> "Sequence[MLP]":
        """With ReLU, and without activations; its protocol names both the search and the layers."""
        if isinstance(self.protocol, MlpProtocol):  # which says whether there are activations
            return [self]
        return [self.resolved, replace(self, relu=False).resolved]

    def arithmetic(self, *, gpu: bool = False) -> str:
        return self.multiplies(gpu=gpu)


def variant(relu: bool) -> str:
    """Name of an MLP in tables."""
    return MLP.name if relu else f"{MLP.name}-linear"


PROBE = MLP

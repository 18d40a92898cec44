"""The probe `mlp`: the perceptrons of ImageNet-CoG's first version."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.probes.by_name.logistic import resolved
from unseen.probes.probe import DrawnProbe, Pairs, ProbeData
from unseen.probes.protocol import LogisticProtocol

if TYPE_CHECKING:
    from unseen.probes.mlp import MlpProtocol

SHARED = ("name", "epochs", "trials", "round_size", "batch", "momentum", "validation", "starts")


@dataclass(frozen=True)
class MLP(DrawnProbe):
    """An MLP with two hidden layers on features as they are; see `unseen.probes.mlp`.

    Its learning rate and weight decay are searched as thoroughly as the logistic protocol says. With few shots, that
    is done within the shots, so that each class needs two at least.

    Args:
        hidden: units of each hidden layer.
        relu: whether ReLU follows each hidden layer; without it, this is a linear classifier of as many weights.
        protocol: "cog-v2", "cog-v2-short" or a `LogisticProtocol`.
    """

    name: ClassVar[str] = "mlp"
    title: ClassVar[str] = "an MLP with two hidden layers (ImageNet-CoG, first version)"
    random: ClassVar[bool] = True
    hidden: tuple[int, ...] = (2048, 2048)
    relu: bool = True
    protocol: str | LogisticProtocol = "cog-v2"

    @property
    def protocol_name(self) -> str:
        return resolved(self.protocol).name

    def with_protocol(self, protocol: Any) -> "MLP":
        return replace(self, protocol=resolved(protocol))

    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[tuple[str, Pairs, Mapping[str, Any]]]:
        from unseen.probes.mlp import probe_mlp

        arrays = (data.X_train, data.y_train, data.X_test, data.y_test)
        result = probe_mlp(*arrays, protocol=self._searched(), seed=seed, device=data.device)
        details = {
            "rate": result.rate,
            "decay": result.decay,
            "trials": result.trials,
            "finished": result.finished,
        }
        variant = self.name if self.relu else f"{self.name}-linear"
        yield variant, (("top1", result.top1), ("top5", result.top5)), details

    def _searched(self) -> "MlpProtocol":
        from unseen.probes.mlp import COG_V1_MLP, COG_V1_MLP_LINEAR

        shared: dict[str, Any] = {name: getattr(resolved(self.protocol), name) for name in SHARED}
        return replace(COG_V1_MLP if self.relu else COG_V1_MLP_LINEAR, hidden=self.hidden, **shared)


PROBE = MLP

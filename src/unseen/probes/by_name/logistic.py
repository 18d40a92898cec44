"""The probe `logistic`: the logistic regression of ImageNet-CoG."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from unseen.probes.probe import Fit, Probe, ProbeData
from unseen.probes.protocol import LogisticProtocol, Setting, protocol_named


@dataclass(frozen=True)
class Logistic(Probe):
    """A linear classifier trained by SGD, its learning rate and weight decay searched on a part of the training set.

    Features are ℓ2-normalised; see `unseen.probes.logistic`.

    Args:
        protocol: "cog-v2", "cog-v2-short" for a quick look, or a `LogisticProtocol`.
    """

    name: ClassVar[str] = "logistic"
    title: ClassVar[str] = "logistic regression by SGD with searched hyper-parameters (ImageNet-CoG)"
    random: ClassVar[bool] = True
    protocol: str | LogisticProtocol = "cog-v2"

    @property
    def protocol_name(self) -> str:
        return resolved(self.protocol).name

    def with_protocol(self, protocol: Any) -> "Logistic":
        return replace(self, protocol=resolved(protocol))

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        from unseen.probes.logistic import probe_settings

        arrays = (data.X_train, data.y_train, data.X_test, data.y_test)
        for setting, result in probe_settings(*arrays, settings, protocol=resolved(self.protocol), device=data.device):
            details = {
                "rate": result.rate,
                "decay": result.decay,
                "trials": result.trials,
                "fewest_samples": result.fewest_samples,
            }
            values = (("top1", result.top1), ("top5", result.top5))
            yield Fit(self.name, setting.shots, setting.seed, values, details)


def resolved(protocol: str | LogisticProtocol) -> LogisticProtocol:
    """The protocol itself where its name is given."""
    return protocol_named(protocol) if isinstance(protocol, str) else protocol


PROBE = Logistic

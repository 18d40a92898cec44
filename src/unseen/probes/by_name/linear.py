"""The probe `linear`: the many-shot linear probe of Ericsson et al. 2021."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from unseen.errors import UserError, did_you_mean
from unseen.probes.probe import DrawnProbe, Pairs, ProbeData

if TYPE_CHECKING:
    from unseen.probes.many_shot import ManyShotProtocol

VALIDATION = 0.2
"""Share of each class's training samples that penalties are scored on, as where a data set has no validation split."""


@dataclass(frozen=True)
class Linear(DrawnProbe):
    """Logistic regression to its optimum, with the ℓ2 penalty chosen on a fifth of the training samples, then refitted.

    Features are taken as they are; see `unseen.probes.many_shot`. Seeds draw the validation samples.

    Args:
        metric: "top1", or "mean-per-class" for accuracy averaged over classes.
        protocol: "ericsson-2021", "ericsson-2021-exact", or a `ManyShotProtocol`.
    """

    name: ClassVar[str] = "linear"
    title: ClassVar[str] = "logistic regression to its optimum, its penalty chosen on validation data (Ericsson et al.)"
    random: ClassVar[bool] = True
    metric: Literal["top1", "mean-per-class"] = "top1"
    protocol: "str | ManyShotProtocol" = "ericsson-2021"

    @property
    def protocol_name(self) -> str:
        return _resolved(self.protocol).name

    def with_protocol(self, protocol: Any) -> "Linear":
        return replace(self, protocol=_resolved(protocol))

    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[tuple[str, Pairs, Mapping[str, Any]]]:
        from unseen.probes.many_shot import Labels, many_shot
        from unseen.probes.sampling import split_validation, stream

        kept, held = split_validation(data.y_train, VALIDATION, stream(seed, 0))
        if len(held) == 0:
            raise UserError("every class has a single training sample: nothing is left to choose the penalty on")
        X_train, y_train, X_test, y_test = data.on_device()
        parts = [
            (X_train[kept.to(data.device)], Labels(y_train[kept.to(data.device)])),
            (X_train[held.to(data.device)], Labels(y_train[held.to(data.device)])),
            (X_test, Labels(y_test)),
        ]
        result = many_shot(parts, self.metric, _resolved(self.protocol))
        values: list[tuple[str, float]] = [(self.metric, result.score)]
        if result.calibration is not None:
            values.append(("ece", result.calibration.error))
        details = {
            "penalty": result.penalty,
            "edge": result.edge,
            "validation": result.validation,
            "converged": result.refit_converged,
        }
        yield self.name, values, details


def _resolved(protocol: "str | ManyShotProtocol") -> "ManyShotProtocol":
    from unseen.probes.many_shot import PROTOCOLS

    if not isinstance(protocol, str):
        return protocol
    if protocol not in PROTOCOLS:
        hint = did_you_mean(protocol, PROTOCOLS) or f"; there are {', '.join(PROTOCOLS)}"
        raise UserError(f"no protocol '{protocol}' of the probe linear{hint}")
    return PROTOCOLS[protocol]


PROBE = Linear

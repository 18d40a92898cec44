"""The probe `pca`: how many dimensions the logistic regression needs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from unseen.errors import UserError
from unseen.probes.by_name.logistic import Logistic, resolved
from unseen.probes.probe import Fit, Probe, ProbeData
from unseen.probes.protocol import LogisticProtocol, Setting

DIMENSIONS = (32, 64, 128, 256, 512, 1024)
"""The numbers of components in ImageNet-CoG's first version."""


@dataclass(frozen=True)
class PCA(Probe):
    """The logistic probe on the first principal components of ℓ2-normalised training features.

    Args:
        dimensions: numbers of components; by default those of the paper that are fewer than the features have.
        protocol: of the logistic probe.
    """

    name: ClassVar[str] = "pca"
    title: ClassVar[str] = "logistic regression on the first principal components (ImageNet-CoG, first version)"
    random: ClassVar[bool] = True
    dimensions: int | tuple[int, ...] | None = None
    protocol: str | LogisticProtocol = "cog-v2"

    @property
    def protocol_name(self) -> str:
        return resolved(self.protocol).name

    def with_protocol(self, protocol: Any) -> "PCA":
        return replace(self, protocol=resolved(protocol))

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        from unseen.metrics.geometry import unit_rows
        from unseen.probes.pca import pca

        X_train, _, X_test, _ = data.on_device()
        numbers = self._numbers(*X_train.shape)
        train, test = unit_rows(X_train), unit_rows(X_test)
        components = pca(train, max(numbers))
        for number in numbers:
            sides = [components.transform(X, number).cpu() for X in (train, test)]
            variance = float(components.ratios[:number].sum())
            projected = replace(data, X_train=sides[0], X_test=sides[1])
            for fit in Logistic(self.protocol).fit(projected, settings):
                details = {**fit.details, "dimensions": number, "variance": variance}
                yield replace(fit, variant=f"{self.name}-{number}", details=details)

    def variants(self, data: ProbeData) -> int:
        return len(self._numbers(*data.X_train.shape))

    def _numbers(self, rows: int, dimension: int) -> tuple[int, ...]:
        if self.dimensions is not None:
            return (self.dimensions,) if isinstance(self.dimensions, int) else tuple(self.dimensions)
        numbers = tuple(number for number in DIMENSIONS if number < dimension and number <= rows)
        if not numbers:
            raise UserError(
                f"features of {dimension} dimensions: say how many components, unseen.probes.PCA(dimensions=2)"
            )
        return numbers


PROBE = PCA

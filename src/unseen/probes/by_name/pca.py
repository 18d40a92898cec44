"""The probe `pca`: how many dimensions the logistic regression needs.

ImageNet-CoG's first version, supplementary C.2. The components are those of the ℓ2-normalised training features.
Training and test features are normalised, projected on the first few components (after subtracting the training mean),
and then probed by the same regression as whole features, which normalises each projected row once more.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.errors import UserError
from unseen.features.features import Rows
from unseen.probes.by_name.logistic import Logistic, resolved, usual_products
from unseen.probes.job import Fit
from unseen.probes.probe import Probe, ProbeData, Size
from unseen.probes.protocol import PROTOCOLS, LogisticProtocol, Setting
from unseen.reading.keys import key

if TYPE_CHECKING:
    from torch import Tensor

    from unseen.probes import pca as components
    from unseen.probes.vectors import Vectors

DIMENSIONS = (32, 64, 128, 256, 512, 1024)
"""The numbers of components in ImageNet-CoG's first version."""


@dataclass(frozen=True)
class PCA(Probe):
    """The logistic probe on the first principal components of ℓ2-normalised training features."""

    name: ClassVar[str] = "pca"
    title: ClassVar[str] = "logistic regression on the first principal components (ImageNet-CoG, first version)"
    citation: ClassVar[str] = "Sariyildiz et al. 2021, Concept Generalization in Visual Representation Learning"
    purpose: ClassVar[str] = "how many dimensions the classes need"
    random: ClassVar[bool] = True
    extended: ClassVar[bool] = True
    keeps_units: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = Logistic.metrics
    dimensions: int | tuple[int, ...] | None = key(None, "numbers of components; unset: those of the paper", least=1)
    protocol: str | LogisticProtocol = key(
        "cog-v2", "protocol of the logistic regression", choices=tuple(PROTOCOLS), hint=str
    )
    products: str | None = key(None, "number type of products; unset: 16 bits on a GPU", choices=("float32", "float16"))

    @property
    def protocol_name(self) -> str:
        return resolved(self.protocol).name

    @property
    def resolved(self) -> "PCA":
        return self.with_protocol(self.protocol)

    def usual(self, *, gpu: bool | None = None) -> Mapping[str, Any]:
        return {} if gpu is None else {"products": usual_products(gpu)}

    def with_protocol(self, protocol: Any) -> "PCA":
        return replace(self, protocol=resolved(protocol))

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        numbers = self._numbers(*data.X_train.shape)
        components = _components(data)
        for number in numbers:
            sides = [_projected(X, components, number, data.device) for X in (data.X_train, data.X_test)]
            variance = float(components.ratios[:number].sum())
            projected = replace(data, X_train=sides[0], X_test=sides[1])
            for fit in Logistic(self.protocol, self.products).fit(projected, settings):
                details = {**fit.details, "dimensions": number, "variance": variance}
                yield replace(fit, variant=f"{self.name}-{number}", details=details)

    def variants(self, data: ProbeData) -> int:
        return len(self._numbers(*data.X_train.shape))

    def flops(self, size: Size, setting: Setting) -> float:
        """Flops of the regressions on these numbers of dimensions, and of the projections; the fit of the components is
        shared.
        """
        logistic = Logistic(self.protocol)
        return sum(
            logistic.flops(replace(size, shape=(number,)), setting) + 2 * size.rows * size.dimension * number
            for number in self._numbers(size.rows, size.dimension)
        )

    @property
    def regression(self) -> LogisticProtocol:
        return resolved(self.protocol)

    def planned(self, vectors: "Vectors", *, gpu: bool = False) -> "Sequence[PCA]":
        """One probe for each number of components."""
        numbers = self.dimensions or usual_dimensions(vectors.size(self).rows, vectors.dimension)
        probe = replace(self.resolved, products=self.products or usual_products(gpu))
        return [replace(probe, dimensions=number) for number in ([numbers] if isinstance(numbers, int) else numbers)]

    @property
    def described(self) -> dict[str, Any]:
        return super().described | {"logistic_revision": Logistic.revision}

    def _numbers(self, rows: int, dimension: int) -> tuple[int, ...]:
        if self.dimensions is not None:
            return (self.dimensions,) if isinstance(self.dimensions, int) else tuple(self.dimensions)
        numbers = usual_dimensions(rows, dimension)
        if not numbers:
            raise UserError(
                f"features of {dimension} dimensions: give the number of components, unseen.probes.PCA(dimensions=2)"
            )
        return numbers


def usual_dimensions(rows: int, dimension: int) -> tuple[int, ...]:
    """The paper's numbers of components that are below the dimension of the features and the number of samples."""
    return tuple(number for number in DIMENSIONS if number < dimension and number <= rows)


def _components(data: ProbeData) -> "components.PCA":
    """All principal components of the training features; probes of the same data share them."""
    from unseen.probes.pca import pca

    if PCA.name not in data.shared:
        data.shared[PCA.name] = pca(data.train_rows(unit=True))
    fitted: components.PCA = data.shared[PCA.name]
    return fitted


def _projected(X: "Tensor | Rows", components: "components.PCA", dimensions: int, device: str) -> "Tensor":
    """(n, dimensions) coordinates of normalised rows, on the host; rows on disk are read in blocks."""
    import torch

    from unseen.metrics.geometry import unit_rows
    from unseen.probes.rows import blocks

    parts = (X.to(device),) if isinstance(X, torch.Tensor) else blocks(X, torch.device(device))
    return torch.cat([components.transform(unit_rows(rows), dimensions).cpu() for rows in parts])


PROBE = PCA

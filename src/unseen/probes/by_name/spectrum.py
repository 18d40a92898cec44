"""The probe `spectrum`: RankMe, α-ReQ, participation ratio and TwoNN dimension of features; labels are not used."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from unseen.data.core.dataset import Target
from unseen.data.core.rows import ALL
from unseen.errors import UserError
from unseen.probes.job import Fit
from unseen.probes.probe import Probe, ProbeData, Size, rows_on
from unseen.probes.protocol import Setting
from unseen.reading.keys import key

if TYPE_CHECKING:
    from torch import Tensor

    from unseen.features.features import Rows
    from unseen.probes.vectors import Vectors

IMAGES = 5_000
LEAST = 3
"""The second neighbour of a sample needs two others."""
STREAM = 5
"""The stream of random numbers (`unseen.probes.sampling.stream`) that draws samples."""
FLOAT64 = 2.0
"""Duration of products in 64 bits, relative to those in 32 bits."""
EIGENVALUES = 9.0
"""Flops of all eigenvalues of a d × d matrix, divided by d³; they run slower than products."""


@dataclass(frozen=True)
class Spectrum(Probe):
    """Measures of `unseen.metrics.spectrum` and the dimension of `unseen.metrics.intrinsic_dimension`.

    Nothing is trained. Seeds draw the images if there are more than `images`, and all images are measured once. Values
    have no intervals: resampling images with repetition would change the rank and put samples at distance 0. `details`
    has the number of images behind the values, and what was left out.
    """

    name: ClassVar[str] = "spectrum"
    title: ClassVar[str] = "RankMe, α-ReQ, participation ratio and TwoNN dimension of features, without labels"
    citation: ClassVar[str] = (
        "Garrido et al. 2023, RankMe; Agrawal et al. 2022, α-ReQ; Facco et al. 2017, Estimating the Intrinsic Dimension"
    )
    purpose: ClassVar[str] = "a diagnosis without labels: rank and dimension"
    targets: ClassVar[tuple[Target, ...]] = ("class", "classes")
    random: ClassVar[bool] = True
    split: ClassVar[bool] = False
    metrics: ClassVar[tuple[str, ...]] = ("rankme", "alpha-req", "participation-ratio", "two-nn-dimension")
    features: Literal["train", "test"] = key("train", "images that are measured; without splits, all")
    images: int = key(IMAGES, "largest number of images; of more, some are drawn", least=LEAST)

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        from unseen.metrics.intrinsic_dimension import two_nn
        from unseen.metrics.spectrum import alpha_req, eigenvalues, participation_ratio, rankme
        from unseen.probes.arrays import checked_features

        if any(setting.shots is not None for setting in settings):
            raise UserError("spectrum uses no labels, so it has no shots; leave out shots")
        part = "test" if self.features == "test" and len(data.X_test) else "train"
        rows = data.X_test if part == "test" else data.X_train
        if len(rows) < LEAST:
            raise UserError(f"spectrum needs at least {LEAST} images, and there are {len(rows)}")
        for setting in settings:
            X = checked_features(_drawn(rows, self.images, setting.seed, data.device), part)
            spectrum, neighbours = eigenvalues(X, centred=True), two_nn(X)
            exponent = alpha_req(spectrum, len(X))
            values: dict[str, float | None] = {
                "rankme": rankme(eigenvalues(X, centred=False)),
                "alpha-req": exponent.value if exponent else None,
                "participation-ratio": participation_ratio(spectrum),
                "two-nn-dimension": neighbours.dimension,
            }
            details: dict[str, Any] = {
                "samples": len(X), "of": len(rows), "features": part, "dimensions": X.shape[1],
                "duplicates": neighbours.duplicates,
                "alpha_indices": [exponent.first, exponent.last] if exponent else [],
                "left_out": [name for name, value in values.items() if value is None],
            }  # fmt: skip
            known = [(name, value) for name, value in values.items() if value is not None]
            yield Fit(self.name, setting.shots, setting.seed, known, details)

    def telling_seeds(self, vectors: "Vectors", seeds: Sequence[int]) -> Sequence[int]:
        """All if images are drawn, else the first."""
        return seeds if _rows(vectors, self.features) > self.images else seeds[:1]

    def takes_shots(self, shots: int | None) -> bool:
        """Labels, and so shots, play no part."""
        return shots is None

    def samples(self, data: ProbeData, shots: int | None) -> None:
        """It is trained on nothing."""

    def measured(self, size: Size) -> int:
        """Number of images that are measured."""
        rows = size.test_rows if self.features == "test" and size.test_rows else size.rows
        return min(self.images, rows)

    def data_notices(self, vectors: "Vectors", named: str) -> Iterator[tuple[str, dict[str, Any]]]:
        if (images := min(self.images, _rows(vectors, self.features))) <= vectors.dimension:
            yield "few-for-spectrum", {"domain": named, "on": named and f" on {named}", "images": images}

    def remarks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "label-free", {}

    def flops(self, size: Size, setting: Setting) -> float:
        """Two Gram matrices with their eigenvalues, and the distances of all pairs."""
        n, d = self.measured(size), size.dimension
        return 4.0 * n * d * min(n, d) + 2 * EIGENVALUES * min(n, d) ** 3 + 2.0 * n * n * d

    def seconds(self, size: Size, setting: Setting, rate: float, *, gpu: bool = False) -> float:
        return FLOAT64 * super().seconds(size, setting, rate, gpu=gpu)

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        """The samples a few times in float64, the Gram matrix, and a block of distances."""
        n, d = self.measured(size), size.dimension
        return 8 * (4 * n * d + 3 * min(n, d) ** 2 + 2 * 1024 * n)


def _rows(vectors: "Vectors", features: str) -> int:
    """Number of images to draw from; validation images are among those for training."""
    rows = vectors.rows.get(ALL) or vectors.rows.get(features, 0)
    return rows + (vectors.rows.get("val", 0) if features == "train" else 0)


def _drawn(X: "Tensor | Rows", count: int, seed: int, device: str) -> "Tensor":
    """At most `count` of the rows on a device, in their order; only these are in memory at a time, but for a block."""
    import torch

    from unseen.probes.rows import blocks
    from unseen.probes.sampling import stream

    if len(X) <= count:
        return rows_on(X, device)
    chosen = torch.randperm(len(X), generator=stream(seed, STREAM))[:count].sort().values
    if isinstance(X, torch.Tensor):
        return X[chosen.to(X.device)].to(device)
    found, start = [], 0
    for block in blocks(X, torch.device(device)):
        inside = chosen[(chosen >= start) & (chosen < start + len(block))] - start
        found.append(block[inside.to(block.device)])
        start += len(block)
    return torch.cat(found)


PROBE = Spectrum

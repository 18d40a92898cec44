"""The probe `kmeans`: clusters compared with classes.

ImageNet-CoG's first version, section 3.4: k-means on the ℓ2-normalised training features from several starts; the
clustering of least inertia is kept, and test samples are assigned to its nearest centres and compared with their
concepts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.probes.probe import Drawn, DrawnProbe, Numbers, ProbeData, Size
from unseen.probes.protocol import Setting
from unseen.reading.keys import key

if TYPE_CHECKING:
    from unseen.probes.vectors import Vectors

ITERATIONS = 60
"""Typical number of iterations of a clustering, for time estimates."""


@dataclass(frozen=True)
class KMeans(DrawnProbe):
    """k-means on ℓ2-normalised training features; test samples are assigned to centres and compared with classes.

    As in ImageNet-CoG's first version: as many clusters as classes, and the start of least inertia among several.
    """

    name: ClassVar[str] = "kmeans"
    title: ClassVar[str] = "k-means clusters compared with classes (ImageNet-CoG, first version)"
    citation: ClassVar[str] = "Sariyildiz et al. 2021, Concept Generalization in Visual Representation Learning"
    purpose: ClassVar[str] = "which classes appear without any label"
    random: ClassVar[bool] = True
    once: ClassVar[bool] = True
    extended: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("purity", "ami", "nmi", "ari")
    starts: int = key(3, "number of starts; that of least inertia is kept", least=1)
    clusters: int | None = key(None, "number of clusters; unset: one per class", least=1)
    half: bool | None = key(None, "search with 16-bit products first; unset: on a GPU")

    def usual(self, *, gpu: bool | None = None) -> Mapping[str, Any]:
        return {} if gpu is None else {"half": gpu}

    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[Drawn]:
        from unseen.metrics.clustering import clustering_scores
        from unseen.probes.kmeans import assign, kmeans

        seeds = range(seed * self.starts, (seed + 1) * self.starts)
        X_train, X_test = data.train_rows(unit=True, copies=3), data.test_rows(unit=True)
        result = kmeans(X_train, self.clusters or data.classes, seeds=seeds, half=self.half)
        scores = clustering_scores(data.y_test.cpu(), assign(X_test, result.centres).cpu())
        values = tuple((name, float(value)) for name, value in asdict(scores).items())
        details = {
            "inertias": list(result.inertias),
            "iterations": result.iterations,
            "converged": result.converged,
        }
        yield self.name, values, details

    def flops(self, size: Size, setting: Setting) -> float:
        """Two per sample, dimension, cluster and iteration, for all starts."""
        return 2.0 * size.rows * size.dimension * (self.clusters or size.classes) * ITERATIONS * self.starts

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        """Bytes of the 32-bit features, normalised and then centred, and of k-means' temporary arrays."""
        return 4 * 3 * size.rows * size.dimension

    def multiplies(self, *, gpu: bool = False) -> Numbers:
        return "float16" if gpu else "float32"

    def planned(self, vectors: "Vectors", *, gpu: bool = False) -> "Sequence[KMeans]":
        return (self if self.half is not None else replace(self, half=gpu),)


PROBE = KMeans

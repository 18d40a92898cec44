"""The probe `kmeans`: clusters compared with classes."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from unseen.probes.probe import DrawnProbe, Pairs, ProbeData


@dataclass(frozen=True)
class KMeans(DrawnProbe):
    """k-means on ℓ2-normalised training features; test samples go to the nearest centres and are compared with classes.

    As in ImageNet-CoG's first version: as many clusters as classes, and of several starts the one of least inertia.

    Args:
        starts: how many.
        clusters: how many; by default one per class.
    """

    name: ClassVar[str] = "kmeans"
    title: ClassVar[str] = "k-means clusters compared with classes (ImageNet-CoG, first version)"
    random: ClassVar[bool] = True
    starts: int = 3
    clusters: int | None = None

    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[tuple[str, Pairs, Mapping[str, Any]]]:
        from unseen.metrics.clustering import clustering_scores
        from unseen.metrics.geometry import unit_rows
        from unseen.probes.kmeans import assign, kmeans

        X_train, _, X_test, y_test = data.on_device()
        seeds = range(seed * self.starts, (seed + 1) * self.starts)
        result = kmeans(unit_rows(X_train), self.clusters or data.classes, seeds=seeds)
        scores = clustering_scores(y_test.cpu(), assign(unit_rows(X_test), result.centres).cpu())
        values = tuple((name, float(value)) for name, value in asdict(scores).items())
        details = {"inertia": result.inertia, "iterations": result.iterations, "converged": result.converged}
        yield self.name, values, details


PROBE = KMeans

"""The probe `centroids`: few-shot episodes as in Ericsson et al. 2021.

Appendix A.3: 600 episodes of 5 classes with 15 queries each, from the images of all splits together, classified by the
nearest centroid.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.errors import UserError
from unseen.features.by_hash import align_splits
from unseen.features.features import Features
from unseen.probes.job import Fit, Job, read_flat
from unseen.probes.probe import Probe, ProbeData, Size
from unseen.probes.protocol import Setting
from unseen.probes.samples import ClassCounts, SamplesPerClass, Shortage

if TYPE_CHECKING:
    import torch

WAYS, QUERIES, EPISODES = 5, 15, 600
READING = 30.0
"""Cost of reading a row in units of products with it, for time estimates."""


@dataclass(frozen=True)
class Centroids(Probe):
    """Few-shot classification by the nearest centroid over random episodes; see `unseen.probes.centroids`.

    Episodes are drawn from training and test samples together, as in the paper; one seed draws all of them.

    Args:
        ways: classes per episode.
        queries: queries per class.
        normalise: whether to ℓ2-normalise features first.
    """

    name: ClassVar[str] = "centroids"
    title: ClassVar[str] = "few-shot episodes with the nearest centroid (Ericsson et al.)"
    random: ClassVar[bool] = True
    default_shots: ClassVar[tuple[int | None, ...]] = (5,)
    commands: ClassVar[tuple[str, ...]] = ("unseen tasks",)
    ways: int = WAYS
    queries: int = QUERIES
    episodes: int = EPISODES
    normalise: bool = False

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        import torch

        from unseen.probes.centroids import centroids

        if any(setting.shots is None for setting in settings):
            raise UserError("episodes need a number of shots, for instance shots=5")
        X_train, y_train, X_test, y_test = data.on_device()
        X, y = torch.cat([X_train, X_test]), torch.cat([y_train, y_test])
        counts = ClassCounts.of_labels(data.y_train, data.y_test, data.classes)
        for setting in settings:
            result = centroids(
                X,
                y,
                shots=setting.shots or 1,
                ways=self.ways,
                queries=self.queries,
                episodes=self.episodes,
                seed=setting.seed,
                normalise=self.normalise,
            )
            details = {
                "interval": result.interval,
                "ways": self.ways,
                "episodes": self.episodes,
                "classes_drawn": self._numbers(counts, setting.shots or 1)["enough"],
            }
            yield Fit(self.name, setting.shots, setting.seed, (("top1", result.accuracy),), details, result.interval)

    def samples(self, data: ProbeData, shots: int | None) -> SamplesPerClass | None:
        """Exactly as many as shots: classes that have fewer are not drawn."""
        return None if shots is None else SamplesPerClass.same(shots)

    def total_shortage(self, counts: ClassCounts, shots: int | None) -> Shortage | None:
        """Fewer classes than an episode has have enough samples for shots and queries."""
        numbers = self._numbers(counts, shots or 1)
        if shots is None or numbers["enough"] >= self.ways:
            return None
        if numbers["classes"] < self.ways:
            advice = f"use data of at least {self.ways} classes"
        elif self._numbers(counts, 1)["enough"] < self.ways:
            advice = "use data with more samples per class"
        else:
            advice = "use fewer shots"
        return Shortage("skipped-episodes", (("ways", self.ways), *numbers.items()), advice)

    def partial_shortage(self, counts: ClassCounts, shots: int | None) -> Shortage | None:
        """Some classes have too few samples, and are not drawn."""
        numbers = self._numbers(counts, shots or 1)
        some = shots is not None and self.ways <= numbers["enough"] < numbers["classes"]
        return Shortage("classes-not-drawn", tuple(numbers.items())) if some else None

    def _numbers(self, counts: ClassCounts, shots: int) -> dict[str, int]:
        """Samples that a class needs, and numbers of classes: of those that have as many, and of all."""
        together, needed = counts.together, shots + self.queries
        return {"needed": needed, "enough": sum(count >= needed for count in together), "classes": len(together)}

    def flops(self, size: Size, setting: Setting) -> float:
        """Distances of queries to centroids, and reading all rows."""
        distances = 2.0 * self.episodes * self.ways**2 * self.queries * size.dimension
        return distances + READING * (size.rows + size.test_rows) * size.dimension

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        return 4 * 2 * (size.rows + size.test_rows) * size.dimension


@dataclass(frozen=True)
class FewShotJob(Job):
    """Everything that determines the accuracy over episodes on a data set of the task study.

    Attributes:
        protocol: name of the study's protocol.
        features: content hashes of the features of all splits, in order.
    """

    study: str
    protocol: str
    backbone: str
    domain: str
    features: tuple[str, ...]
    shots: int
    ways: int = WAYS
    queries: int = QUERIES
    episodes: int = EPISODES
    seed: int = 0
    revision: int = Centroids.revision

    def run(self, parts: Sequence[Features], device: "torch.device", _: object) -> dict[str, Any]:
        """The measured values on the images of all splits."""
        import numpy as np
        import torch

        from unseen.probes.centroids import centroids
        from unseen.probes.rows import all_on_device

        aligned = align_splits(parts, f"{self.domain} by {self.backbone}")
        result = centroids(
            all_on_device([part.X for part in aligned], device, copies=2),
            torch.from_numpy(np.concatenate([part.y for part in aligned])),
            shots=self.shots,
            ways=self.ways,
            queries=self.queries,
            episodes=self.episodes,
            seed=self.seed,
        )
        return {"top1": result.accuracy, "interval": result.interval}

    def flops(self, rows: Mapping[str, int], dimension: int, classes: int) -> float:
        """As for the probe, on the rows of all splits."""
        probe = Centroids(self.ways, self.queries, self.episodes)
        return probe.flops(Size(sum(rows.values()), 0, classes, (dimension,)), Setting(self.shots, self.seed))

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        fit = read_flat(Centroids.name, Centroids.metrics, job, values)
        yield replace(fit, interval=values["interval"], samples=SamplesPerClass.same(job["shots"]))


PROBE = Centroids

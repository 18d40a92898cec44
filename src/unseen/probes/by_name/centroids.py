"""The probe `centroids`: few-shot episodes as in Ericsson et al. 2021.

Appendix A.3: 600 episodes of 5 classes with 15 queries each, from the images of all splits together, classified by the
nearest centroid.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from unseen.errors import UserError
from unseen.probes.by_name.linear import OTHER_WORK, TIMED
from unseen.probes.job import Fit
from unseen.probes.probe import Probe, ProbeData, PublishedOn, Size
from unseen.probes.protocol import Setting
from unseen.probes.samples import ClassCounts, SamplesPerClass, Shortage
from unseen.probes.units import Units
from unseen.reading.keys import key

if TYPE_CHECKING:
    from torch import Tensor

WAYS, QUERIES, EPISODES = 5, 15, 600
READING = 30.0
"""Cost of reading a row in units of products with it, for time estimates."""


@dataclass(frozen=True)
class Centroids(Probe):
    """Few-shot classification by the nearest centroid over random episodes; see `unseen.probes.centroids`.

    Episodes are drawn from training and test samples together, as in the paper; one seed draws all of them.
    """

    name: ClassVar[str] = "centroids"
    title: ClassVar[str] = "few-shot episodes with the nearest centroid (Ericsson et al.)"
    citation: ClassVar[str] = (
        "Ericsson et al. 2021, How Well Do Self-Supervised Models Transfer?; "
        "Snell et al. 2017, Prototypical Networks for Few-shot Learning"
    )
    purpose: ClassVar[str] = "few images per class: episodes of a few classes"
    published_on: ClassVar[PublishedOn] = "tasks"
    split: ClassVar[bool] = False
    random: ClassVar[bool] = True
    keeps_units: ClassVar[bool] = True
    default_shots: ClassVar[tuple[int | None, ...]] = (5,)
    ways: int = key(WAYS, "classes per episode", least=2)
    queries: int = key(QUERIES, "queries per class and episode", least=1)
    episodes: int = key(EPISODES, "number of episodes", least=1)
    normalise: bool = key(False, "ℓ2-normalise features first")
    classes: Literal["enough", "every"] = key(
        "enough", "draw from classes with enough images, or require every class", identity=False
    )

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        import torch

        from unseen.probes.centroids import centroids

        if any(setting.shots is None for setting in settings):
            raise UserError("episodes need a number of shots, for instance shots=5")
        X, y = data.all_rows(copies=2), torch.cat([data.y_train, data.y_test])
        counts = ClassCounts.of_labels(data.y_train, data.y_test, data.classes)
        drawn = hashlib.sha256(y.cpu().to(torch.int64).numpy().tobytes()).hexdigest()
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
            values, units = (("top1", result.accuracy),), self._units(result.accuracies, drawn)
            yield Fit(self.name, setting.shots, setting.seed, values, details, result.interval, units=units)

    def _units(self, accuracies: "Tensor", drawn: str) -> Units:
        """The correct queries of each episode; the labels of all samples decide which samples are drawn.

        Args:
            drawn: hash of these labels.
        """
        queries = self.ways * self.queries
        right = (accuracies * queries).round().long().numpy()
        return Units("episodes", {"right": right, "queries": np.array([queries])}, identity=drawn)

    def takes_shots(self, shots: int | None) -> bool:
        """Episodes need a number of shots."""
        return shots is not None

    def samples(self, data: ProbeData, shots: int | None) -> SamplesPerClass | None:
        """Exactly as many as shots: classes that have fewer are not drawn."""
        return None if shots is None else SamplesPerClass.same(shots)

    def total_shortage(self, counts: ClassCounts, shots: int | None) -> Shortage | None:
        """Fewer classes than an episode has have enough samples for shots and queries."""
        numbers = self._numbers(counts, shots or 1)
        needed = numbers["classes"] if self.classes == "every" else self.ways
        if shots is None or numbers["enough"] >= max(needed, self.ways):
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
        some = shots is not None and self.classes == "enough" and self.ways <= numbers["enough"] < numbers["classes"]
        return Shortage("classes-not-drawn", tuple(numbers.items())) if some else None

    def _numbers(self, counts: ClassCounts, shots: int) -> dict[str, int]:
        """Samples that a class needs, and numbers of classes: of those that have as many, and of all."""
        together, needed = counts.together, shots + self.queries
        return {"needed": needed, "enough": sum(count >= needed for count in together), "classes": len(together)}

    def flops(self, size: Size, setting: Setting) -> float:
        """Distances of queries to centroids, and reading all rows."""
        distances = 2.0 * self.episodes * self.ways**2 * self.queries * size.dimension
        return distances + READING * (size.rows + size.test_rows) * size.dimension

    def timed_product(self, size: Size, *, gpu: bool = False) -> tuple[int, int, int]:
        return (size.classes, *TIMED)

    def seconds(self, size: Size, setting: Setting, rate: float, *, gpu: bool = False) -> float:
        return self.flops(size, setting) / rate * (1.0 if gpu else OTHER_WORK)

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        return 4 * 2 * (size.rows + size.test_rows) * size.dimension


PROBE = Centroids

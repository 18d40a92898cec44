"""Accuracies over concepts with their errors, the drop from the seen concepts, and differences between backbones.

All are over seeds and concepts, which are crossed (`unseen.metrics.paired.crossed`), so that what a page shows of one
quantity agrees with what it shows of another.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.paired.crossed import crossed
from unseen.metrics.paired.estimate import Estimate
from unseen.metrics.paired.suites import combined
from unseen.metrics.resampling import Floats, Interval

if TYPE_CHECKING:
    from unseen.runs.data import ConceptHits

Cell = tuple[str, str, str]
"""Backbone, domain, shots."""


@dataclass(frozen=True, eq=False)
class OverConcepts:
    """A top-1 accuracy over seeds and concepts.

    Attributes:
        accuracy: (seeds, concepts) shares in [0, 1].
        images: (concepts,) test images of each concept.
    """

    seeds: tuple[int, ...]
    concepts: tuple[str, ...]
    accuracy: Floats
    images: NDArray[np.integer]

    @cached_property
    def estimate(self) -> Estimate:
        return replace(crossed(self.accuracy, sizes=self.images), limits=(0.0, 1.0))

    @property
    def interval(self) -> Interval:
        return self.estimate.interval()

    def minus(self, other: "OverConcepts") -> Estimate:
        """Its difference from the accuracy of another backbone on the same concepts."""
        return crossed(self.accuracy - other.accuracy, sizes=self.images)


def over_concepts(hits: Iterable["ConceptHits"]) -> dict[Cell, OverConcepts]:
    """Every accuracy that has results per concept; those whose seeds have different concepts are left out."""
    cells: dict[Cell, dict[int, ConceptHits]] = {}
    for each in hits:
        cells.setdefault((each.backbone, each.domain, each.shots), {})[each.seed] = each
    accuracies = dict[Cell, OverConcepts]()
    for cell, by_seed in cells.items():
        of = [by_seed[seed] for seed in sorted(by_seed)]
        first = of[0]
        if len(first.concepts) > 1 and all(
            (each.concepts, each.images) == (first.concepts, first.images) for each in of
        ):
            images = np.array(first.images)
            accuracy = np.array([each.correct for each in of]) / images
            accuracies[cell] = OverConcepts(tuple(sorted(by_seed)), first.concepts, accuracy, images)
    return accuracies


def drop_intervals(cells: Mapping[Cell, OverConcepts], seen: str) -> dict[Cell, Interval]:
    """Accuracy on each other domain minus that on the seen concepts, a difference in [-1, 1].

    The concepts of both domains are independent samples, as no concept is in both.
    """
    drops = dict[Cell, Interval]()
    for cell, own in cells.items():
        start = cells.get((cell[0], seen, cell[2]))
        if cell[1] != seen and start and start.seeds == own.seeds:
            drops[cell] = combined([own.estimate, start.estimate], [1, -1]).interval()
    return drops


def difference_intervals(
    cells: Mapping[Cell, OverConcepts], pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str, str, str], Interval]:
    """(first, second, domain, shots) → accuracy of the first backbone minus that of the second on the same concepts."""
    places = dict.fromkeys((domain, shots) for _, domain, shots in cells)
    differences = dict[tuple[str, str, str, str], Interval]()
    for first, second in pairs:
        for domain, shots in places:
            one, other = cells.get((first, domain, shots)), cells.get((second, domain, shots))
            if one and other and (one.seeds, one.concepts) == (other.seeds, other.concepts):
                differences[first, second, domain, shots] = one.minus(other).interval()
    return differences

"""Intervals over concepts of accuracies, of the drop from the seen concepts, and of differences between backbones.

All are from the same crossed bootstrap (`unseen.metrics.resampling.interval_over_concepts`), so that what a page shows
of one quantity agrees with what it shows of another.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.resampling import RESAMPLES, Floats, Interval, draws, percentile_interval

if TYPE_CHECKING:
    from unseen.runs.data import ConceptHits

Cell = tuple[str, str, str]
"""Backbone, domain, shots."""


@dataclass(frozen=True)
class Resampled:
    """A top-1 accuracy, and what it is on each resample of seeds and concepts.

    Attributes:
        drawn: (resamples,) shares in [0, 1].
    """

    seeds: tuple[int, ...]
    concepts: tuple[str, ...]
    value: float
    drawn: Floats

    @property
    def interval(self) -> Interval:
        return percentile_interval(self.value, self.drawn)


def resample(hits: Iterable["ConceptHits"], *, stream: int = 0) -> dict[Cell, Resampled]:
    """Every accuracy that has results per concept; those whose seeds have different concepts are left out.

    Args:
        stream: cells of the same stream share the draws of concepts, as differences between backbones on one domain
            need. Domains have different concepts: for a difference between two domains, take two streams.
    """
    cells: dict[Cell, dict[int, ConceptHits]] = {}
    for each in hits:
        cells.setdefault((each.backbone, each.domain, each.shots), {})[each.seed] = each
    alike: dict[tuple[int, int], dict[Cell, list[ConceptHits]]] = {}
    for cell, by_seed in cells.items():
        found = [by_seed[seed] for seed in sorted(by_seed)]
        concepts = found[0].concepts
        if len(concepts) > 1 and all(each.concepts == concepts for each in found):
            alike.setdefault((len(found), len(concepts)), {})[cell] = found
    result: dict[Cell, Resampled] = {}
    for of in alike.values():
        correct = np.array([[each.correct for each in found] for found in of.values()])
        images = np.array([[each.images for each in found] for found in of.values()])
        values = correct.sum(axis=(1, 2)) / images.sum(axis=(1, 2))
        for (cell, found), value, drawn in zip(of.items(), values, resampled(correct, images, stream), strict=True):
            result[cell] = Resampled(tuple(each.seed for each in found), found[0].concepts, float(value), drawn)
    return result


def resampled(correct: NDArray[np.integer], images: NDArray[np.integer], stream: int = 0) -> Floats:
    """(cells, resamples) top-1 accuracies. Concepts weigh as many images as they have.

    Args:
        correct, images: (cells, seeds, concepts) test images that are classified correctly, and in all; at least two
            concepts.
    """
    seeds, concepts = _draws(*correct.shape[1:], stream)
    # One product for all cells, as many small ones would read the draws again and again.
    right, every = (
        np.einsum(
            "bs,bks->kb", seeds, (concepts @ counts.reshape(-1, counts.shape[-1]).T).reshape(-1, *counts.shape[:2])
        )
        for counts in (correct.astype(np.float64), images.astype(np.float64))
    )
    return np.asarray(right / every)


def drop_intervals(cells: Mapping[Cell, Resampled], hits: Iterable["ConceptHits"], seen: str) -> dict[Cell, Interval]:
    """Accuracy on each other domain minus that on the seen concepts, a difference in [-1, 1].

    The concepts of both domains are drawn independently, as no concept is in both.

    Args:
        cells: all accuracies, resampled.
        hits: what they are from; of these, the seen domain is resampled once more.
    """
    base = resample((each for each in hits if each.domain == seen), stream=1)
    drops: dict[Cell, Interval] = {}
    for cell, own in cells.items():
        start = base.get((cell[0], seen, cell[2]))
        if cell[1] != seen and start and start.seeds == own.seeds:
            drops[cell] = percentile_interval(own.value - start.value, own.drawn - start.drawn)
    return drops


def difference_intervals(
    cells: Mapping[Cell, Resampled], pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str, str, str], Interval]:
    """(first, second, domain, shots) → accuracy of the first backbone minus that of the second on the same concepts."""
    places = dict.fromkeys((domain, shots) for _, domain, shots in cells)
    differences: dict[tuple[str, str, str, str], Interval] = {}
    for first, second in pairs:
        for domain, shots in places:
            one, other = cells.get((first, domain, shots)), cells.get((second, domain, shots))
            if one and other and (one.seeds, one.concepts) == (other.seeds, other.concepts):
                difference = percentile_interval(one.value - other.value, one.drawn - other.drawn)
                differences[first, second, domain, shots] = difference
    return differences


def drop_difference(
    hits: Sequence["ConceptHits"], names: tuple[str, str], ends: tuple[str, str], shots: str
) -> Interval | None:
    """How much less the first backbone drops than the second, from one domain (the seen concepts) to another.

    Of accuracies A, (A₁ − A₂ on the last domain) − (A₁ − A₂ on the first): concepts are shared by both backbones and
    drawn independently for both domains. None where the backbones have different concepts or seeds.
    """
    changes = []
    for stream, domain in enumerate(reversed(ends)):
        own = [each for each in hits if each.backbone in names and (each.domain, each.shots) == (domain, shots)]
        cells = resample(own, stream=stream)
        one, other = (cells.get((name, domain, shots)) for name in names)
        if one is None or other is None or (one.seeds, one.concepts) != (other.seeds, other.concepts):
            return None
        changes.append((one.value - other.value, one.drawn - other.drawn))
    (last, drawn_last), (first, drawn_first) = changes
    return percentile_interval(last - first, drawn_last - drawn_first)


@lru_cache(maxsize=4)
def _draws(seeds: int, concepts: int, stream: int) -> tuple[Floats, Floats]:
    """How often each is in a resample; drawing takes longer than all the rest, and the cells of a page share it."""
    rng = np.random.default_rng(0)
    drawn_seeds = draws(rng, seeds, RESAMPLES)
    return drawn_seeds, draws(np.random.default_rng([0, stream]) if stream else rng, concepts, RESAMPLES)

"""What can be compared, from numbers of correct images, without a run on disk."""

from collections.abc import Mapping, Sequence

import numpy as np

from unseen.analyses.core.comparable import Comparable, Place
from unseen.analyses.core.comparables import Comparables
from unseen.metrics.catalogue import METRICS
from unseen.probes.units import CORRECT, ScoredImages
from unseen.runs.kept_units import KeptUnits


def kept(hits: np.ndarray, y: np.ndarray, seed: int = 0, shots: int | None = None) -> KeptUnits:
    """What a fit keeps that gets these of its test images right; `y` are their classes."""
    images = ScoredImages.labelled([str(each) for each in range(int(y.max()) + 1)], y)
    return KeptUnits("logistic", shots, seed, "images", {CORRECT: hits}, images, "", {"top1": float(hits.mean())})


def by_concepts(
    correct: Mapping[str, Sequence[int]], images: int, dataset: str = "in1k", seeds: Sequence[int] = (0, 1)
) -> Comparable:
    """Backbones that get so many of the images of each concept right, under every seed.

    Args:
        images: test images of each concept.
    """

    def hits(of: Sequence[int]) -> np.ndarray:
        return np.concatenate([np.arange(images) < number for number in of])

    every = {
        name: {seed: kept(hits(of), np.repeat(np.arange(len(of)), images), seed) for seed in seeds}
        for name, of in correct.items()
    }
    return Comparable(Place(dataset, "logistic", None, "cog-v2"), METRICS["top1"], "concepts", every)


def comparables_by_concepts(correct: Mapping[str, Sequence[int]], images: int, **more: object) -> Comparables:
    """The same as everything that can be compared."""
    return Comparables((by_concepts(correct, images, **more),))  # type: ignore[arg-type]

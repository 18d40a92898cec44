"""Severity of mistakes relative to chance: comparable between sets of concepts, such as levels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.own import OwnMetric
from unseen.metrics.severity import mistake_distances
from unseen.ontology.class_distances import known_distances


def lca_over_chance(y: NDArray[np.int64], predictions: NDArray[Any], classes: Sequence[str]) -> NDArray[np.float64]:
    """(n,) D(y, y′) of each mistake over the mean of D(y, ·) over all other classes, by information content.

    1 is what mistakes at random would have, whatever the concepts are: levels have other concepts, whose distances
    differ. This ratio is ours. NaN for correct images, and for classes above all others, which have no distance.
    """
    distances = known_distances(tuple(classes)).by["information"]
    chance = distances.sum(axis=1) / (len(distances) - 1)
    values = mistake_distances(y, predictions, distances)
    return np.asarray(np.divide(values, chance[y], out=np.full(len(y), np.nan), where=chance[y] > 0))


METRIC = OwnMetric(
    "lca-over-chance", higher_is_better=False, lower=0, upper=None, unit="score", compute=lca_over_chance,
    title="severity of mistakes by information content, relative to random mistakes", takes="classes",
)  # fmt: skip

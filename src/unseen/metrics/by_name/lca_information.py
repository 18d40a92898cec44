"""Severity of mistakes by information: the mean distance of wrong predictions from the true concepts in WordNet."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.own import OwnMetric
from unseen.metrics.severity import mistake_distances
from unseen.ontology.class_distances import known_distances


def lca_information(y: NDArray[np.int64], predictions: NDArray[Any], classes: Sequence[str]) -> NDArray[np.float64]:
    """(n,) f(y) − f(LCA(y, y′)) of each mistake, f the information content in bits; NaN for correct images.

    Shi et al. 2024 (LCA-on-the-line); see `unseen.ontology.class_distances` for the choices.
    """
    return mistake_distances(y, predictions, known_distances(tuple(classes)).by["information"])


METRIC = OwnMetric(
    "lca-information", higher_is_better=False, lower=0, upper=None, unit="score", compute=lca_information,
    title="severity of mistakes: distance to the lowest common ancestor, by information content in bits",
    takes="classes",
)  # fmt: skip

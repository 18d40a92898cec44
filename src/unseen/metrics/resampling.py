"""Intervals by resampling concepts: the concepts of a level are a sample of those at that distance.

Scores of a level vary with its concepts far more than with seeds. The bootstrap takes concepts as the units that are
drawn: images of one concept are alike, so an interval over images would be too narrow.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError

RESAMPLES = 2000
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with the percentile interval of its resamples."""

    value: float
    low: float
    high: float


def percentile_interval(value: float, resampled: Floats, level: float = 0.95) -> Interval:
    """An estimate with the middle `level` of what it was on resamples."""
    tail = (1 - level) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Interval(float(value), float(low), float(high))


def accuracy_per_concept(correct: NDArray[np.bool_], y: NDArray[np.integer]) -> Floats:
    """The share of a concept's images that are classified correctly, for each concept there is in y, in its order.

    Args:
        correct: (n,) whether an image was, or (seeds, n).
        y: (n,) class indices.

    Returns:
        (concepts,) or (seeds, concepts).
    """
    hits, labels = np.asarray(correct), np.asarray(y)
    if hits.ndim not in (1, 2) or labels.ndim != 1 or hits.shape[-1] != len(labels) or not hits.size:
        raise UserError(f"results of shape {hits.shape} do not go with labels of shape {labels.shape}")
    if hits.dtype != np.bool_:
        raise UserError(f"results are true or false for each image, not {hits.dtype}")
    _, place, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rows = [np.bincount(place, weights=row, minlength=len(counts)) for row in np.atleast_2d(hits)]
    return np.asarray(np.reshape(rows, (*hits.shape[:-1], -1)) / counts, dtype=np.float64)


def interval_over_concepts(
    accuracy: Floats, *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """The mean accuracy over concepts, with an interval for other concepts of the kind and, of several, other seeds.

    Seeds and concepts are crossed: each seed saw every concept. So both are drawn with replacement, independently, and
    the mean is that of the cells where drawn rows and columns meet (the pigeonhole bootstrap of Owen 2007). Its
    variance holds that of concepts and of seeds, and counts what is left in single cells up to three times: where
    it errs, it is too wide. With one seed, or a vector, it is the ordinary bootstrap over concepts. Few seeds show
    little of how much seeds vary: of 5 the bootstrap sees four fifths of their variance.

    Args:
        accuracy: (concepts,) or (seeds, concepts), shares in [0, 1]; every concept has the same weight, which is
            top-1 accuracy where concepts have as many test images.
    """
    matrix = np.atleast_2d(np.asarray(accuracy, dtype=np.float64))
    if matrix.ndim != 2 or matrix.shape[1] < 2 or not np.isfinite(matrix).all():
        raise UserError(f"an interval over concepts needs numbers of at least 2 concepts, not shape {matrix.shape}")
    rng = np.random.default_rng(seed)
    seeds, concepts = draws(rng, matrix.shape[0], resamples), draws(rng, matrix.shape[1], resamples)
    means = np.einsum("bs,sc,bc->b", seeds, matrix, concepts, optimize=True) / matrix.size
    return percentile_interval(matrix.mean(), means, level)


def draws(rng: np.random.Generator, n: int, resamples: int) -> Floats:
    """(resamples, n): how often each of n units is in a draw of n with replacement."""
    return rng.multinomial(n, np.full(n, 1 / n), size=resamples).astype(np.float64)

"""Intervals by resampling concepts: the concepts of a level are a sample of those at that distance.

Scores of a level vary far more with its concepts than with seeds. The bootstrap draws concepts, not images: images of
one concept are similar, so an interval over images would be too narrow.
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
    """An estimate with the central `level` interval of its resampled values."""
    tail = (1 - level) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Interval(float(value), float(low), float(high))


def accuracy_per_concept(correct: NDArray[np.bool_], y: NDArray[np.integer]) -> Floats:
    """The share of correctly classified images of each concept that occurs in y, in order.

    Args:
        correct: (n,) whether an image was classified correctly, or (seeds, n).
        y: (n,) class indices.

    Returns:
        (concepts,) or (seeds, concepts).
    """
    hits, labels = np.asarray(correct), np.asarray(y)
    if hits.ndim not in (1, 2) or labels.ndim != 1 or hits.shape[-1] != len(labels) or not hits.size:
        raise UserError(f"results of shape {hits.shape} do not match labels of shape {labels.shape}")
    if hits.dtype != np.bool_:
        raise UserError(f"results are true or false for each image, not {hits.dtype}")
    _, place, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rows = [np.bincount(place, weights=row, minlength=len(counts)) for row in np.atleast_2d(hits)]
    return np.asarray(np.reshape(rows, (*hits.shape[:-1], -1)) / counts, dtype=np.float64)


def interval_over_concepts(
    accuracy: Floats, *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """The mean accuracy over concepts, with an interval for other concepts of the kind and, if there are several, other
    seeds.

    Seeds and concepts are crossed: each seed was evaluated on every concept. Both are drawn with replacement,
    independently, and the mean is over the cells of the drawn rows and columns (the pigeonhole bootstrap of Owen 2007).
    Its variance includes that of concepts and of seeds, and counts the residual variance of single cells up to three
    times, so it is conservative. With one seed, or a vector, it is the ordinary bootstrap over concepts. Few seeds
    reveal little about the variance over seeds: with 5, the bootstrap sees four fifths of it.

    Args:
        accuracy: (concepts,) or (seeds, concepts), shares in [0, 1]; every concept has the same weight, which is top-1
            accuracy if concepts have equally many test images.
    """
    matrix = np.atleast_2d(np.asarray(accuracy, dtype=np.float64))
    if matrix.ndim != 2 or matrix.shape[1] < 2 or not np.isfinite(matrix).all():
        raise UserError(f"an interval over concepts needs at least 2 concepts, not shape {matrix.shape}")
    rng = np.random.default_rng(seed)
    seeds, concepts = draws(rng, matrix.shape[0], resamples), draws(rng, matrix.shape[1], resamples)
    means = np.einsum("bs,sc,bc->b", seeds, matrix, concepts, optimize=True) / matrix.size
    return percentile_interval(matrix.mean(), means, level)


def draws(rng: np.random.Generator, n: int, resamples: int) -> Floats:
    """(resamples, n): how often each of n units is in a draw of n with replacement."""
    return rng.multinomial(n, np.full(n, 1 / n), size=resamples).astype(np.float64)

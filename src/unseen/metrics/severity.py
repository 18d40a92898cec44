"""Severity of mistakes: the mean distance of wrong predictions from the true classes in a hierarchy of classes.

Shi et al. 2024 ("LCA-on-the-line", arXiv 2407.16067): the mean of D(y, y′) over the images that a model classifies
wrongly (`unseen.ontology.class_distances`). Lower is better: mistakes are nearer misses. It is not defined for a model
without mistakes.
"""

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.paired.estimate import Estimate

Floats = NDArray[np.float64]


def mistake_distances(y: NDArray[np.integer], predictions: NDArray[np.integer], distances: Floats) -> Floats:
    """(n,) distance of each mistake; NaN for images that are classified correctly.

    Args:
        y, predictions: (n,) true and predicted classes, as indices into `distances`.
        distances: (k, k) of true (rows) and predicted classes (columns).
    """
    for values in (y, predictions):
        if len(values) and not 0 <= int(values.min()) <= int(values.max()) < len(distances):
            raise UserError(
                f"classes from {values.min()} to {values.max()} are not indices of the {len(distances)} classes of the "
                "hierarchy; use predictions of the same classes"
            )
    if len(y) != len(predictions):
        raise UserError(f"{len(y)} images have a class but {len(predictions)} have a prediction")
    return np.where(y == predictions, np.nan, distances[y, predictions])


def linearised_mistakes(values: Floats) -> Floats:
    """(n,) numbers, one per image, whose mean is the mean over mistakes θ and whose error is that of θ.

    θ is a ratio of sums over images. To first order it varies as the mean of θ + (m/m̄)(D − θ), with m = 1 for a mistake
    and 0 otherwise (the delta method; Cochran 1977, §6). Two models with mistakes on different images can so be
    compared image by image.

    Args:
        values: as `mistake_distances` gives them, with at least one mistake.
    """
    wrong = ~np.isnan(values)
    mean = float(values[wrong].mean())
    return np.where(wrong, mean + (np.nan_to_num(values) - mean) / wrong.mean(), mean)


def mean_severity(values: Floats) -> Estimate | None:
    """The mean over mistakes with its error over images; None without mistakes, where it is not defined.

    Args:
        values: as `mistake_distances` gives them.
    """
    if not (~np.isnan(values)).any():
        return None
    return _mean(linearised_mistakes(values))


def severity_difference(first: Floats, second: Floats) -> Estimate | None:
    """The severity of one model minus that of another on the same images, paired; None if either has no mistakes."""
    if len(first) != len(second):
        raise UserError(f"severities of {len(first)} and {len(second)} images are not of the same test set")
    if not all((~np.isnan(values)).any() for values in (first, second)):
        return None
    return _mean(linearised_mistakes(first) - linearised_mistakes(second))


def _mean(values: Floats) -> Estimate:
    n, mean = len(values), float(values.mean())
    error = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return Estimate(mean, mean, error, float(max(n - 1, 1)))

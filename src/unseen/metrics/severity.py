"""Severity of mistakes: the mean distance of wrong predictions from the true classes in a hierarchy of classes.

Shi et al. 2024 ("LCA-on-the-line", arXiv 2407.16067): the mean of D(y, y′) over the images that a model classifies
wrongly (`unseen.ontology.class_distances`). Lower is better: mistakes are nearer misses. It is not defined for a model
without mistakes.

What is known of it grows with the number of mistakes and not with that of images: errors have as many degrees of
freedom as mistakes, less one. Distances are skewed and few, so that t intervals of fewer than `FEWEST_MISTAKES`
mistakes cover too little, and mistakes at one distance show no spread at all: there is no error then, and nothing is
compared.
"""

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.paired.estimate import Estimate

Floats = NDArray[np.float64]
FEWEST_MISTAKES = 30
"""Fewer have no error: 95% intervals of ten skewed distances cover 79%, of twenty 89%, and of thirty 92%. If the
greatest distance is one in 20 mistakes, those of thirty cover 80%, and of a hundred 91%."""


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
    """The mean over mistakes; None without mistakes, where it is not defined.

    Its error is NaN if mistakes are too few, or all at one distance.

    Args:
        values: as `mistake_distances` gives them.
    """
    wrong = values[~np.isnan(values)]
    if not len(wrong):
        return None
    mean, known = float(wrong.mean()), has_error(values)
    error = float(wrong.std(ddof=1) / np.sqrt(len(wrong))) if known else float("nan")
    return Estimate(mean, mean, error, float(max(len(wrong) - 1, 1)))


def severity_difference(first: Floats, second: Floats) -> Estimate | None:
    """The severity of one model minus that of another on the same images, paired; None if either has no error.

    Degrees of freedom are those of the model with fewer mistakes.
    """
    if len(first) != len(second):
        raise UserError(f"severities of {len(first)} and {len(second)} images are not of the same test set")
    if not (has_error(first) and has_error(second)):
        return None
    fewest = min(int((~np.isnan(values)).sum()) for values in (first, second))
    apart = linearised_mistakes(first) - linearised_mistakes(second)
    # Each part has a variance over its m mistakes, of which one degree of freedom is spent on its mean.
    error = float(apart.std() / np.sqrt(len(apart)) * np.sqrt(fewest / (fewest - 1)))
    return Estimate(float(apart.mean()), float(apart.mean()), error, float(fewest - 1))


def has_error(values: Floats) -> bool:
    """Whether there are enough mistakes at different distances to say how uncertain their mean is."""
    wrong = values[~np.isnan(values)]
    return len(wrong) >= FEWEST_MISTAKES and bool(np.ptp(wrong) > 0)

"""McNemar's test of two fits on the same test images, corrections for several tests, and an effect size.

Differences with their intervals are in `unseen.metrics.paired`.
"""

from dataclasses import dataclass
from math import copysign, inf

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.resampling import Floats

LEVEL = 0.05
"""The p-value, after correction, up to which an analysis calls something resolved."""


@dataclass(frozen=True)
class McNemar:
    """Images that only one of two backbones classifies correctly, and the exact two-sided test that both counts are
    equal.

    Attributes:
        odds_ratio: only_first / only_second; if either is 0, ½ is added to both.
        p_value: of the binomial test. It treats images as independent, which images of the same concept are not.
    """

    only_first: int
    only_second: int
    odds_ratio: float
    p_value: float


def mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> McNemar:
    """McNemar's exact test. Of n images that exactly one backbone classifies correctly, each is expected to have half.

    p = min(1, 2·P(X ≤ the smaller number)), X binomial (n, ½).
    """
    from scipy import special

    one, other = int((first & ~second).sum()), int((second & ~first).sum())
    tail = special.bdtr(min(one, other), one + other, 0.5)
    added = 0.5 if min(one, other) == 0 else 0.0
    return McNemar(one, other, (one + added) / (other + added), float(min(1.0, 2 * tail)))


def standardised_mean(differences: Floats) -> float:
    """Mean over sample standard deviation, Cohen's d_z; infinite if all differences are equal and not 0."""
    mean, deviation = float(np.mean(differences)), float(np.std(differences, ddof=1))
    if deviation == 0:
        return copysign(inf, mean) if mean else 0.0
    return mean / deviation


def holm(p_values: Floats) -> Floats:
    """Adjusted p-values, of any shape, by Holm's step-down method, which controls the family-wise error rate.

    In ascending order p₍ᵢ₎ becomes the maximum over j ≤ i of (m − j + 1)·p₍ⱼ₎, at most 1. SciPy does not provide it.
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1)
    return adjusted.reshape(np.shape(p_values))


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Adjusted p-values, of any shape, by Benjamini and Hochberg's method, which controls the false discovery rate.

    Valid for tests that are independent or positively dependent, such as the levels of one model.
    """
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(_checked(p_values)), dtype=np.float64).reshape(np.shape(p_values))


def _checked(p_values: Floats) -> Floats:
    p = np.asarray(p_values, dtype=np.float64).ravel()
    if not p.size or not ((p >= 0) & (p <= 1)).all():
        raise UserError("p-values to correct are numbers from 0 to 1, at least one of them")
    return p


def is_resolved(p_value: float) -> bool:
    """Whether a p-value, corrected for all comparisons of its family, is at most `LEVEL`."""
    return p_value <= LEVEL

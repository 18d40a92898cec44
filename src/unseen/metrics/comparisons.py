"""Comparison of two backbones on the same test images: their difference, and whether it could be chance.

The units are concepts and seeds: images of one concept are similar, and so are all results of one draw of training
samples. Tests over images (McNemar's) find differences too easily.
"""

from dataclasses import dataclass
from math import copysign, inf, sqrt

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.resampling import RESAMPLES, Floats, Interval, accuracy_per_concept, draws, percentile_interval

EXACT_CONCEPTS = 14
"""Up to this many concepts, all 2ⁿ patterns of signs are tried; with more, `flips` random ones."""
FLIPS = 20_000
CELLS = 1 << 22
"""Number of signs in memory at a time, 32 MiB."""


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


@dataclass(frozen=True)
class PairedDifference:
    """The first backbone's accuracy minus the second's.

    Attributes:
        accuracy: the difference over all images, in [-1, 1], with its bootstrap interval over concepts and, if there
            are several, seeds.
        p_value: two-sided, from swapping the backbones concept by concept, with the variance over seeds added.
        standardised: Cohen's d_z over concepts: mean / sample standard deviation of the differences in accuracy per
            concept.
        dominance: share of concepts on which the first is better minus the share on which it is worse: Cliff's delta of
            pairs, in [-1, 1].
    """

    accuracy: Interval
    p_value: float
    standardised: float
    dominance: float
    concepts: int
    images: McNemar


def paired_difference(
    first: NDArray[np.bool_],
    second: NDArray[np.bool_],
    y: NDArray[np.integer],
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    flips: int = FLIPS,
    seed: int = 0,
) -> PairedDifference:
    """Compare two backbones on the same test images.

    With Dₛⱼ the sum over the nⱼ images of concept j of (first right − second right) under seed s, the difference is
    ΣDₛⱼ / (S·Σnⱼ). Its interval is over draws of concepts and of seeds with replacement, independently, since each seed
    was evaluated on every concept (see `interval_over_concepts`). If the backbones were interchangeable, each Dⱼ =
    ΣₛDₛⱼ could equally be −Dⱼ: the p-value is the share of all patterns of signs, or of random ones including the one
    observed, for which |Σ±Dⱼ| is at least as large as observed. Sign flips of concepts do not reflect changes that
    other seeds would make to all concepts at once, so the variance that drawing seeds adds to the bootstrap is added to
    theirs. In simulations of 5 seeds and 30 concepts, in which seeds shift all concepts together about as much as
    concepts differ, 95% intervals miss the true value in about 5 to 10% of cases, and more often with fewer seeds.

    Args:
        first, second: (n,) whether each image is classified correctly, or (seeds, n); corresponding rows have the same
            seed.
        y: (n,) class indices of the images.
    """
    if np.shape(first) != np.shape(second) or np.ndim(first) not in (1, 2):
        raise UserError(f"results of the same images are compared, not {np.shape(first)} with {np.shape(second)}")
    by_seed = np.atleast_2d(accuracy_per_concept(first, y) - accuracy_per_concept(second, y))
    if by_seed.shape[1] < 2:
        raise UserError("a comparison over concepts needs at least 2 concepts")
    counts = np.unique(y, return_counts=True)[1].astype(np.float64)
    # Integers, so that sign patterns that reproduce the observed sum are not lost to rounding.
    sums = np.rint(by_seed * counts)
    accuracy, p_value = paired_counts(sums, counts, level=level, resamples=resamples, flips=flips, seed=seed)
    return PairedDifference(
        accuracy=accuracy,
        p_value=p_value,
        standardised=standardised_mean(by_seed.mean(axis=0)),
        dominance=float(np.sign(sums.sum(axis=0)).mean()),
        concepts=by_seed.shape[1],
        images=mcnemar(np.ravel(first), np.ravel(second)),
    )


def paired_counts(
    sums: Floats,
    counts: Floats,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    flips: int = FLIPS,
    seed: int = 0,
) -> tuple[Interval, float]:
    """The difference with its interval, and the p-value, of `paired_difference`, from numbers of correct images.

    Args:
        sums: (seeds, concepts) correct images of the first backbone minus those of the second, at least two concepts.
        counts: (concepts,) test images.
    """
    seeds, concepts = sums.shape
    images = seeds * counts.sum()
    rng = np.random.default_rng(seed)
    drawn_seeds, drawn_concepts = draws(rng, seeds, resamples), draws(rng, concepts, resamples)
    sizes, by_draw = seeds * (drawn_concepts @ counts), drawn_concepts @ sums.T
    crossed, given_seeds = (drawn_seeds * by_draw).sum(axis=1) / sizes, by_draw.sum(axis=1) / sizes
    of_seeds = max(0.0, float(crossed.var() - given_seeds.var()))
    total = sums.sum(axis=0)
    p_value = sign_flip_test(total, flips=flips, rng=rng, other_variance=of_seeds * images**2)
    return percentile_interval(total.sum() / images, crossed, level), p_value


def sign_flip_test(
    differences: Floats, *, flips: int = FLIPS, rng: np.random.Generator, other_variance: float = 0.0
) -> float:
    """Two-sided p-value that differences are symmetric about 0, from |Σ±differences|; exact for few differences.

    Args:
        other_variance: variance of the sum from other sources than the differences. The observed sum is divided by the
            resulting increase of its spread: √(1 + other variance / Σ differences²).
    """
    values = np.asarray(differences, dtype=np.float64)
    spread = float(values @ values)
    wider = sqrt(1 + other_variance / spread) if spread else 1.0
    observed = abs(values.sum()) * (1 - 1e-12) / wider
    n = len(values)
    if n <= EXACT_CONCEPTS:
        signs = 1 - 2.0 * ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1)
        return float((np.abs(signs @ values) >= observed).mean())
    as_large, left = 0, flips
    while left:
        rows = min(left, max(1, CELLS // n))
        signs = rng.choice([-1.0, 1.0], size=(rows, n))
        as_large += int((np.abs(signs @ values) >= observed).sum())
        left -= rows
    return (as_large + 1) / (flips + 1)


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

"""Comparisons of backbones against SciPy, hand-worked examples and simulations under no difference."""

from math import comb, inf
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.comparisons import (
    benjamini_hochberg,
    holm,
    mcnemar,
    paired_difference,
    sign_flip_test,
    standardised_mean,
)


def results(seed: int, concepts: int = 40, images: int = 20, better: float = 0.1) -> tuple[Any, Any, Any]:
    """Two backbones on images of concepts that are easy or hard for both, and one better by `better` on the whole."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(concepts), images)
    ease = rng.uniform(0.3, 0.8, concepts)[y]
    tilt = rng.normal(0, 0.1, (2, concepts))[:, y]
    return rng.random(len(y)) < ease + better + tilt[0], rng.random(len(y)) < ease + tilt[1], y


def test_the_difference_and_its_interval_equal_a_plain_bootstrap_of_concepts() -> None:
    first, second, y = results(0)
    rng = np.random.default_rng(1)
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    means = []
    for _ in range(4000):
        rows = np.concatenate([members[j] for j in rng.integers(0, len(members), len(members))])
        means.append(first[rows].mean() - second[rows].mean())
    found = paired_difference(first, second, y, resamples=8000).accuracy
    assert found.value == pytest.approx(first.mean() - second.mean())
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=0.005)


def test_concepts_of_unequal_size_weigh_by_their_images() -> None:
    y = np.array([0] * 10 + [1, 1])
    first, second = np.ones(12, bool), np.array([True] * 10 + [False] * 2)
    found = paired_difference(first, second, y)
    assert found.accuracy.value == pytest.approx(2 / 12)
    assert found.dominance == pytest.approx(1 / 2)
    assert found.concepts == 2


def crossed(
    rng: np.random.Generator, seeds: int, concepts: int, *, of_seeds: float, of_concepts: float, of_both: float
) -> tuple[Any, Any, Any]:
    """Two equally good backbones, right or wrong by seed and image.

    Their difference has effects of seeds, of concepts and of both, of the deviations given, which differ by chance.
    """
    images = 20
    tilt = (
        of_seeds * rng.standard_normal((seeds, 1))
        + of_concepts * rng.standard_normal(concepts)
        + of_both * rng.standard_normal((seeds, concepts))
    )
    first, second = (np.clip(np.rint(images * (0.5 + half * tilt)), 0, images) for half in (0.5, -0.5))
    order = np.arange(images)[None, None]
    return *((order < right[..., None]).reshape(seeds, -1) for right in (first, second)), np.repeat(
        np.arange(concepts), images
    )


def test_several_seeds_are_drawn_with_the_concepts() -> None:
    first, second, y = crossed(np.random.default_rng(4), 3, 20, of_seeds=0.15, of_concepts=0.1, of_both=0.1)
    rng, matrix = np.random.default_rng(1), np.empty((3, 20))
    for j in range(20):
        matrix[:, j] = first[:, y == j].mean(axis=1) - second[:, y == j].mean(axis=1)
    means = [matrix[np.ix_(rng.integers(0, 3, 3), rng.integers(0, 20, 20))].mean() for _ in range(6000)]
    found = paired_difference(first, second, y, resamples=8000)
    assert found.accuracy.value == pytest.approx(matrix.mean())
    assert (found.accuracy.low, found.accuracy.high) == pytest.approx(
        tuple(np.quantile(means, [0.025, 0.975])), abs=0.01
    )
    # Seeds taken for more images of the same concepts give a narrower interval.
    pooled = paired_difference(first.ravel(), second.ravel(), np.tile(y, 3), resamples=8000)
    assert pooled.accuracy.high - pooled.accuracy.low < 0.8 * (found.accuracy.high - found.accuracy.low)
    assert pooled.p_value < found.p_value


def test_seeds_that_agree_add_nothing() -> None:
    first, second, y = results(5, better=0.04)
    one = paired_difference(first, second, y)
    three = paired_difference(np.stack([first] * 3), np.stack([second] * 3), y)
    assert three.accuracy.value == pytest.approx(one.accuracy.value)
    assert three.p_value == pytest.approx(one.p_value, abs=0.01)
    width = one.accuracy.high - one.accuracy.low
    assert three.accuracy.high - three.accuracy.low == pytest.approx(width, rel=0.05)


@pytest.mark.parametrize(("of_both", "most"), [(0.0, 0.13), (0.1, 0.10)])
def test_intervals_and_p_values_hold_for_other_seeds_and_concepts(of_both: float, most: float) -> None:
    """Of comparisons without a difference about 5% are found, and as many intervals leave out 0, in a simulation.

    Seeds that shift all concepts together are what a test over concepts alone does not know. Where nothing else varies
    with seeds, five of them show four fifths of their variance, so that it is some 10%.
    """
    rng = np.random.default_rng(6)
    missed, found, blind = 0, 0, 0
    for number in range(200):
        first, second, y = crossed(rng, 5, 30, of_seeds=0.04, of_concepts=0.1, of_both=of_both)
        both = paired_difference(first, second, y, resamples=300, flips=300, seed=number)
        missed += not both.accuracy.low <= 0 <= both.accuracy.high
        found += both.p_value < 0.05
        pooled = paired_difference(first.ravel(), second.ravel(), np.tile(y, 5), resamples=10, flips=300)
        blind += pooled.p_value < 0.05
    assert missed / 200 < most
    assert found / 200 < most
    assert blind > 1.5 * found


def test_exact_sign_flips_equal_scipy() -> None:
    values = np.random.default_rng(2).normal(0.4, 1, 12)
    reference = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert sign_flip_test(values, rng=np.random.default_rng(0)) == pytest.approx(reference.pvalue)


def test_three_flips_by_hand() -> None:
    # Of the 8 patterns of signs of 1, 2, 3 only +++ and −−− reach a sum of 6.
    assert sign_flip_test(np.array([1.0, 2.0, 3.0]), rng=np.random.default_rng(0)) == 2 / 8
    assert sign_flip_test(np.zeros(3), rng=np.random.default_rng(0)) == 1


def test_random_sign_flips_come_near_the_exact_share() -> None:
    values = np.arange(1.0, 17.0) * np.where(np.arange(16) % 3, 1, -1)  # 16: more than are tried one by one
    signs = 1 - 2 * ((np.arange(1 << 16)[:, None] >> np.arange(16)) & 1)
    exact = (np.abs(signs @ values) >= abs(values.sum())).mean()
    assert sign_flip_test(values, rng=np.random.default_rng(0)) == pytest.approx(exact, abs=0.01)


def test_without_a_difference_few_p_values_are_small_but_those_over_images_are() -> None:
    tests = [paired_difference(*results(seed, better=0), flips=400, resamples=10) for seed in range(200)]
    assert np.mean([test.p_value < 0.05 for test in tests]) < 0.10
    # Images of a concept are alike, which McNemar's test does not know.
    assert np.mean([test.images.p_value < 0.05 for test in tests]) > 0.12


@pytest.mark.parametrize(("only_first", "only_second"), [(0, 0), (1, 0), (3, 9), (10, 10), (40, 75), (3000, 3200)])
def test_mcnemar_equals_the_binomial_test(only_first: int, only_second: int) -> None:
    first = np.array([True] * only_first + [False] * only_second + [True, False])
    second = np.array([False] * only_first + [True] * only_second + [True, False])
    found = mcnemar(first, second)
    n = only_first + only_second
    expected = stats.binomtest(only_first, n).pvalue if n else 1.0
    assert (found.only_first, found.only_second) == (only_first, only_second)
    assert found.p_value == pytest.approx(expected, rel=1e-9)
    if 0 < n < 20:
        assert found.p_value == pytest.approx(
            min(1, 2 * sum(comb(n, k) for k in range(min(only_first, only_second) + 1)) / 2**n)
        )


def test_odds_ratio_by_hand() -> None:
    first, second = np.array([True, True, True, False]), np.array([False, False, False, True])
    assert mcnemar(first, second).odds_ratio == 3
    assert mcnemar(first[:3], second[:3]).odds_ratio == pytest.approx(3.5 / 0.5)
    assert mcnemar(first, first).odds_ratio == 1


def test_effect_sizes() -> None:
    first, second, y = results(3, better=0.2)
    found = paired_difference(first, second, y)
    per_concept = np.array([first[y == j].mean() - second[y == j].mean() for j in range(40)])
    # d_z is the t statistic of the paired test over the root of n.
    assert found.standardised == pytest.approx(stats.ttest_1samp(per_concept, 0).statistic / np.sqrt(40))
    assert found.dominance == pytest.approx((per_concept > 0).mean() - (per_concept < 0).mean())
    assert standardised_mean(np.zeros(3)) == 0
    assert standardised_mean(np.full(3, -0.5)) == -inf


def test_swapping_the_backbones_swaps_the_sign() -> None:
    first, second, y = results(4)
    one, other = paired_difference(first, second, y), paired_difference(second, first, y)
    assert one.accuracy.value == -other.accuracy.value
    assert (one.accuracy.low, one.accuracy.high) == pytest.approx((-other.accuracy.high, -other.accuracy.low))
    assert one.p_value == other.p_value
    assert one.images.odds_ratio == pytest.approx(1 / other.images.odds_ratio)


def test_corrections_by_hand() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005])
    # Ordered .005 .01 .03 .04: times 4, 3, 2, 1, never falling; and times 4/1, 4/2, 4/3, 4/4, never rising backwards.
    np.testing.assert_allclose(holm(p), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(benjamini_hochberg(p), [0.02, 0.04, 0.04, 0.02])
    np.testing.assert_allclose(holm(np.array([[0.6], [0.9]])), [[1.0], [1.0]])


@examples(60)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_corrections_keep_the_order(values: list[float]) -> None:
    p = np.array(values)
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted >= benjamini_hochberg(p) - 1e-15).all()
    assert (adjusted[np.argsort(p)] == np.sort(adjusted)).all()
    # Rejections at 5% are those of the step-down procedure itself, step by step.
    rejected = set()
    for step, place in enumerate(np.argsort(p, kind="stable")):
        if p[place] * (len(p) - step) > 0.05:
            break
        rejected.add(int(place))
    assert set(np.flatnonzero(adjusted <= 0.05)) == rejected


def test_bad_input_is_refused() -> None:
    first, second, y = results(6)
    with pytest.raises(UserError, match="same images are compared"):
        paired_difference(first[:-1], second, y)
    with pytest.raises(UserError, match="do not match labels"):
        paired_difference(first, second, y[:-1])
    with pytest.raises(UserError, match="at least 2 concepts"):
        paired_difference(first, second, np.zeros(len(y), int))
    for p in ([], [0.5, 1.2], [np.nan], [-0.1]):
        for correct in (holm, benjamini_hochberg):
            with pytest.raises(UserError, match="from 0 to 1"):
                correct(np.array(p))

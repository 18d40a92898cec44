"""McNemar's test, corrections and effect sizes against SciPy and hand-worked examples."""

from math import comb, inf

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.comparisons import benjamini_hochberg, holm, mcnemar, standardised_mean


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


def test_an_effect_size_is_the_t_statistic_over_the_root_of_n() -> None:
    values = np.random.default_rng(3).normal(0.2, 1, 40)
    assert standardised_mean(values) == pytest.approx(stats.ttest_1samp(values, 0).statistic / np.sqrt(40))
    assert standardised_mean(np.zeros(3)) == 0
    assert standardised_mean(np.full(3, -0.5)) == -inf


def test_bad_input_is_refused() -> None:
    for p in ([], [0.5, 1.2], [np.nan], [-0.1]):
        for correct in (holm, benjamini_hochberg):
            with pytest.raises(UserError, match="from 0 to 1"):
                correct(np.array(p))

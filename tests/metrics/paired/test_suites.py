"""Means over data sets, by hand and against SciPy."""

import numpy as np
import pytest
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.paired.crossed import PLUS_MINUS, crossed
from unseen.metrics.paired.estimate import Estimate
from unseen.metrics.paired.suites import combined, suite_means


def test_data_sets_as_fixed_and_as_random() -> None:
    rng = np.random.default_rng(0)
    differences = [crossed(rng.normal(center, 0.3, (3, 40))) for center in (0.0, 0.2, 0.5, 0.3)]
    result = suite_means(differences)
    values, errors = np.array([one.value for one in differences]), np.array([one.error for one in differences])
    assert result.over_these.value == pytest.approx(values.mean())
    assert result.over_these.error == pytest.approx(np.sqrt((errors**2).sum()) / 4)
    assert result.over_others is not None
    reference = stats.ttest_1samp(values, 0)
    assert (result.over_others.p_value, result.over_others.df) == (pytest.approx(reference.pvalue), 3)


def test_a_difference_of_two_estimates_is_welchs_test() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.5, 1, 9), rng.normal(0.1, 3, 14)
    result = combined([crossed(first[None]), crossed(second[None])], [1, -1])
    reference = stats.ttest_ind(first, second, equal_var=False)
    assert (result.value, result.p_value) == pytest.approx((first.mean() - second.mean(), reference.pvalue))
    assert result.df == pytest.approx(reference.df)


def test_limits_are_combined() -> None:
    hits = [crossed(np.array([[1.0] * 9 + [-1.0]]), pseudo_units=PLUS_MINUS)] * 2
    assert combined(hits, [1, -2]).limits == (-3, 3)
    assert suite_means(hits).over_these.limits == (-1, 1)
    assert combined([crossed(np.eye(3))], [-1]).limits == (-np.inf, np.inf)


def test_edges() -> None:
    single = suite_means([Estimate(0.1, 0.1, 0.0, 5.0)])
    assert (single.over_these.error, single.over_these.df, single.over_others) == (0, 5, None)
    equal = suite_means([Estimate(0.1, 0.1, 0.05, 5.0)] * 3).over_others
    assert equal is not None
    assert equal.error == pytest.approx(0)
    with pytest.raises(UserError):
        suite_means([])
    for weights in ([1.0], [1.0, 0.0], [1.0, np.nan]):
        with pytest.raises(UserError):
            combined([Estimate(0.1, 0.1, 0.05, 5.0)] * 2, weights)

"""Means over data sets, by hand and against SciPy."""

import numpy as np
import pytest
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.paired.crossed import crossed
from unseen.metrics.paired.estimate import Estimate
from unseen.metrics.paired.suites import suite_means


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


def test_two_fits_on_each_set_give_welch_degrees_of_freedom() -> None:
    """Twice the mean of two estimates has the error of their sum, for which Welch's test is known."""
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.5, 1, 9), rng.normal(0.1, 3, 14)
    result = suite_means([crossed(first[None]), crossed(-second[None])]).over_these
    reference = stats.ttest_ind(first, second, equal_var=False)
    assert (result.p_value, result.df) == pytest.approx((reference.pvalue, reference.df))


def test_edges() -> None:
    single = suite_means([Estimate(0.1, 0.1, 0.0, 5.0)])
    assert (single.over_these.error, single.over_these.df, single.over_others) == (0, 5, None)
    equal = suite_means([Estimate(0.1, 0.1, 0.05, 5.0)] * 3).over_others
    assert equal is not None
    assert equal.error == pytest.approx(0)
    with pytest.raises(UserError):
        suite_means([])

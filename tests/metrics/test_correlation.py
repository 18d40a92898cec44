"""Correlations against SciPy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.correlation import correlation, midranks


@pytest.mark.parametrize("n", [4, 14, 60])
def test_coefficients_and_fishers_interval(n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    y = 0.6 * x + rng.normal(size=n)
    found, expected = correlation(x, y), stats.pearsonr(x, y)
    interval = expected.confidence_interval(0.95)
    assert found.n == n
    assert found.pearson.value == pytest.approx(expected.statistic)
    assert (found.pearson.low, found.pearson.high) == pytest.approx((interval.low, interval.high), abs=1e-9)
    rho = stats.spearmanr(x, y).statistic
    assert found.spearman.value == pytest.approx(rho)
    half = stats.norm.ppf(0.975) * np.sqrt((1 + rho**2 / 2) / (n - 3))
    assert found.spearman.low == pytest.approx(np.tanh(np.arctanh(rho) - half))
    assert found.spearman.high == pytest.approx(np.tanh(np.arctanh(rho) + half))


def test_interval_over_draws_of_models() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    found = correlation(x, y, resamples=20_000).resampled
    expected = stats.bootstrap(
        (x, y), lambda a, b: stats.pearsonr(a, b).statistic, paired=True, vectorized=False, n_resamples=1500,
        method="percentile", rng=np.random.default_rng(5),
    ).confidence_interval  # fmt: skip
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.02)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20))
def test_midranks(values: list[int]) -> None:
    np.testing.assert_array_equal(midranks(np.array(values, dtype=float)), stats.rankdata(values))


def test_perfect_correlation_has_no_width() -> None:
    found = correlation([1, 2, 3, 4, 5], [2, 4, 6, 8, 10])
    assert found.pearson.value == pytest.approx(1)
    assert found.pearson.low == pytest.approx(1)
    down = correlation([1.0, 2, 3, 4], [4.0, 3, 2, 1])
    assert (down.spearman.low, down.spearman.high) == (-1, -1)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2, 3], [1, 2, 3], "at least 4 models"),
        ([1, 1, 1, 1], [1, 2, 3, 4], "all the same"),
        ([1, 2, 3, 4], [1, 2, 3], "two lists"),
        ([1, 2, 3, np.nan], [1, 2, 3, 4], "two lists"),
    ],
)
def test_what_has_no_correlation(x: list[float], y: list[float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        correlation(x, y)

"""Correlations against SciPy's."""

from math import factorial

import numpy as np
import pytest
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.correlation import correlation


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
    assert found is not None
    expected = stats.bootstrap(
        (x, y), lambda a, b: stats.pearsonr(a, b).statistic, paired=True, vectorized=False, n_resamples=1500,
        method="percentile", rng=np.random.default_rng(5),
    ).confidence_interval  # fmt: skip
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.02)


def test_perfect_correlation_has_no_width() -> None:
    found = correlation([1, 2, 3, 4, 5], [2, 4, 6, 8, 10])
    assert found.pearson.value == pytest.approx(1)
    assert found.pearson.low == pytest.approx(1)


@pytest.mark.parametrize("n", [4, 5, 6, 14])
def test_a_perfect_order_of_a_few_models_is_no_certainty(n: int) -> None:
    order = np.arange(n)
    up, down = correlation(order, order**3).spearman, correlation(order, -(order**3)).spearman
    assert (up.value, up.high, down.value, down.low) == pytest.approx((1, 1, -1, -1))
    assert (down.high, down.low) == pytest.approx((-up.low, -up.high))
    # The exact test: of the n! orders of the one, the same as the other's and its reverse.
    assert (up.low > 0) == (2 / factorial(n) < 0.05)
    assert up.low < 0.999


def test_the_end_of_an_interval_of_ranks_does_not_pass_the_next_value() -> None:
    # Of five, one neighbouring swap: 1 − 6·2/(5·24) = 0.9, which is not yet the edge.
    found = correlation([1, 2, 3, 4, 5], [2, 1, 3, 4, 5]).spearman
    assert found.value == pytest.approx(0.9)
    half = stats.norm.ppf(0.975) * np.sqrt((1 + 0.81 / 2) / 2)
    assert (found.low, found.high) == pytest.approx(tuple(np.tanh(np.arctanh(0.9) + np.array([-half, half]))))
    assert found.low < correlation([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]).spearman.low


def test_draws_of_one_value_alone_are_left_out() -> None:
    # In a third of the draws x is 0.1 seven times, and 0.1 minus their mean is not quite 0.
    x, y = np.array([0.1] * 6 + [0.7]), np.array([0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.9])
    found = correlation(x, y, resamples=400, seed=3).resampled
    assert found is not None
    rows = np.random.default_rng(3).integers(0, 7, (400, 7))
    values = [stats.pearsonr(x[row], y[row]).statistic for row in rows if len(set(x[row])) > 1 and len(set(y[row])) > 1]
    assert len(values) < 300
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=1e-12)
    assert found.low > 0.9


def test_fewer_than_seven_models_are_not_drawn_anew() -> None:
    values = np.random.default_rng(0).normal(size=(2, 7))
    assert correlation(*values[:, :6]).resampled is None
    assert correlation(*values).resampled is not None


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2, 3], [1, 2, 3], "at least 4 models"),
        ([1, 1, 1, 1], [1, 2, 3, 4], "a constant has no correlation"),
        ([1, 2, 3, 4], [1, 2, 3], "two lists"),
        ([1, 2, 3, np.nan], [1, 2, 3, 4], "two lists"),
    ],
)
def test_what_has_no_correlation(x: list[float], y: list[float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        correlation(x, y)

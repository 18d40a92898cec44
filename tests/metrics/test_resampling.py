"""Draws with replacement, and percentile intervals against SciPy's bootstrap."""

import numpy as np
import pytest
from scipy import stats

from unseen.metrics.resampling import draws, percentile_interval


def test_a_percentile_interval_of_draws_is_the_ordinary_bootstrap() -> None:
    values = np.random.default_rng(1).beta(4, 2, 300)
    counts = draws(np.random.default_rng(0), len(values), 20_000)
    interval = percentile_interval(values.mean(), counts @ values / len(values))
    reference = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    assert interval.value == pytest.approx(values.mean())
    assert (interval.low, interval.high) == pytest.approx((reference.low, reference.high), abs=0.001)


def test_draws_are_of_n_out_of_n() -> None:
    counts = draws(np.random.default_rng(0), 9, 50)
    assert counts.shape == (50, 9)
    assert set(counts.sum(axis=1)) == {9.0}

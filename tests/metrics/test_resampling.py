"""Intervals over concepts against plain loops, SciPy's bootstrap, and the coverage they promise."""

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.resampling import accuracy_per_concept, draws, interval_over_concepts


def test_accuracy_per_concept_is_a_mean_in_each_class() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 7, 200) * 3  # labels with gaps
    correct = rng.random((4, 200)) < 0.6
    expected = [[row[y == label].mean() for label in np.unique(y)] for row in correct]
    np.testing.assert_allclose(accuracy_per_concept(correct, y), expected)
    np.testing.assert_allclose(accuracy_per_concept(correct[0], y), expected[0])


def test_over_concepts_alone_it_is_the_ordinary_bootstrap() -> None:
    accuracy = np.random.default_rng(1).beta(4, 2, 300)
    found = interval_over_concepts(accuracy, resamples=20_000)
    reference = stats.bootstrap(
        (accuracy,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    assert found.value == pytest.approx(accuracy.mean())
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high), abs=0.001)


def test_with_seeds_it_resamples_rows_and_columns() -> None:
    rng = np.random.default_rng(2)
    matrix = rng.normal(0.6, 0.05, (5, 1)) + rng.normal(0, 0.2, (1, 60))
    means = [matrix[rng.integers(0, 5, 5)][:, rng.integers(0, 60, 60)].mean() for _ in range(8000)]  # the plain loop
    found = interval_over_concepts(matrix, resamples=20_000)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=0.004)
    averaged = interval_over_concepts(matrix.mean(axis=0), resamples=20_000)
    assert found.high - found.low > averaged.high - averaged.low


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for repetition in range(300):
        matrix = 0.5 + rng.normal(0, 0.15, (1, 80)) + rng.normal(0, 0.02, (5, 80))
        found = interval_over_concepts(matrix, resamples=400, seed=repetition)
        hits += found.low <= 0.5 <= found.high
    assert 0.90 <= hits / 300 <= 0.99


@examples(25)
@given(st.integers(2, 40), st.integers(1, 6), st.integers(0, 10**6))
def test_it_is_ordered_and_within_the_values(concepts: int, seeds: int, number: int) -> None:
    matrix = np.random.default_rng(number).random((seeds, concepts))
    found = interval_over_concepts(matrix, resamples=100, seed=number)
    assert matrix.min() - 1e-12 <= found.low <= found.high <= matrix.max() + 1e-12
    assert found == interval_over_concepts(matrix, resamples=100, seed=number)


def test_draws_are_of_n_out_of_n() -> None:
    counts = draws(np.random.default_rng(0), 9, 50)
    assert counts.shape == (50, 9)
    assert set(counts.sum(axis=1)) == {9.0}


def test_bad_input_is_refused() -> None:
    for accuracy in (np.array([0.5]), np.array([0.5, np.nan]), np.zeros((2, 2, 2))):
        with pytest.raises(UserError, match="at least 2 concepts"):
            interval_over_concepts(accuracy)
    with pytest.raises(UserError, match=r"shape \(3,\) do not match labels of shape \(2,\)"):
        accuracy_per_concept(np.array([True, False, True]), np.array([0, 1]))
    with pytest.raises(UserError, match="true or false for each image, not float64"):
        accuracy_per_concept(np.array([0.5, 1.0]), np.array([0, 1]))

"""The choice of panels against loops and exhaustive search, and their lines against SciPy."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import linregress

from unseen.analyses.panels.choice import choose_panel, fit_lines, panel_mean
from unseen.errors import UserError


def objective(accuracy: np.ndarray, weights: np.ndarray) -> Callable[[Sequence[int]], float]:
    """The docstring of the module, with a regression per concept and a matrix of covariances."""
    score = np.average(accuracy, axis=1, weights=weights)
    lines = [linregress(score, each) for each in accuracy.T]
    residuals = [each - line.intercept - line.slope * score for each, line in zip(accuracy.T, lines, strict=True)]
    covariance = np.cov(residuals)
    covariance = (covariance + np.diag(np.diag(covariance))) / 2
    slopes = np.array([line.slope for line in lines])

    def value(places: Sequence[int]) -> float:
        some, w = [*places], weights[[*places]]
        slope = w @ slopes[some]
        return float(w @ covariance[np.ix_(some, some)] @ w / slope**2) if slope > 0 else np.inf

    return value


@given(st.integers(0, 10_000), st.integers(3, 12), st.integers(3, 9), st.booleans())
@settings(max_examples=40, deadline=None)
def test_no_exchange_of_one_unit_is_better(seed: int, units: int, backbones: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    accuracy = rng.random((backbones, units))
    weights = rng.integers(1, 9, units).astype(float) if weighted else np.ones(units)
    k = int(rng.integers(1, units + 1))
    places = choose_panel(accuracy, weights, k)
    assert len({*places.tolist()}) == k
    assert places.tolist() == sorted(places.tolist())
    assert places.tolist() == choose_panel(accuracy, weights, k).tolist()
    error_of = objective(accuracy, weights)
    own = error_of(places.tolist())
    for out in places.tolist():
        for new in set(range(units)) - {*places.tolist()}:
            other = (*(each for each in places.tolist() if each != out), new)
            assert own <= error_of(other) * (1 + 1e-9) + 1e-12


def test_it_is_near_the_best_of_all_panels() -> None:
    rng = np.random.default_rng(0)
    better = []
    for _ in range(10):
        accuracy, weights = rng.random((8, 12)), np.ones(12)
        error_of = objective(accuracy, weights)
        errors = [error_of(places) for places in combinations(range(12), 4)]
        own = error_of(choose_panel(accuracy, weights, 4).tolist())
        better.append(np.mean([error < own * (1 - 1e-9) for error in errors]))
    assert np.mean(better) < 0.01  # of 495 panels


def test_concepts_that_are_the_score_are_chosen() -> None:
    rng = np.random.default_rng(1)
    pairs = rng.random((10, 1)) + 0.1 * rng.standard_normal((10, 15))
    mirrored = 2 * pairs.mean(axis=1, keepdims=True) - pairs  # the mean of all units is that of these two halves
    exact = pairs.mean(axis=1, keepdims=True)
    accuracy = np.hstack([pairs, mirrored, exact])
    assert choose_panel(accuracy, np.ones(31), 1).tolist() == [30]


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_every_stratum_has_k_units(seed: int, strata: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(strata), rng.integers(k, k + 5, strata)))
    places = choose_panel(rng.random((6, len(labels))), np.ones(len(labels)), k, labels)
    assert np.bincount(labels[places], minlength=strata).tolist() == [k] * strata


def test_means_and_lines_are_those_of_scipy() -> None:
    rng = np.random.default_rng(2)
    accuracy, weights = rng.random((9, 20)), rng.integers(1, 9, 20).astype(float)
    panels = np.stack([rng.permutation(20)[:5] for _ in range(4)])
    means = np.stack([panel_mean(accuracy, weights, panel) for panel in panels])
    score = np.average(accuracy, axis=1, weights=weights)
    intercepts, slopes = fit_lines(means, score)
    for number, panel in enumerate(panels):
        assert means[number] == pytest.approx(np.average(accuracy[:, panel], axis=1, weights=weights[panel]))
        expected = linregress(means[number], score)
        assert (intercepts[number], slopes[number]) == pytest.approx((expected.intercept, expected.slope))


def test_a_panel_without_differences_has_a_slope_of_zero() -> None:
    score = np.array([0.1, 0.2, 0.6])
    intercept, slope = fit_lines(np.full(3, 0.5), score)
    assert (float(intercept), float(slope)) == (pytest.approx(0.3), 0)


@pytest.mark.parametrize("k", [0, -1, 5])
def test_impossible_sizes_are_refused(k: int) -> None:
    with pytest.raises(UserError, match="between 1 and 4"):
        choose_panel(np.zeros((6, 4)), np.ones(4), k)

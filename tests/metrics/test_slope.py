"""Slopes of accuracy over similarity against SciPy's line, scikit-learn's logistic regression, a plain bootstrap."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from unseen.errors import UserError
from unseen.metrics.slope import similarity_slope


def concepts(seed: int = 0, c: int = 80, slope: float = 2.0) -> tuple[Any, Any, Any]:
    """Similarities, and numbers of correct and of all images; concepts vary about the line."""
    rng = np.random.default_rng(seed)
    similarity = rng.uniform(0.1, 0.95, c)
    images = rng.integers(30, 51, c)
    logits = slope * similarity - 0.8 + rng.normal(0, 0.7, c)
    return similarity, rng.binomial(images, 1 / (1 + np.exp(-logits))), images


def test_least_squares_equals_scipy() -> None:
    x, k, n = concepts()
    found = similarity_slope(x, k, n, scale="accuracy")
    reference = stats.linregress(x, k / n)
    assert (found.intercept, found.slope.value) == pytest.approx((reference.intercept, reference.slope), rel=1e-9)
    np.testing.assert_allclose(
        found.predict(np.array([0.0, 0.5])), reference.intercept + reference.slope * np.array([0, 0.5])
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_binomial_fit_equals_scikit_learn(seed: int) -> None:
    x, k, n = concepts(seed)
    found = similarity_slope(x, k, n, resamples=10)
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    rows, labels = np.concatenate([x, x])[:, None], np.repeat([1, 0], len(x))
    reference.fit(rows, labels, sample_weight=np.concatenate([k, n - k]))
    expected = (float(reference.intercept_[0]), float(reference.coef_[0, 0]))
    assert (found.intercept, found.slope.value) == pytest.approx(expected, abs=1e-4)
    np.testing.assert_allclose(found.predict(x), reference.predict_proba(x[:, None])[:, 1], atol=1e-5)


@pytest.mark.parametrize("scale", ["accuracy", "logit"])
def test_the_interval_equals_a_plain_bootstrap_of_concepts(scale: Any) -> None:
    x, k, n = concepts(3, c=50)
    rng = np.random.default_rng(4)
    slopes = []
    for _ in range(600):
        rows = rng.integers(0, 50, 50)
        slopes.append(similarity_slope(x[rows], k[rows], n[rows], scale=scale, resamples=2).slope.value)
    found = similarity_slope(x, k, n, scale=scale)
    width = found.slope.high - found.slope.low
    assert found.resamples == 2000
    assert (found.slope.low, found.slope.high) == pytest.approx(
        tuple(np.quantile(slopes, [0.025, 0.975])), abs=0.12 * width
    )


def test_the_interval_covers_a_true_slope_though_concepts_vary() -> None:
    covered = 0
    for seed in range(60):
        found = similarity_slope(*concepts(seed), scale="logit", resamples=300, seed=seed)
        # Concepts vary about the line, which makes the slope of the mean of accuracies a little less than 2.
        covered += found.slope.low <= 2 / np.sqrt(1 + 0.346 * 0.7**2) <= found.slope.high
    assert covered >= 52


def test_hard_cases_have_a_fit() -> None:
    x = np.linspace(0.1, 0.9, 30)
    steep = np.rint(50 / (1 + np.exp(-60 * (x - 0.5)))).astype(int)
    found = similarity_slope(x, steep, np.full(30, 50), resamples=200)
    assert found.slope.value == pytest.approx(60, rel=0.02)
    flat = similarity_slope(x, np.full(30, 49), np.full(30, 50), resamples=200)
    assert flat.slope.value == pytest.approx(0, abs=1e-9)
    assert flat.predict(np.array([0.3]))[0] == pytest.approx(0.98)


def test_resamples_without_a_fit_are_counted() -> None:
    # Three concepts, two of them equally similar: a draw often has one similarity only.
    found = similarity_slope(np.array([0.2, 0.2, 0.8]), np.array([10, 14, 30]), np.full(3, 50), resamples=500)
    assert 200 < found.resamples < 500


def test_bad_input_is_refused() -> None:
    x, k, n = concepts()
    cases = [
        ((x[:-1], k, n), "one number per concept"),
        ((x, n + 1, n), "no more correct images"),
        ((x, k, n * 0), "at least one image"),
        ((x * np.nan, k, n), "finite"),
        ((x * 0, k, n), "not all equally similar"),
        ((x[:2], k[:2], n[:2]), "at least 3 concepts"),
        ((x, np.where(x > 0.5, n, 0), n), "no finite slope fits best"),
        ((x, n, n), "no finite slope fits best"),
    ]
    for arguments, message in cases:
        with pytest.raises(UserError, match=message):
            similarity_slope(*arguments)

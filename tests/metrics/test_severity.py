"""Severity of mistakes: values by hand, and the coverage of paired intervals."""

import numpy as np
import pytest

from unseen.errors import UserError
from unseen.metrics.severity import linearised_mistakes, mean_severity, mistake_distances, severity_difference

DISTANCES = np.array([[0.0, 1, 4], [1, 0, 4], [3, 3, 0]])


def test_the_mean_is_over_mistakes() -> None:
    y, guess = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 2, 2, 0])
    values = mistake_distances(y, guess, DISTANCES)
    assert np.isnan(values).tolist() == [True, False, False, True, False]
    found = mean_severity(values)
    assert found is not None
    assert found.value == pytest.approx((1 + 4 + 3) / 3)
    assert linearised_mistakes(values).mean() == pytest.approx(found.value)


def test_without_mistakes_it_is_not_defined() -> None:
    right = mistake_distances(np.array([0, 1]), np.array([0, 1]), DISTANCES)
    wrong = mistake_distances(np.array([0, 1]), np.array([1, 1]), DISTANCES)
    assert mean_severity(right) is None
    assert severity_difference(right, wrong) is None


@pytest.mark.parametrize(
    ("y", "guess"), [([0, 1], [0, 3]), ([0, -1], [0, 1]), ([0, 1], [0])], ids=["other classes", "negative", "lengths"]
)
def test_other_classes_are_refused(y: list[int], guess: list[int]) -> None:
    with pytest.raises(UserError):
        mistake_distances(np.array(y), np.array(guess), DISTANCES)


def test_errors_are_those_of_a_bootstrap() -> None:
    """Of one model, and of the paired difference of two whose mistakes are on different images."""
    rng = np.random.default_rng(0)
    hard = rng.random(1500)
    first, second = (
        np.where(rng.random(1500) < hard * share, rng.integers(1, 9, 1500) + 3 * hard, np.nan) for share in (0.6, 0.4)
    )
    draws = rng.integers(0, 1500, (1000, 1500))
    means = [np.nanmean(values[draws], axis=1) for values in (first, second)]
    one, apart = mean_severity(first), severity_difference(first, second)
    assert one is not None
    assert apart is not None
    assert one.error == pytest.approx(means[0].std(), rel=0.1)
    assert apart.value == pytest.approx(np.nanmean(first) - np.nanmean(second))
    assert apart.error == pytest.approx((means[0] - means[1]).std(), rel=0.1)
    with pytest.raises(UserError):
        severity_difference(first, second[:-1])

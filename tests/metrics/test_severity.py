"""Severity of mistakes: values by hand, and the coverage of paired intervals."""

import numpy as np
import pytest

from unseen.errors import UserError
from unseen.metrics.severity import (
    FEWEST_MISTAKES,
    linearised_mistakes,
    mean_severity,
    mistake_distances,
    severity_difference,
)

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


def mistakes(rng: np.random.Generator, images: int, number: int, shares: tuple[float, ...]) -> np.ndarray:
    """Distances of so many mistakes on images in a random order; the rest is right."""
    values = np.full(images, np.nan)
    places = rng.permutation(images)[:number]
    values[places] = rng.choice([1.0, 2.0, 3.0, 8.0], number, p=shares)
    return values


@pytest.mark.parametrize("number", [1, 4, FEWEST_MISTAKES - 1])
def test_few_mistakes_have_no_interval_and_no_comparison(number: int) -> None:
    rng = np.random.default_rng(0)
    few, many = (mistakes(rng, 1000, each, (0.5, 0.2, 0.2, 0.1)) for each in (number, 200))
    found = mean_severity(few)
    assert found is not None
    assert np.isnan([found.error, found.interval().low, found.p_value]).all()
    assert found.value == pytest.approx(np.nanmean(few))
    assert severity_difference(few, many) is severity_difference(many, few) is None
    alike = np.where(np.isnan(many), np.nan, 2.0)
    flat = mean_severity(alike)
    assert flat is not None
    assert (flat.value, np.isnan(flat.error), severity_difference(alike, many)) == (2.0, True, None)


@pytest.mark.parametrize("number", [FEWEST_MISTAKES, 60])
@pytest.mark.parametrize("shares", [(0.5, 0.2, 0.2, 0.1), (0.25, 0.25, 0.25, 0.25), (0.1, 0.2, 0.4, 0.3)])
def test_intervals_cover_where_they_are_given(number: int, shares: tuple[float, ...]) -> None:
    rng = np.random.default_rng(1)
    truth = np.dot(shares, [1, 2, 3, 8])
    covered, alarms = [], []
    for _ in range(600):
        first, second = (mistakes(rng, 400, number, shares) for _ in range(2))
        found, apart = mean_severity(first), severity_difference(first, second)
        if found is not None and apart is not None:
            ends = found.interval()
            covered.append(ends.low <= truth <= ends.high)
            alarms.append(apart.p_value <= 0.05)
    assert len(covered) == 600
    assert np.mean(covered) >= 0.9
    assert np.mean(alarms) <= 0.07

"""The leader of several accuracies: only with an interval that supports it."""

import numpy as np
import pytest

from unseen.metrics.leaders import clear_leader, difference_interval


@pytest.mark.parametrize(
    ("first", "second", "n", "low", "high"),
    [
        # Newcombe 1998, Table II, method 10, columns (f) and (g).
        (9, 3, 10, 0.1705, 0.8090),
        (10, 0, 10, 0.6075, 1.0),
    ],
)
def test_the_interval_is_newcombes(first: int, second: int, n: int, low: float, high: float) -> None:
    found = difference_interval(first / n, second / n, n)
    assert found.value == pytest.approx((first - second) / n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_one_image_of_150_is_no_lead() -> None:
    assert clear_leader({"a": 113 / 150, "b": 112 / 150}, 150) is None
    assert clear_leader({"a": 113 / 150, "b": 90 / 150, "c": 20 / 150}, 150) == "a"
    assert clear_leader({"a": 113 / 150, "b": 112 / 150, "c": 20 / 150}, 150) is None
    assert clear_leader({"a": 0.9, "b": 0.1}, None) is None
    assert clear_leader({"a": 0.9}, 150) is None
    assert clear_leader({"a": 1.0, "b": 1.0}, 10**6) is None


@pytest.mark.parametrize("names", [2, 12])
def test_equal_models_seldom_have_a_leader(names: int) -> None:
    rng = np.random.default_rng(0)
    drawn = rng.binomial(300, 0.8, size=(400, names)) / 300
    found = [clear_leader(dict(enumerate(map(float, row))), 300) for row in drawn]  # type: ignore[arg-type]
    assert sum(name is not None for name in found) / len(found) < 0.08

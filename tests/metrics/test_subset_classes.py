"""Over-represented classes against SciPy and loops."""

import numpy as np
from scipy.stats import binom

from unseen.metrics.subset_classes import class_p_values


def test_it_is_the_single_step_minimum_p_procedure() -> None:
    rng = np.random.default_rng(0)
    base = np.array([40, 30, 20, 10, 5])
    null = rng.multinomial(21, base / base.sum(), size=60)
    null[:20] = rng.multinomial(40, base / base.sum(), size=20)  # permuted searches may choose another size
    counts = np.array([4, 6, 2, 8, 0])
    tails = lambda own: binom.sf(own - 1, own.sum(), base / base.sum())  # noqa: E731
    chance = np.array([tails(own).min() for own in null])
    expected = [(1 + (chance <= tail).sum()) / 61 for tail in tails(counts)]
    np.testing.assert_allclose(class_p_values(counts, base, null), expected)
    assert expected[3] < 0.05
    assert expected[4] == 1


def test_classes_that_any_search_returns_are_no_finding() -> None:
    """If permuted searches gather in one class too, as searches that follow hits do, its excess is no surprise."""
    base, counts = np.array([50, 50]), np.array([20, 0])
    assert class_p_values(counts, base, np.array([[20, 0], [0, 20]] * 20))[0] == 1
    assert class_p_values(counts, base, np.array([[11, 9], [9, 11]] * 20))[0] < 0.05

"""A point against the line of others: Student's t from SciPy, prediction errors from a simulation."""

import numpy as np
import pytest
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.residuals import new_point_test, student_two_sided


@pytest.mark.parametrize("t", [0.0, 0.3, -1.7, 4.0, 12.0])
def test_student_equals_its_closed_forms(t: float) -> None:
    assert student_two_sided(t, 1) == pytest.approx(1 - 2 / np.pi * np.arctan(abs(t)), rel=1e-12)
    assert student_two_sided(t, 2) == pytest.approx(1 - abs(t) / np.sqrt(2 + t**2), rel=1e-12)


def test_it_is_the_t_test_of_a_dummy_for_the_point() -> None:
    # With a column that is 1 for the new point only, its coefficient is the deleted residual and its test the same.
    rng = np.random.default_rng(0)
    x = rng.normal(size=20)
    y = 1 + 2 * x + rng.normal(size=20)
    design = np.column_stack([np.append(x, 1.5), np.ones(21), np.append(np.zeros(20), 1)])
    target = np.append(y, 6.5)
    line, rest = np.linalg.lstsq(design, target, rcond=None)[:2]
    error = np.sqrt(rest[0] / 18 * np.linalg.inv(design.T @ design)[2, 2])
    assert new_point_test(x, y, 1.5, 6.5) == pytest.approx(2 * stats.t.sf(abs(line[2] / error), 18), rel=1e-9)


def test_points_of_the_line_have_even_p_values() -> None:
    rng = np.random.default_rng(1)
    p = []
    for _ in range(1500):
        x = rng.normal(size=9)
        y = 3 * x + rng.normal(size=9)
        p.append(new_point_test(x[:-1], y[:-1], x[-1], y[-1]))
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_a_line_without_spread() -> None:
    x = np.arange(4.0)
    assert new_point_test(x, 2 * x, 9, 18) == 1
    assert new_point_test(x, 2 * x, 9, 17) == 0


def test_too_few_points_are_refused() -> None:
    for x in (np.array([1.0, 2.0]), np.ones(5)):
        with pytest.raises(UserError, match="at least 3 points"):
            new_point_test(x, x, 1, 1)

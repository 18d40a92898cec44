"""Testing whether a point lies further from the line of others than they do themselves."""

from math import sqrt

import numpy as np

from unseen.errors import UserError
from unseen.metrics.resampling import Floats


def new_point_test(x: Floats, y: Floats, new_x: float, new_y: float) -> float:
    """Two-sided p-value that a point comes from the line, with its spread, of n other points.

    With r the distance of the new point from the least-squares line of the others, s² their residual variance with n −
    2 degrees of freedom and h = 1/n + (new x − x̄)²/Σ(x − x̄)² the leverage, t = r / (s·√(1 + h)) has Student's
    distribution. For a point of a set, with the rest as the others, it is the deleted residual of regression
    diagnostics.

    Args:
        x, y: (n,) coordinates of the others.
    """
    n = len(x)
    if n < 3 or np.ptp(x) == 0:
        raise UserError("a line with a spread needs at least 3 points that are not all at one place")
    from_mean = x - x.mean()
    squares = float(from_mean @ from_mean)
    slope = float(from_mean @ y) / squares
    residual = y - y.mean() - slope * from_mean
    variance = float(residual @ residual) / (n - 2)
    distance = float(new_y - y.mean() - slope * (new_x - x.mean()))
    error = sqrt(variance * (1 + 1 / n + (new_x - float(x.mean())) ** 2 / squares))
    if error == 0:
        return 0.0 if distance else 1.0
    return student_two_sided(distance / error, n - 2)


def student_two_sided(t: float, freedom: int) -> float:
    """P(|T| ≥ |t|) of Student's t."""
    from scipy import special

    return float(2 * special.stdtr(freedom, -abs(t)))

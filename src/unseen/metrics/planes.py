"""Planes fitted by least squares or by Huber's robust loss, for many selections of rows at once."""

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

DEGENERATE = 1e-8
"""Columns count as collinear if their smallest singular value is below this share of the largest."""
HUBER = 1.345
"""Residuals beyond this many standard deviations get less weight: 95% as efficient as least squares for normal errors.
"""
MEDIAN_OF_NORMAL = float(special.ndtri(0.75))
"""The median of |z| of a standard normal z."""
STEPS = 200
TOLERANCE = 1e-10


def with_ones(columns: Array) -> Array:
    """The design: (n, k) columns, followed by the ones of the intercept."""
    return np.column_stack([columns, np.ones(len(columns))])


def least_squares(columns: Array, target: Array) -> Array:
    """(k + 1,) coefficients, weights then intercept, of (n,) targets on (n, k) columns."""
    return np.asarray(np.linalg.lstsq(with_ones(columns), target, rcond=None)[0], dtype=np.float64)


def huber(columns: Array, target: Array) -> Array:
    """The same with Huber's loss: quadratic up to 1.345 standard deviations, linear beyond (Huber 1964).

    The standard deviation is the median absolute least-squares residual over 0.6745, and stays fixed, so the objective
    is convex. Minimised by reweighted least squares.
    """
    every_row_once = np.ones((1, len(target)))
    return planes(columns, target, every_row_once, robust=True).ravel()


def determined(columns: Array, counts: Array) -> NDArray[np.bool_]:
    """Whether each selection of rows, (b, n) counts, determines a plane: (b,)."""
    q = np.linalg.qr(with_ones(columns))[0]
    eigenvalues = np.linalg.eigvalsh(_grams(q, counts))  # squared singular values of Q
    return np.asarray(eigenvalues[:, 0] > DEGENERATE * eigenvalues[:, -1])


def planes(columns: Array, target: Array, counts: Array, *, robust: bool = False) -> Array:
    """The plane of each selection of rows: (b, n) counts of how often each row is taken, to (b, k + 1) coefficients.

    With the design factored once as QR, counts c give R⁻¹(Qᵀ diag(c) Q)⁻¹ Qᵀ diag(c) y: all selections together are one
    product of b × n counts with n × (k + 1)² numbers, and Q preserves digits for nearly collinear columns. Every
    selection must determine its plane.
    """
    q, r = np.linalg.qr(with_ones(columns))
    solved = _solve(q, target, counts)
    if robust:
        solved = _reweighted(q, target, counts, solved)
    coefficients: Array = np.linalg.solve(r, solved.T).T
    return coefficients


def _huber_corner(q: Array, target: Array) -> float:
    """The residual at which Huber's loss becomes linear, from the least-squares residuals of all rows.

    0 if most points are exactly on the plane, which then stays that of least squares.
    """
    residuals = target - q @ (q.T @ target)
    corner = HUBER * float(np.median(np.abs(residuals))) / MEDIAN_OF_NORMAL
    return corner if corner > TOLERANCE * float(np.abs(target).max()) else 0.0


def _grams(q: Array, weights: Array) -> Array:
    """Qᵀ diag(w) Q for each row w of the weights, (b, k + 1, k + 1)."""
    n, width = q.shape
    products = (q[:, :, None] * q[:, None, :]).reshape(n, width * width)
    return (weights @ products).reshape(len(weights), width, width)


def _solve(q: Array, target: Array, weights: Array) -> Array:
    right = weights @ (q * target[:, None])
    return np.asarray(np.linalg.solve(_grams(q, weights), right[:, :, None])[:, :, 0], dtype=np.float64)


def _reweighted(q: Array, target: Array, counts: Array, solved: Array) -> Array:
    """Iterated least squares with weight 1 within the corner of the loss and corner/|residual| beyond."""
    corner = _huber_corner(q, target)
    if not corner:
        return solved
    for _ in range(STEPS):
        sizes = np.abs(target - solved @ q.T)
        before, solved = solved, _solve(q, target, counts * np.minimum(1, corner / np.maximum(sizes, corner)))
        if np.abs(solved - before).max() <= TOLERANCE * np.abs(solved).max():
            break
    return solved

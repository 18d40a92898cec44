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
ROWS_TOGETHER = 2**19
"""Counts that are converted and multiplied at a time, 4 MB: they stay in the processor's cache."""
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
    return _determine(_grams(np.linalg.qr(with_ones(columns))[0], counts))


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


class Resampled:
    """Planes of one design and target under any number of resamples, with everything of the design computed once."""

    def __init__(self, columns: Array, target: Array, *, robust: bool = False) -> None:
        """Arguments as in `planes`."""
        self._q, self._r = np.linalg.qr(with_ones(columns))
        self._target, self._robust = target, robust
        self._sums = np.hstack([_products(self._q), self._q * target[:, None]])

    def planes(self, counts: NDArray[np.integer]) -> Array:
        """The planes of the resamples, (b, n) counts, that determine one: (at most b, k + 1) coefficients."""
        width = self._q.shape[1]
        sums = self._summed(counts)
        grams, right = sums[:, : width * width].reshape(-1, width, width), sums[:, width * width :]
        kept = _determine(grams)
        solved = np.asarray(np.linalg.solve(grams[kept], right[kept, :, None])[:, :, 0], dtype=np.float64)
        if self._robust:
            solved = _reweighted(self._q, self._target, counts[kept].astype(np.float64), solved)
        coefficients: Array = np.linalg.solve(self._r, solved.T).T
        return coefficients

    def _summed(self, counts: NDArray[np.integer]) -> Array:
        """counts @ sums, a few resamples at a time."""
        step = max(1, ROWS_TOGETHER // counts.shape[1])
        as_floats = np.empty((min(step, len(counts)), counts.shape[1]))
        parts = []
        for start in range(0, len(counts), step):
            some = counts[start : start + step]
            as_floats[: len(some)] = some
            parts.append(as_floats[: len(some)] @ self._sums)
        return np.concatenate(parts)


def _huber_corner(q: Array, target: Array) -> float:
    """The residual at which Huber's loss becomes linear, from the least-squares residuals of all rows.

    0 if most points are exactly on the plane, which then stays that of least squares.
    """
    residuals = target - q @ (q.T @ target)
    corner = HUBER * float(np.median(np.abs(residuals))) / MEDIAN_OF_NORMAL
    return corner if corner > TOLERANCE * float(np.abs(target).max()) else 0.0


def _grams(q: Array, weights: Array) -> Array:
    """Qᵀ diag(w) Q for each row w of the weights, (b, k + 1, k + 1)."""
    width = q.shape[1]
    return (weights @ _products(q)).reshape(len(weights), width, width)


def _products(q: Array) -> Array:
    """q qᵀ of every row, flattened: (n, (k + 1)²)."""
    return np.asarray((q[:, :, None] * q[:, None, :]).reshape(len(q), -1))


def _determine(grams: Array) -> NDArray[np.bool_]:
    """Whether each Qᵀ diag(c) Q, (b, k + 1, k + 1), is that of rows that determine a plane: (b,)."""
    eigenvalues = np.linalg.eigvalsh(grams)  # squared singular values of Q
    return np.asarray(eigenvalues[:, 0] > DEGENERATE * eigenvalues[:, -1])


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

"""Planes fitted without the rows of each fold, derived from the plane of all rows: time and memory linear in the rows.

With the design factored as QR, fold S removes G = Q_Sᵀ Q_S from the identity that all rows sum to, so that each fold
needs only a (k + 1) × (k + 1) matrix, for any number and size of folds.
"""

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.planes import DEGENERATE, huber, huber_corner, planes, with_ones

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

ENTRIES = 2**22
"""Number of values of one batch of folds and rows processed together: 32 MB."""
STEPS = 30
SETTLED = 1e-12
"""A plane has converged when a step changes its coefficients by less than this share of the largest."""


def folds_determined(columns: Array, labels: Labels) -> bool:
    """Whether the rows outside each fold determine a plane, by the rule of `planes.determined`.

    Args:
        columns: (n, k).
        labels: (n,) the fold of each row, 0 to f − 1.
    """
    eigenvalues = np.linalg.eigvalsh(_rest_grams(np.linalg.qr(with_ones(columns))[0], labels))
    return bool((eigenvalues[:, 0] > DEGENERATE * eigenvalues[:, -1]).all())


def held_out_targets(columns: Array, target: Array, labels: Labels, *, robust: bool = False) -> Array:
    """(n,) prediction for each row by the plane of the rows outside its fold; arguments as in `folds_determined`.

    Least squares: with hat matrix H = QQᵀ and residuals e, those of a held-out fold are (I − H_SS)⁻¹ e_S, which is e_S
    + Q_S (I − Q_Sᵀ Q_S)⁻¹ Q_Sᵀ e_S. For a single row this is the familiar e / (1 − h).

    Huber's loss, with the corner c of all rows: see `_huber_without`.
    """
    q, r = np.linalg.qr(with_ones(columns))
    corner = huber_corner(q, target) if robust else 0.0
    if corner:
        solved = _huber_without(q, target, labels, r @ huber(columns, target), corner)
        for fold in np.flatnonzero(np.isnan(solved[:, 0])):
            rest = (labels != fold).astype(np.float64)
            solved[fold] = r @ planes(columns, target, rest[None], robust=True)[0]
        return np.asarray((q * solved[labels]).sum(axis=1))
    residuals = target - q @ (q.T @ target)
    correction = np.linalg.solve(_rest_grams(q, labels), _sums(q * residuals[:, None], labels)[:, :, None])[:, :, 0]
    return np.asarray(target - residuals - (q * correction[labels]).sum(axis=1))


def _huber_without(q: Array, target: Array, labels: Labels, start: Array, corner: float) -> Array:
    """Exact coefficients (in Q) of Huber's loss without each fold, (f, k + 1); NaN if they have to be refitted.

    The loss is quadratic as long as no residual crosses the corner. With the rows inside the corner (I) and those
    beyond (B, of sign s) its minimum β solves  Σ_I q qᵀ β = Σ_I q y + c Σ_B s q,  and these sums without a fold are the
    sums of all rows minus the fold's. The rows are then reassigned by the new residuals, and β is solved for again
    until no row changes sides (Newton's method, which ends at the exact minimum).

    Only few rows need checking: β at distance d from the plane of all rows changes residual j by at most ‖q_j‖d, so
    only rows closer to the corner than that can change sides. When a single row is left out, d is of order 1/n, and
    these are a handful.

    Args:
        start: (k + 1,) minimum for all rows, in Q.
    """
    residuals = target - q @ start
    sides = _sides(residuals, corner)
    inside = sides == 0
    products, right = _products(q), q * target[:, None]
    grams = _all_but(products * inside[:, None], labels)
    sums = _all_but(right * inside[:, None] + corner * q * sides[:, None], labels)
    reach = np.abs(np.abs(residuals) - corner) / np.linalg.norm(q, axis=1)  # distance at which a row may change sides
    order = np.argsort(reach)
    reach = reach[order]
    solved = np.full(sums.shape, np.nan)
    current = np.tile(start, (len(sums), 1))
    left = np.arange(len(sums))
    for _ in range(STEPS):
        many = np.searchsorted(reach, np.linalg.norm(current[left] - start, axis=1), side="right")
        left, many = left[np.argsort(many)], np.sort(many)
        unsettled = []
        done = 0
        while done < len(left):
            size = int(np.searchsorted(many[done:] * np.arange(1, len(many) - done + 1), ENTRIES, side="right"))
            batch = left[done : done + max(size, 1)]
            done += len(batch)
            rows = order[: many[done - 1]]
            now = _sides(target[rows] - current[batch] @ q[rows].T, corner)
            apart = labels[rows] != batch[:, None]
            entered = apart * ((now == 0).astype(np.float64) - inside[rows])
            gram = (grams[batch] + entered @ products[rows]).reshape(len(batch), q.shape[1], q.shape[1])
            total = sums[batch] + entered @ right[rows] + corner * (apart * (now - sides[rows])) @ q[rows]
            eigenvalues = np.linalg.eigvalsh(gram)
            good = eigenvalues[:, 0] > DEGENERATE * eigenvalues[:, -1]
            batch, new = batch[good], np.linalg.solve(gram[good], total[good, :, None])[:, :, 0]
            settled = np.abs(new - current[batch]).max(axis=1) <= SETTLED * np.abs(new).max(axis=1)
            current[batch] = new
            solved[batch[settled]] = new[settled]
            unsettled.append(batch[~settled])
        left = np.concatenate(unsettled)
        if not len(left):
            break
    return solved


def _sides(residuals: Array, corner: float) -> Array:
    """0 for residuals within the corner, otherwise their sign."""
    return np.asarray(np.where(np.abs(residuals) > corner, np.sign(residuals), 0.0))


def _products(q: Array) -> Array:
    """q qᵀ of every row, flattened: (n, (k + 1)²)."""
    return np.asarray((q[:, :, None] * q[:, None, :]).reshape(len(q), -1))


def _rest_grams(q: Array, labels: Labels) -> Array:
    """QᵀQ over the rows outside each fold, (f, k + 1, k + 1)."""
    width = q.shape[1]
    return np.asarray(np.eye(width) - _sums(_products(q), labels).reshape(-1, width, width))


def _all_but(values: Array, labels: Labels) -> Array:
    """Sums over the rows outside each fold: (n, m) to (f, m)."""
    return np.asarray(values.sum(axis=0) - _sums(values, labels))


def _sums(values: Array, labels: Labels) -> Array:
    """Sums over the rows of each fold: (n, m) to (f, m)."""
    return np.stack([np.bincount(labels, column) for column in values.T], axis=1)

"""Least squares with whole folds held out, for many targets and designs at once.

As in `unseen.metrics.held_out`, with the design of each target factored as QR: without fold S, the coefficients in Q
change by −(I − Q_Sᵀ Q_S)⁻¹ Q_Sᵀ e_S. Rows that a target does not use are zero in its Q, so every target may have models
of its own; all targets are one batch of small matrices.
"""

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.planes import DEGENERATE

Array = NDArray[np.float64]
ENTRIES = 2**23
"""Numbers of one batch: 64 MB."""


def held_out_many(designs: Array, targets: Array, used: NDArray[np.bool_], folds: NDArray[np.intp]) -> Array:
    """(T, n) prediction for each row by the plane of the rows outside its fold; NaN for rows that are not used.

    All are NaN for a target whose rows do not determine a plane, with or without one of the folds: too few rows, or a
    column that is constant or determined by the others.

    Args:
        designs: (T, n, k) columns, without the ones of the intercept; k may be 0.
        targets: (T, n).
        used: (T, n) which rows count for each target; the others may have any values.
        folds: (n,) fold of each row, 0 to f − 1.
    """
    many, n, k = designs.shape
    predicted = np.full((many, n), np.nan)
    order = np.argsort(folds, kind="stable")
    step = max(1, ENTRIES // max(n * (k + 1) ** 2, 1))
    for start in range(0, many, step):
        some = slice(start, start + step)
        found = _held_out(designs[some][:, order], targets[some][:, order], used[some][:, order], folds[order])
        predicted[some, order] = found
    return predicted


def _held_out(designs: Array, targets: Array, used: NDArray[np.bool_], folds: NDArray[np.intp]) -> Array:
    """The same for one batch whose rows are sorted by fold."""
    weights = used[:, :, None].astype(np.float64)
    counts = np.maximum(weights.sum(axis=1, keepdims=True), 1)
    columns = np.where(used[:, :, None], designs, 0.0)
    columns = (columns - columns.sum(axis=1, keepdims=True) / counts) * weights
    lengths = np.linalg.norm(columns, axis=1, keepdims=True)
    flat = lengths <= DEGENERATE * np.abs(np.where(used[:, :, None], designs, 0.0)).max(
        axis=1, keepdims=True, initial=0
    )
    design = np.concatenate([np.where(flat, 0.0, columns / np.where(lengths > 0, lengths, 1.0)), weights], axis=2)
    width = design.shape[2]
    if design.shape[1] < width:
        return np.full(targets.shape, np.nan)
    q, r = np.linalg.qr(design)
    sizes = np.abs(np.diagonal(r, axis1=1, axis2=2))
    whole = (sizes[:, :-1] > DEGENERATE).all(axis=1) & (sizes[:, -1] > 0)
    y = np.where(used, targets, 0.0)
    coefficients = np.einsum("tnk,tn->tk", q, y)
    residuals = y - np.einsum("tnk,tk->tn", q, coefficients)
    first = np.flatnonzero(np.diff(folds, prepend=-1))
    products = (q[:, :, :, None] * q[:, :, None, :]).reshape(*q.shape[:2], -1)
    rest = np.eye(width) - np.add.reduceat(products, first, axis=1).reshape(len(q), len(first), width, width)
    moments = np.add.reduceat(q * residuals[:, :, None], first, axis=1)
    eigenvalues = np.linalg.eigvalsh(rest)
    determined = whole & (eigenvalues[..., 0] > DEGENERATE).all(axis=1)
    rest[~determined] = np.eye(width)
    changes = np.linalg.solve(rest, moments[..., None])[..., 0]
    place = np.searchsorted(folds[first], folds)
    predicted = np.einsum("tnk,tnk->tn", q, coefficients[:, None] - changes[:, place])
    return np.where(determined[:, None] & used, predicted, np.nan)

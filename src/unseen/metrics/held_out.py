"""Planes fitted without the rows of each fold, derived from the plane of all rows: time and memory linear in the rows.

With the design factored as QR, fold S removes G = Q_Sᵀ Q_S from the identity that all rows sum to, so that each fold
needs only a (k + 1) × (k + 1) matrix, for any number and size of folds.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.planes import DEGENERATE, HUBER, MEDIAN_OF_NORMAL, TOLERANCE, huber, with_ones

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

    Least squares: leaving out fold S changes the coefficients in Q by −(I − Q_Sᵀ Q_S)⁻¹ Q_Sᵀ e_S, with e the residuals
    of all rows. For a single row, its held-out residual is then the familiar e / (1 − h).

    Huber's loss: nothing is taken from the fold, so its corner is computed without it as well (`_corners`). See
    `_huber_without` for the coefficients.
    """
    q, r = np.linalg.qr(with_ones(columns))
    whole = q.T @ target
    residuals = target - q @ whole
    moments = _sums(q * residuals[:, None], labels)
    changes: Array = np.linalg.solve(_rest_grams(q, labels), moments[:, :, None])[:, :, 0].astype(np.float64)
    solved = whole - changes
    if robust:
        corners = _corners(q, residuals, changes, labels)
        bent = corners > TOLERANCE * np.abs(target).max()  # otherwise most rows are on the plane of least squares
        solved[bent] = _huber_without(q, target, labels, r @ huber(columns, target), corners)[bent]
        for fold in np.flatnonzero(np.isnan(solved[:, 0])):
            rest = labels != fold
            solved[fold] = r @ huber(columns[rest], target[rest])
    return np.asarray((q * solved[labels]).sum(axis=1))


def _corners(q: Array, residuals: Array, changes: Array, labels: Labels) -> Array:
    """The corner of Huber's loss without each fold, (f,): a multiple of the median size of the residuals outside it.

    Without a fold, the least-squares residual of row j changes by q_j · δ, with δ the fold's row of `changes`, so its
    size changes by at most w = max ‖q‖ ‖δ‖. Sorted by size, rows farther than 2w from the median of all rows are on
    the same side of the median without the fold: they are counted, and only the rows between are computed and sorted.
    When a single row is left out, these are a handful.
    """
    n, members = len(q), np.bincount(labels)
    sizes = np.abs(residuals)
    order = np.argsort(sizes)
    sizes = sizes[order]
    lower, upper = (n - members - 1) // 2, (n - members) // 2  # ranks of the median of the rows outside a fold
    window = 2 * np.linalg.norm(q, axis=1).max() * np.linalg.norm(changes, axis=1)
    first = np.searchsorted(sizes, sizes[lower] - window, side="left")
    last = np.searchsorted(sizes, sizes[np.minimum(upper + members, n - 1)] + window, side="right")
    medians = np.empty(len(members))
    by_width = np.argsort(last - first)
    for some in _batches((last - first)[by_width]):
        batch = by_width[some]
        start, stop = first[batch].min(), last[batch].max()
        rows = order[start:stop]
        changed = np.abs(residuals[rows] + changes[batch] @ q[rows].T)
        changed[labels[rows] == batch[:, None]] = np.inf
        changed.sort(axis=1)
        below = start - np.bincount(labels[order[:start]], minlength=len(members))[batch]
        ranks = np.stack([lower[batch] - below, upper[batch] - below], axis=1)
        medians[batch] = np.take_along_axis(changed, ranks, axis=1).mean(axis=1)
    return HUBER * medians / MEDIAN_OF_NORMAL


def _huber_without(q: Array, target: Array, labels: Labels, start: Array, corners: Array) -> Array:
    """Exact coefficients (in Q) of Huber's loss without each fold, (f, k + 1); NaN if they have to be refitted.

    The loss is quadratic as long as no residual crosses the corner c. With the rows inside the corner (I) and those
    beyond (B, of sign s) its minimum β solves  Σ_I q qᵀ β = Σ_I q y + c Σ_B s q,  and these sums without a fold are the
    sums of all rows minus the fold's. The rows are then reassigned by the new residuals, and β is solved for again
    until no row changes sides (Newton's method, which ends at the exact minimum).

    Only few rows need checking: β at distance d from the plane of all rows changes residual j by at most ‖q_j‖d, so
    only rows closer to the median corner of all folds than that, and than the difference of the fold's corner to it,
    can change sides. When a single row is left out, d is of order 1/n, and these are a handful.

    Args:
        start: (k + 1,) minimum for all rows, in Q.
        corners: (f,) of each fold.
    """
    usual = float(np.median(corners))
    residuals = target - q @ start
    sides = _sides(residuals, usual)
    inside = sides == 0
    products, right = _products(q), q * target[:, None]
    grams = _all_but(products * inside[:, None], labels)
    sums, signs = _all_but(right * inside[:, None], labels), _all_but(q * sides[:, None], labels)
    margins = np.abs(np.abs(residuals) - usual)
    order = np.argsort(margins)
    margins = margins[order]
    longest = np.linalg.norm(q, axis=1).max()
    solved = np.full(sums.shape, np.nan)
    current = np.tile(start, (len(sums), 1))
    left = np.arange(len(sums))
    for _ in range(STEPS):
        reach = longest * np.linalg.norm(current[left] - start, axis=1) + np.abs(corners[left] - usual)
        many = np.searchsorted(margins, reach, side="right")
        left, many = left[np.argsort(many)], np.sort(many)
        unsettled = []
        for some in _batches(many):
            batch, rows = left[some], order[: many[some][-1]]
            corner = corners[batch, None]
            now = _sides(target[rows] - current[batch] @ q[rows].T, corner)
            apart = labels[rows] != batch[:, None]
            entered = apart * ((now == 0).astype(np.float64) - inside[rows])
            gram = (grams[batch] + entered @ products[rows]).reshape(len(batch), q.shape[1], q.shape[1])
            beyond = signs[batch] + (apart * (now - sides[rows])) @ q[rows]
            total = sums[batch] + entered @ right[rows] + corner * beyond
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


def _batches(rows: NDArray[np.intp]) -> Iterator[slice]:
    """Consecutive folds, sorted by how many rows each needs, such that folds × rows are at most `ENTRIES`, or one."""
    done = 0
    while done < len(rows):
        size = int(np.searchsorted(rows[done:] * np.arange(1, len(rows) - done + 1), ENTRIES, side="right"))
        yield slice(done, done + max(size, 1))
        done += max(size, 1)


def _sides(residuals: Array, corner: Array | float) -> Array:
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

"""Near-copies among models: those of one group that agree, image by image, beyond what their accuracies explain.

Two fine-tunes of one checkpoint, or two sizes of a network on the same few images, are one observation and not two. For
each image, hits are regressed on the group and the in-distribution accuracy of models, and residuals of two models are
correlated over the images. Independent models have the correlation that the regression itself makes, e = Mₐᵦ/√(MₐₐMᵦᵦ)
with M the projection on residuals; what is beyond it is the excess (r − e)/(1 − e), 0 for independent models and 1 for
identical ones. Its standard error for independent models is about 1/√n of n images.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NEAR = 0.2
"""The excess from which a model counts as a near-copy."""
ERRORS = 4.0
"""And so many standard errors, which is more if images are few."""


def near_copies(hits: NDArray[np.bool_], ability: Array, group: NDArray[np.intp]) -> NDArray[np.intp]:
    """(m,) the earlier model that each one is a near-copy of, and −1 for the others, which are copies of none of them.

    Args:
        hits: (n, m) whether each model is right on each image.
        ability: (m,) ID accuracies on the scale of the relation.
        group: (m,) numbers from 0 without gaps.
    """
    excess = agreement_excess(hits, ability, group)
    varied = int((hits.any(axis=1) & ~hits.all(axis=1)).sum())
    near = excess >= max(NEAR, ERRORS / np.sqrt(max(varied, 1)))
    copy_of = np.full(len(ability), -1)
    for model in range(1, len(ability)):
        kept = near[model, :model] & (copy_of[:model] < 0)
        if kept.any():
            copy_of[model] = int(np.argmax(np.where(kept, excess[model, :model], -np.inf)))
    return copy_of


def agreement_excess(hits: NDArray[np.bool_], ability: Array, group: NDArray[np.intp]) -> Array:
    """(m, m) excesses of pairs of one group; −1 for other pairs, and for models without residuals."""
    centred = hits.astype(np.float32) - hits.mean(axis=0, dtype=np.float32)
    member = np.eye(int(group.max()) + 1)[group]
    design = np.column_stack([member, ability - (member.T @ ability / member.sum(axis=0))[group]])
    residual = np.eye(len(ability)) - design @ np.linalg.pinv(design)
    together = residual @ (centred.T @ centred).astype(np.float64) @ residual
    r, expected = _correlation(together), _correlation(residual)
    pairs = (group[:, None] == group) & ~np.eye(len(ability), dtype=np.bool_) & np.isfinite(r) & (expected < 1 - 1e-6)
    return np.where(pairs, (np.nan_to_num(r) - expected) / np.where(pairs, 1 - expected, 1.0), -1.0)


def _correlation(covariance: Array) -> Array:
    """NaN where there is no variance."""
    variance = np.diag(covariance)
    deviation = np.sqrt(np.where(variance > 1e-9 * max(float(variance.max()), 1e-300), variance, np.nan))
    return np.asarray(covariance / deviation / deviation[:, None])

"""Top-k accuracy and mean per-class accuracy."""

import torch
from torch import Tensor

from unseen.errors import UserError


def top_k_correct(scores: Tensor, y: Tensor, k: int) -> Tensor:
    """Number of rows with their label among the k largest scores.

    Args:
        scores: (..., n, c), larger is more likely; leading dimensions are separate classifiers.
        y: (n,) class indices.

    Returns:
        (...) counts. With fewer than k classes every row counts. Rows with a NaN score never do, so that classifiers
        that diverged lose a search; what is reported must not rest on this.
    """
    return top_k_hits(scores, y, k).sum(dim=-1)


def top_k_accuracy(scores: Tensor, y: Tensor, k: int = 1) -> Tensor:
    """The share of rows that `top_k_correct` counts: (...) in float64. Scores that are not finite are refused."""
    y = _checked(scores, y)
    if k < 1:
        raise UserError(f"top-k accuracy needs k of at least 1, not {k}")
    return top_k_correct(scores, y, k).double() / len(y)


def mean_per_class_accuracy(scores: Tensor, y: Tensor) -> Tensor:
    """Top-1 accuracy within each class that occurs in y, averaged over those classes: (...) in float64.

    A row of a class with m samples has weight 1/m, so the mean over classes is one weighted sum over rows. Equal to
    `top_k_accuracy` if all classes have the same number of samples. Arguments as in `top_k_correct`; scores that are
    not finite are refused.
    """
    y = _checked(scores, y)
    _, inverse, counts = torch.unique(y, return_inverse=True, return_counts=True)
    weights = torch.reciprocal(counts[inverse].double() * len(counts))
    return (top_k_hits(scores, y, 1) * weights).sum(dim=-1)


def top_k_hits(scores: Tensor, y: Tensor, k: int) -> Tensor:
    """(..., n): the rows that `top_k_correct` counts, with ties broken in the same way; arguments as there."""
    if k == 1:  # the usual case is several times faster with a maximum, which is NaN if a score is
        value, place = scores.max(dim=-1)
        return (place == y) & value.isfinite()
    best = scores.topk(min(k, scores.shape[-1]), dim=-1).indices
    return (best == y[:, None]).any(dim=-1) & torch.isfinite(scores).all(dim=-1)


def _checked(scores: Tensor, y: Tensor) -> Tensor:
    """Labels on the device of the scores, if the two match and scores are finite; the counting functions do not check,
    since they run in inner loops.
    """
    if scores.ndim < 2 or y.ndim != 1 or scores.shape[-2] != len(y) or scores.numel() == 0:
        raise UserError(f"scores of shape {tuple(scores.shape)} do not match labels of shape {tuple(y.shape)}")
    if y.is_floating_point() or int(y.min()) < 0 or int(y.max()) >= scores.shape[-1]:
        raise UserError(
            f"labels must be class indices from 0 to {scores.shape[-1] - 1}, with one column of scores each"
        )
    if not bool(scores.isfinite().all()):
        raise UserError("the scores are not all finite numbers, so they have no accuracy")
    return y.to(scores.device)

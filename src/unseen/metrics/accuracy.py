"""Accuracy: of the k best guesses, and with every class of equal weight."""

import torch
from torch import Tensor

from unseen.errors import UserError


def top_k_correct(scores: Tensor, y: Tensor, k: int) -> Tensor:
    """How many rows have their label among the k greatest scores.

    Args:
        scores: (..., n, c), greater is more likely; leading dimensions are separate classifiers.
        y: (n,) class indices.

    Returns:
        (...) counts. With fewer than k classes every row counts. Rows with a score that is not a number never do.
    """
    return _hits(scores, y, k).sum(dim=-1)


def top_k_accuracy(scores: Tensor, y: Tensor, k: int = 1) -> Tensor:
    """The share of rows that `top_k_correct` counts: (...) in float64."""
    y = _checked(scores, y)
    if k < 1:
        raise UserError(f"top-k accuracy needs k of at least 1, not {k}")
    return top_k_correct(scores, y, k).double() / len(y)


def mean_per_class_accuracy(scores: Tensor, y: Tensor) -> Tensor:
    """Top-1 accuracy within each class that y has, averaged over those classes: (...) in float64.

    A row of a class with m samples weighs 1/m, so the mean over classes is one weighted sum over rows. Equal to
    `top_k_accuracy` where all classes have as many samples. Arguments as in `top_k_correct`.
    """
    y = _checked(scores, y)
    _, inverse, counts = torch.unique(y, return_inverse=True, return_counts=True)
    weights = torch.reciprocal(counts[inverse].double() * len(counts))
    return (_hits(scores, y, 1) * weights).sum(dim=-1)


def _hits(scores: Tensor, y: Tensor, k: int) -> Tensor:
    """(..., n): whether a row's label is among its k greatest scores, and its scores are numbers."""
    if k == 1:  # the usual case, several times faster by a maximum, which is not a number where a score is not
        value, place = scores.max(dim=-1)
        return (place == y) & value.isfinite()
    best = scores.topk(min(k, scores.shape[-1]), dim=-1).indices
    return (best == y[:, None]).any(dim=-1) & torch.isfinite(scores).all(dim=-1)


def _checked(scores: Tensor, y: Tensor) -> Tensor:
    """Labels where the scores are, if they fit together; the counting itself does not look: it is in inner loops."""
    if scores.ndim < 2 or y.ndim != 1 or scores.shape[-2] != len(y) or scores.numel() == 0:
        raise UserError(f"scores of shape {tuple(scores.shape)} do not go with labels of shape {tuple(y.shape)}")
    if y.is_floating_point() or int(y.min()) < 0 or int(y.max()) >= scores.shape[-1]:
        raise UserError(f"labels must be class indices from 0 to {scores.shape[-1] - 1}, a column of scores for each")
    return y.to(scores.device)

"""Top-k accuracy."""

import torch
from torch import Tensor


def top_k_correct(scores: Tensor, y: Tensor, k: int) -> Tensor:
    """How many rows have their label among the k greatest scores.

    Args:
        scores: (..., n, c), greater is more likely; leading dimensions are separate classifiers.
        y: (n,) class indices.

    Returns:
        (...) counts. With fewer than k classes every row counts. Rows with a score that is not a number never do.
    """
    k = min(k, scores.shape[-1])
    best = scores.topk(k, dim=-1).indices
    hits = (best == y[:, None]).any(dim=-1) & torch.isfinite(scores).all(dim=-1)
    return hits.sum(dim=-1)

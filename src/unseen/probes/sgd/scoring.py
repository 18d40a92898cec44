"""Accuracies of stacked classifiers."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from unseen.metrics.accuracy import top_k_correct
from unseen.probes.sgd.rows import Mapped, Resident, Streamed

SCORES = 1 << 26
"""Scores in memory at once, to bound memory."""
ROWS = 1 << 20
"""Values of rows in memory at once if they are not in memory anyway."""


def accuracies(
    source: Resident | Streamed | Mapped,
    index: Tensor,
    y: Tensor,
    weights: Tensor,
    ks: tuple[int, ...] = (1,),
    *,
    mark_not_finite: bool = False,
) -> Tensor:
    """(len(ks), k): top-k accuracy of each of the stacked classifiers on the rows at `index`.

    Args:
        index: (m,) rows of the source, on the host.
        y: (m,) their class indices.
        weights: (k, d + 1, c), the bias last, on the source's device.
        mark_not_finite: whether a classifier has the accuracy NaN if any of its scores is not finite. Otherwise it is
            wrong on these rows, as a search needs it.
    """
    trials, used, classes = weights.shape
    correct = torch.zeros(len(ks), trials, dtype=torch.long, device=weights.device)
    finite = torch.ones(trials, dtype=torch.bool, device=weights.device)
    kernel = pad(weights.transpose(0, 1).reshape(used, -1), (0, 0, 0, source.dimension - used))
    block = max(SCORES // kernel.shape[1], 1)
    if isinstance(source, Mapped):
        block = min(block, max(ROWS // source.dimension, 1))
    for start in range(0, len(index), block):
        scores = _product(source.take(index[start : start + block]), kernel).view(-1, trials, classes)
        if mark_not_finite:
            finite &= scores.isfinite().all(dim=2).all(dim=0)
        labels = y[start : start + block].to(weights.device)
        for i, k in enumerate(ks):
            correct[i] += top_k_correct(scores.transpose(0, 1), labels, k)
    return (correct.double() / len(index)).masked_fill_(~finite, torch.nan).cpu()


def _product(rows: Tensor, kernel: Tensor) -> Tensor:
    """In full precision or, for 16-bit rows, with 16-bit factors summed in 32 bits and not rounded again."""
    if rows.dtype == torch.float16 and rows.is_cuda:
        return torch.mm(rows, kernel.half(), out_dtype=torch.float32)
    return rows.to(kernel.dtype) @ kernel

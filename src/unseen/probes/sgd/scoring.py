"""Accuracies of stacked classifiers."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import pad

from unseen.metrics.accuracy import top_k_correct, top_k_hits
from unseen.probes.sgd.rows import ColumnsOf, Mapped, Resident, Streamed

SCORES = 1 << 26
"""Scores in memory at once, to bound memory."""
ROWS = 1 << 20
"""Values of rows in memory at once if they are not in memory anyway."""
COPIED = 1 << 24
"""Values at once if columns are copied from them."""
Source = Resident | Streamed | Mapped | ColumnsOf


def accuracies(
    source: Source,
    index: Tensor,
    y: Tensor,
    weights: Tensor,
    ks: tuple[int, ...] = (1,),
) -> Tensor:
    """(len(ks), k): top-k accuracy of each of the stacked classifiers on the rows at `index`.

    A classifier is wrong on rows with scores that are not finite, so that it loses a search.

    Args:
        index: (m,) rows of the source, on the host.
        y: (m,) their class indices.
        weights: (k, d + 1, c), the bias last, on the source's device.
    """
    correct = torch.zeros(len(ks), len(weights), dtype=torch.long, device=weights.device)
    for scores, labels in _scored(source, index, y, weights):
        for i, k in enumerate(ks):
            correct[i] += top_k_correct(scores, labels, k)
    return (correct.double() / len(index)).cpu()


def final_hits(source: Source, y: Tensor, weights: Tensor, ks: tuple[int, ...]) -> Tensor | None:
    """(len(ks), n): whether one classifier has the class of each row among its k largest scores, on the host.

    None if a score is not finite. Arguments as in `accuracies`, with weights (1, d + 1, c).
    """
    finite, hits = torch.ones((), dtype=torch.bool, device=weights.device), list[Tensor]()
    for scores, labels in _scored(source, torch.arange(len(y)), y, weights):
        finite &= scores.isfinite().all()
        hits.append(torch.cat([top_k_hits(scores, labels, k) for k in ks]))
    return torch.cat(hits, dim=1).cpu() if bool(finite) else None


def _scored(source: Source, index: Tensor, y: Tensor, weights: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Blocks of scores (k, b, c) and their labels (b,) on the device of the weights; arguments as in `accuracies`."""
    trials, used, classes = weights.shape
    kernel = pad(weights.transpose(0, 1).reshape(used, -1), (0, 0, 0, source.dimension - used))
    block = max(SCORES // kernel.shape[1], 1)
    if isinstance(source, Mapped | ColumnsOf):
        block = min(block, max((ROWS if isinstance(source, Mapped) else COPIED) // source.dimension, 1))
    for start in range(0, len(index), block):
        scores = _product(source.take(index[start : start + block]), kernel).view(-1, trials, classes)
        yield scores.transpose(0, 1), y[start : start + block].to(weights.device)


def _product(rows: Tensor, kernel: Tensor) -> Tensor:
    """In full precision or, for 16-bit rows, with 16-bit factors summed in 32 bits and not rounded again."""
    if rows.dtype == torch.float16 and rows.is_cuda:
        return torch.mm(rows, kernel.half(), out_dtype=torch.float32)
    return rows.to(kernel.dtype) @ kernel

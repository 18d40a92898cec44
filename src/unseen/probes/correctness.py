"""Which test images a linear classifier predicts correctly."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 4096
"""Rows scored at once."""


def linear_scores(rows: "Tensor", weights: "Tensor", bias: "Tensor") -> Iterator["Tensor"]:
    """(b, c) scores of blocks of rows, in float32 on their device.

    The factors are rounded as in the probe: 16-bit rows on a GPU are multiplied with 16-bit weights.

    Args:
        rows: (n, d) of length 1, float32 or float16.
        weights, bias: (c, d) and (c,).
    """
    import torch

    kernel, offset = weights.T.to(rows.device), bias.to(rows.device)
    if rows.is_cuda:
        kernel, offset = kernel.to(rows.dtype).float(), offset.to(rows.dtype).float()
    for block in torch.split(rows, BLOCK):
        yield block.float() @ kernel + offset


def top1_hits(rows: "Tensor", y: "Tensor", weights: "Tensor", bias: "Tensor") -> NDArray[np.bool_]:
    """(n,) whether the largest score of each row is that of its class; arguments as in `linear_scores`.

    The probe's top-1 accuracy is their mean, up to ties that depend on the order of summation.
    """
    import torch

    hits = []
    for scores, labels in zip(linear_scores(rows, weights, bias), torch.split(y, BLOCK), strict=True):
        value, place = scores.max(dim=1)
        hits.append((place.cpu() == labels) & value.isfinite().cpu())
    correct: NDArray[np.bool_] = torch.cat(hits).numpy()
    return correct

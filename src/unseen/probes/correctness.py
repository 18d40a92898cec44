"""The scores of a linear classifier on test images."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

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

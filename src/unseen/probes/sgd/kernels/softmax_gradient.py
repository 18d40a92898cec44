"""The gradient of the cross-entropy with respect to the scores of many classifiers, by default in place.

One pass over the scores: they are read once and written once.
"""

import torch
from torch import Tensor

from unseen.probes.sgd.kernels.dispatch import use_triton
from unseen.probes.sgd.kernels.layout import Layout

WIDEST = 16_384
"""Maximum number of classes for which one program holds a row in its registers."""


def softmax_gradient(
    scores: Tensor,
    labels: Tensor,
    layout: Layout,
    *,
    scale: float,
    bias: Tensor | None = None,
    out: Tensor | None = None,
) -> None:
    """Write `scale` · (softmax(scores + bias) − one-hot), trial by trial.

    Args:
        scores: (s, b, columns) of s problems, of any float dtype, contiguous. Columns beyond those of the trials are
            unchanged; those that pad a trial become 0.
        labels: (s, b) class indices; a row with a negative label becomes 0.
        bias: (s, columns) of any float dtype, its columns contiguous; 0 by default.
        out: like the scores, of any float dtype; by default the scores themselves.
    """
    into = scores if out is None else out
    if use_triton(scores) and layout.width <= WIDEST:
        _triton(scores, labels, layout, scale, bias, into)
    else:
        _plain(scores, labels, layout, scale, bias, into)


def _plain(scores: Tensor, labels: Tensor, layout: Layout, scale: float, bias: Tensor | None, out: Tensor) -> None:
    logits = layout.split(scores).to(torch.promote_types(scores.dtype, torch.float32))
    if bias is not None:
        logits = logits + layout.split(bias)[:, None]
    gradient = logits.softmax(dim=-1)
    targets = labels.clamp(min=0)[:, :, None, None].expand(*labels.shape, layout.trials, 1)
    gradient.scatter_add_(3, targets, gradient.new_full((1, 1, 1, 1), -1.0).expand_as(targets))
    gradient.masked_fill_((labels < 0)[:, :, None, None], 0)
    out[..., : layout.trials * layout.width] = 0
    layout.split(out).copy_(gradient * scale)


def _triton(scores: Tensor, labels: Tensor, layout: Layout, scale: float, bias: Tensor | None, out: Tensor) -> None:
    import triton

    from unseen.probes.sgd.kernels.triton_code import softmax_gradient_kernel

    problems, rows, _ = scores.shape
    block = triton.next_power_of_2(layout.width)
    softmax_gradient_kernel[(problems * rows, layout.trials)](
        scores,
        scores if bias is None else bias,
        labels,
        out,
        0 if bias is None else bias.stride(0),
        rows,
        layout.columns,
        layout.classes,
        layout.width,
        scale,
        BLOCK=block,
        BIASED=bias is not None,
        num_warps=min(max(block // 1024, 1), 16),
    )

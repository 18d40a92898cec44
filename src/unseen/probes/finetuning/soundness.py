"""Networks that one bad batch must not spoil: running statistics that are restored, and weights that are checked."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

ALIGNED = 64
"""Alignment of buffers: kernels may need addresses that are multiples of 128 bytes or more."""


def end_to_end(buffers: Iterable[Tensor]) -> list[Tensor]:
    """One vector per floating dtype of the buffers, which become views of it: hundreds then need a single copy."""
    by_dtype: dict[torch.dtype, list[Tensor]] = {}
    for buffer in buffers:
        if buffer.is_floating_point():
            by_dtype.setdefault(buffer.dtype, []).append(buffer)
    vectors = []
    for alike in by_dtype.values():
        sizes = [-(-buffer.numel() // ALIGNED) * ALIGNED for buffer in alike]
        vector = alike[0].new_zeros(sum(sizes))
        for buffer, place in zip(alike, torch.split(vector, sizes), strict=True):
            view = place[: buffer.numel()].view(buffer.shape).copy_(buffer)
            buffer.data = view
        vectors.append(vector)
    return vectors


def restore_unless_finite(loss: Tensor, statistics: Sequence[Tensor], before: Sequence[Tensor]) -> None:
    """Undo what a forward pass did to running statistics if its loss is not finite.

    A single such batch would spoil them permanently. Nothing here synchronises with a GPU.

    Args:
        loss: ().
        statistics: as made by `end_to_end`; `before` are copies from before the forward pass.
    """
    for vector, old in zip(statistics, before, strict=True):
        torch.where(loss.isfinite(), vector, old, out=vector)


def finite_tensors(model: nn.Module) -> frozenset[str]:
    """Names of the weights and buffers of a network that are finite; a mask may be infinite on purpose."""
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    checked = {name: each.detach().isfinite().all() for name, each in tensors.items() if each.is_floating_point()}
    finite = torch.stack(list(checked.values())).tolist() if checked else []
    return frozenset(name for name, sound in zip(checked, finite, strict=True) if sound)

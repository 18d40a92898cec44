"""Bringing rows of features to a device, in blocks."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.features.device_memory import free_bytes
from unseen.features.features import Rows

if TYPE_CHECKING:
    import torch
    from torch import Tensor

READ = 16_384
"""Rows brought to the device at once."""


def on_device(X: Rows, device: "torch.device", *, unit: bool = False, copies: int = 1) -> "Tensor":
    """All rows on a device in float32, read in blocks; arguments as in `all_on_device`."""
    return all_on_device([X], device, unit=unit, copies=copies)


def all_on_device(parts: Sequence[Rows], device: "torch.device", *, unit: bool = False, copies: int = 1) -> "Tensor":
    """(n, …) the samples of all parts, concatenated, on a device in float32, read in blocks.

    Args:
        unit: ℓ2-normalise each row of (n, d) features.
        copies: number of such arrays that the caller will hold at a time, including this one; if a GPU lacks the
            memory, this is reported before anything is read.
    """
    import torch

    from unseen.metrics.geometry import unit_rows

    count, shape = sum(map(len, parts)), parts[0].shape[1:]
    need = copies * count * prod(shape) * 4
    if need > free_bytes(device):
        raise UserError(
            f"{count:,} × {' × '.join(map(str, shape))} features need {need / 2**30:.0f} GiB of device memory here; "
            "use a device with more, or hide it (CUDA_VISIBLE_DEVICES=) to use the CPU"
        )
    whole = torch.empty(count, *shape, device=device)
    place = 0
    for X in parts:
        for rows in blocks(X, device):
            whole[place : place + len(rows)] = unit_rows(rows) if unit else rows
            place += len(rows)
    return whole


def blocks(X: Rows, device: "torch.device") -> "Iterator[Tensor]":
    """The rows in blocks, on a device."""
    import numpy as np
    import torch

    for start in range(0, len(X), READ):
        yield torch.from_numpy(np.array(X[start : start + READ])).to(device)

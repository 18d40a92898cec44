"""Memory of a GPU: how much of it may be used, and numbers sent to it without waiting."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

SPARE = 1 << 30
"""Bytes of a GPU's memory left to others: the products' work space, scores."""
UNBOUNDED = 1 << 62


def free_bytes(device: "torch.device") -> int:
    """Bytes that may be used on a device; a CPU has no bound here.

    PyTorch keeps what earlier work has given up, for itself: it is free to us, though not to the driver.
    """
    import torch

    if device.type != "cuda":
        return UNBOUNDED
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + held - SPARE)


def sent(values: "Tensor", device: "torch.device") -> "Tensor":
    """Values on a device. A copy to a GPU is by way of page-locked memory, so that we need not wait until it is done.

    PyTorch keeps that memory until the copy has left it.
    """
    if device.type != "cuda" or values.device.type != "cpu":
        return values.to(device)
    return values.pin_memory().to(device, non_blocking=True)

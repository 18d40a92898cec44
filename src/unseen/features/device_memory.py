"""Memory of a GPU: how much of it may be used, and numbers sent to it without waiting."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

SPARE = 1 << 30
"""Bytes of a GPU's memory left to others: the products' work space, scores."""
UNBOUNDED = 1 << 62
MOST_AT_ONCE = 1024
"""Images in a batch; more make no GPU faster."""
CPU_PIXELS = 32 * 224 * 224
"""Of all images in a batch on a CPU: larger blocks of memory are slower (`unseen.features.forward`)."""
TRIED = 16


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


def images_at_once(run: "Callable[[int], object]", size: int, device: "torch.device") -> int:
    """How many images of a size to compute at once: as many as fit in the memory of a GPU, with room to spare.

    Args:
        run: computes so many images; called twice on a GPU, to see what memory an image takes.
    """
    import torch

    if device.type != "cuda":
        return max(1, min(MOST_AT_ONCE, CPU_PIXELS // size**2))
    run(1)  # what the network and its kernels take once
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    run(TRIED)
    each = max((torch.cuda.max_memory_allocated(device) - before) // TRIED, 1)
    return int(max(1, min(MOST_AT_ONCE, free_bytes(device) // (2 * each))))

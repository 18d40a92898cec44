"""GPU memory: how much may be used, and asynchronous copies to it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

SPARE = 1 << 30
"""Bytes of GPU memory left free, for work space of matrix products and for scores."""
UNBOUNDED = 1 << 62
MOST_AT_ONCE = 1024
"""Maximum number of images in a batch; more make no GPU faster."""
CPU_PIXELS = 32 * 224 * 224
"""Maximum bytes of a batch on a CPU: larger blocks of memory are slower (`unseen.features.forward`)."""
TRIED = 16


def free_bytes(device: "torch.device") -> int:
    """Bytes that may be used on a device; unlimited for a CPU.

    Memory that PyTorch's allocator has cached counts as free, although the driver reports it as used. A limit that was
    set with `torch.cuda.set_per_process_memory_fraction` is respected.
    """
    import torch

    if device.type != "cuda":
        return UNBOUNDED
    used = torch.cuda.memory_allocated(device)
    free, total = torch.cuda.mem_get_info(device)
    held = torch.cuda.memory_reserved(device) - used
    limit = total * torch.cuda.get_per_process_memory_fraction(device.index)  # it refuses a device without an index
    return int(min(free + held, limit - used) - SPARE)


def sent(values: "Tensor", device: "torch.device") -> "Tensor":
    """Values on a device. Copies to a GPU go through page-locked memory, so that this call does not wait for them.

    PyTorch keeps the page-locked memory until the copy is complete.
    """
    if device.type != "cuda" or values.device.type != "cpu":
        return values.to(device)
    return values.pin_memory().to(device, non_blocking=True)


def images_at_once(run: "Callable[[int], object]", size: int, device: "torch.device") -> int:
    """Number of images of a size to compute at once: as many as fit in GPU memory, with a margin.

    Args:
        run: computes this many images; called twice on a GPU, to measure the memory per image.
    """
    import torch

    if device.type != "cuda":
        return max(1, min(MOST_AT_ONCE, CPU_PIXELS // size**2))
    run(1)  # one-time memory of the network and its kernels
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    run(TRIED)
    each = max((torch.cuda.max_memory_allocated(device) - before) // TRIED, 1)
    return int(max(1, min(MOST_AT_ONCE, free_bytes(device) // (2 * each))))

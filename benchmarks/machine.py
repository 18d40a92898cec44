"""The machine that a benchmark runs on, and the rate of its matrix products."""

import platform
import time
from collections.abc import Callable

import torch


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(function: Callable[[], object], device: torch.device) -> float:
    """Seconds of one call, the device's work included."""
    synchronise(device)
    start = time.perf_counter()
    function()
    synchronise(device)
    return time.perf_counter() - start


def describe(device: torch.device) -> str:
    """Machine and versions in a line."""
    what = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    return f"{what}, Python {platform.python_version()}, PyTorch {torch.__version__}"


def product_rate(device: torch.device, shape: tuple[int, int, int], dtype: torch.dtype, seconds: float = 2.0) -> float:
    """Flops per second of products of random (m, k) and (k, n) matrices, sustained for some time."""
    m, k, n = shape
    a, b = torch.randn(m, k, device=device).to(dtype), torch.randn(k, n, device=device).to(dtype)
    out = torch.empty(m, n, device=device, dtype=dtype)
    once = timed(lambda: [torch.mm(a, b, out=out) for _ in range(3)], device) / 3
    repeats = max(int(seconds / once), 3)
    took = timed(lambda: [torch.mm(a, b, out=out) for _ in range(repeats)], device)
    return 2 * m * k * n * repeats / took

"""How fast this machine is at what studies do, measured in a second or two, for estimates of their time."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heapreplace

from unseen.device import default_device, on_gpu
from unseen.probes.probe import Size
from unseen.probes.protocol import LogisticProtocol

EPOCHS = (2, 22)
"""Of the two short fits whose difference is a GPU's speed: setting up takes as long as the first of them."""
MEASURED = 0.1
"""Seconds that fits on a CPU are measured for: in less than that, others on the machine are not noticed."""
STARTING = 2.5
"""Seconds until processes have imported PyTorch and begin with their first job."""


@dataclass(frozen=True)
class RegressionSpeed:
    """How fast regressions by SGD are, of one thread or of the GPU.

    Attributes:
        rate: flops a second of a fit that is under way.
        setup: seconds that a fit takes besides: memory, CUDA graphs, the first launches.
    """

    rate: float
    setup: float = 0.0


def regression_speed(protocol: LogisticProtocol, size: Size) -> RegressionSpeed:
    """Measured by short fits on features of that size.

    On a CPU setting up takes next to nothing. On a GPU a fit of two epochs is mostly that, and to divide its flops by
    its seconds made estimates six times too long: the rate is that of the epochs by which a second fit is longer.
    """
    import torch

    from unseen.probes.by_name.logistic import usual_products
    from unseen.probes.sgd.trainer import Trainer

    device = default_device()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        k = min(protocol.round_size, protocol.trials)
        rows = min(size.rows, 4096 if device.type == "cpu" else 65_536)
        # Drawn where it is used: a core takes longer to draw it than a GPU to train on it.
        X = torch.randn(rows, size.dimension, generator=torch.Generator(device).manual_seed(0), device=device)
        y = torch.arange(rows) % size.classes
        dtype = getattr(torch, usual_products(on_gpu()))

        def seconds(epochs: int) -> float:
            short = replace(protocol, epochs=epochs)
            trainer = Trainer.load(X, y, size.classes, short, device=device, dtype=dtype)
            start = time.perf_counter()
            trainer.fit([torch.arange(rows)], [[(1.0, 0.0)] * k], [torch.Generator().manual_seed(0)])[0].cpu()
            return time.perf_counter() - start

        flops = 4.0 * rows * (size.dimension + 1) * size.classes * k
        if device.type == "cpu":
            fits = [seconds(EPOCHS[0])]
            while sum(fits) < MEASURED:
                fits.append(seconds(EPOCHS[0]))
            return RegressionSpeed(len(fits) * EPOCHS[0] * flops / sum(fits))
        seconds(EPOCHS[0])  # compiles kernels
        short, long = (seconds(epochs) for epochs in EPOCHS)
    finally:
        torch.set_num_threads(threads)
    epoch = max(long - short, 0.1 * long) / (EPOCHS[1] - EPOCHS[0])
    return RegressionSpeed(flops / epoch, max(short - EPOCHS[0] * epoch, 0.0))


def product_rate(shape: tuple[int, int, int], numbers: str = "float32") -> float:
    """Flops a second of a product of (m, k) and (k, n) matrices, the better of two: of one thread, or of the GPU.

    Args:
        shape: m, k and n.
        numbers: what is multiplied: "float32", "float16", or "tf32", the short form of float32 on a GPU.
    """
    import torch

    m, k, n = shape
    device = default_device()
    dtype = torch.float16 if numbers == "float16" else torch.float32
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high" if numbers == "tf32" else "highest")
    try:
        a, b = (torch.ones(sides, device=device, dtype=dtype) for sides in ((m, k), (k, n)))
        rates = []
        for _ in range(2):  # the first time a device sets itself up
            start = time.perf_counter()
            float((a @ b)[0, 0])
            rates.append(2 * m * k * n / (time.perf_counter() - start))
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)
    return max(rates)


def elapsed(seconds: Sequence[float], workers: int) -> float:
    """Until the last of some jobs is done, where each worker takes the next in order when it has done one."""
    busy = [0.0] * workers
    for each in seconds:
        heapreplace(busy, busy[0] + each)
    return max(busy)


def starting(jobs: int, workers: int, *, gpu: bool) -> float:
    """Seconds until new processes begin; 0 where jobs run in this one."""
    return STARTING if min(jobs, workers) > 1 and not gpu else 0.0

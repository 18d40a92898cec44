"""The speed of this machine, measured in a second or two, for time estimates."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heapreplace

from unseen.device import default_device, on_gpu
from unseen.probes.probe import Size
from unseen.probes.protocol import LogisticProtocol

EPOCHS = (2, 22)
"""Epochs of two short fits, whose difference gives the speed of a GPU; the first is mostly setup."""
MEASURED = 0.1
"""Seconds for which fits on a CPU are timed; shorter measurements miss the load of other processes."""
STARTING = 2.5
"""Seconds until new processes have imported PyTorch and start their first job."""


@dataclass(frozen=True)
class RegressionSpeed:
    """The speed of logistic regression by SGD, on one thread or on the GPU.

    Attributes:
        rate: flops per second of a running fit.
        setup: seconds of overhead per fit: memory, CUDA graphs, the first launches.
    """

    rate: float
    setup: float = 0.0


def regression_speed(protocol: LogisticProtocol, size: Size) -> RegressionSpeed:
    """Measure the speed with short fits on features of a given size.

    On a CPU, setup takes almost no time. On a GPU, a fit of two epochs is mostly setup, so dividing its flops by its
    seconds would make estimates six times too long: the rate is taken from the additional epochs of a longer fit.
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
        # Drawn on the device: a CPU core takes longer to draw the data than a GPU to train on them.
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
    """Flops per second of a product of (m, k) and (k, n) matrices on one thread or on the GPU; the better of two runs.

    Args:
        shape: m, k and n.
        numbers: number type: "float32", "float16", or "tf32", the reduced precision of float32 on a GPU.
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
        for _ in range(2):  # the first run includes the device's setup
            start = time.perf_counter()
            float((a @ b)[0, 0])
            rates.append(2 * m * k * n / (time.perf_counter() - start))
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)
    return max(rates)


def elapsed(seconds: Sequence[float], workers: int) -> float:
    """Seconds until the last job is done if each worker takes the next job in order when it is free."""
    busy = [0.0] * workers
    for each in seconds:
        heapreplace(busy, busy[0] + each)
    return max(busy)


def starting(jobs: int, workers: int, *, gpu: bool) -> float:
    """Seconds until new processes start; 0 if jobs run in this one."""
    return STARTING if min(jobs, workers) > 1 and not gpu else 0.0

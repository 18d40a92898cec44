"""The schedule of training: learning rates, and the samples of every batch."""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad

DRAWERS = 4
"""Threads that draw orders of samples, and how many blocks ahead: a million samples take tens of milliseconds."""
BLOCK = 1 << 17
"""Samples in a block of orders that are drawn together."""


def learning_rate(epoch: int, epochs: int) -> float:
    """The factor on the initial rate in an epoch, from 0: the public ImageNet-CoG code sets its cosine one epoch late.

    1 for epoch 0, then ½(1 + cos(π(e − 1)/E)): the first two epochs run at the full rate, the last above zero.
    """
    return 0.5 * (1 + math.cos(math.pi * max(epoch - 1, 0) / epochs))


@dataclass(frozen=True)
class Schedule:
    """The batches of s problems that are trained together, which have equally many batches per epoch.

    Attributes:
        parts: for each problem, the (n,) rows it trains on.
        batch: samples per step; all samples if there are fewer, and the last batch has the remaining ones.
    """

    parts: Sequence[Tensor]
    epochs: int
    batch: int

    @property
    def steps(self) -> int:
        """Steps per epoch."""
        return steps_of_epoch(len(self.parts[0]), self.batch)

    @property
    def widest(self) -> int:
        """Samples of the largest batch."""
        return max(min(self.batch, len(part)) for part in self.parts)

    def factors(self) -> Tensor:
        """(total steps,) factor on the initial rate."""
        each = torch.tensor([learning_rate(epoch, self.epochs) for epoch in range(self.epochs)], dtype=torch.float64)
        return each.repeat_interleave(self.steps)

    def sizes(self) -> Tensor:
        """(total steps, s) samples of each batch."""
        each = []
        for part in self.parts:
            size = min(self.batch, len(part))
            left = len(part) - size * (self.steps - 1)
            each.append(torch.tensor([size] * (self.steps - 1) + [left]))
        return torch.stack(each, dim=1).repeat(self.epochs, 1)

    def epochs_of_batches(self, generators: Sequence[Generator], rows: int, filler: int) -> Iterator[Tensor]:
        """For one or more epochs, (steps, s, rows) indices of samples in the parts, padded with `filler`."""
        with ThreadPoolExecutor(DRAWERS) as pool:
            drawn = [
                _ahead(epoch_orders(len(part), self.epochs, generator), pool, part.device)
                for part, generator in zip(self.parts, generators, strict=True)
            ]
            for orders in zip(*drawn, strict=True):
                epochs = len(orders[0])
                index = self.parts[0].new_full((epochs * self.steps, len(self.parts), rows), filler)
                for i, (part, order) in enumerate(zip(self.parts, orders, strict=True)):
                    size = min(self.batch, len(part))
                    chosen = part[order]
                    full = pad(chosen, (0, size * self.steps - len(part)), value=filler)
                    index[:, i, :size] = full.view(-1, size)
                yield index


def epoch_orders(samples: int, epochs: int, generator: Generator) -> list["Orders"]:
    """The orders of samples of all epochs, drawn when needed: a block of epochs each.

    They are drawn on the CPU, so that they are the same on every device, and from separate seeds, so that several can
    be drawn at once. A million samples have a block per epoch; few samples have a single one.
    """
    together = max(min(BLOCK // samples, epochs), 1)
    sizes = [min(together, epochs - start) for start in range(0, epochs, together)]
    seeds = torch.randint(1 << 62, (len(sizes),), generator=generator).tolist()
    return [Orders(samples, size, seed) for size, seed in zip(sizes, seeds, strict=True)]


@dataclass(frozen=True)
class Orders:
    """Random orders of samples for some epochs."""

    samples: int
    epochs: int
    seed: int

    def draw(self) -> Tensor:
        """(epochs, n) indices on the CPU."""
        generator = Generator().manual_seed(self.seed)
        if self.epochs == 1:
            return torch.randperm(self.samples, generator=generator)[None]
        # By random keys, which orders all epochs in one call.
        keys = torch.rand(self.epochs, self.samples, generator=generator, dtype=torch.float64)
        return keys.argsort(dim=1, stable=True)

    def draw_to(self, device: torch.device) -> Tensor:
        """The same on a device, ready when this returns: queued work of the device does not delay the copy."""
        if device.type != "cuda":
            return self.draw().to(device)
        with torch.cuda.stream(torch.cuda.Stream(device)):  # type: ignore[no-untyped-call]
            there = self.draw().to(device)
            torch.cuda.current_stream(device).synchronize()
        there.record_stream(torch.cuda.current_stream(device))
        return there


def sample_stream(
    samples: Tensor, steps: int, batch: int, together: int, generator: Generator, filler: int
) -> Iterator[Tensor]:
    """(together · batch,) the samples of that many steps at a time, cut from random orders of all, one after another.

    A batch may contain the end of one order and the start of the next, and several orders if there are few samples, as
    with a sampler that never ends. The last steps are padded with `filler`.

    Args:
        samples: (n,) indices, on any device.
    """
    left, size = steps * batch, together * batch
    with ThreadPoolExecutor(1) as pool:
        waiting = samples[:0]
        for order in _ahead(epoch_orders(len(samples), -(-left // len(samples)), generator), pool, samples.device):
            waiting = torch.cat([waiting, samples[order.flatten()]])[:left]
            whole = len(waiting) // size * size
            yield from torch.split(waiting[:whole], size) if whole else ()
            waiting, left = waiting[whole:], left - whole
        if left:
            yield pad(waiting, (0, size - left), value=filler)


def _ahead(orders: Sequence[Orders], pool: ThreadPoolExecutor, device: torch.device) -> Iterator[Tensor]:
    """The orders, a few blocks of them drawn in advance."""
    coming: deque[Future[Tensor]] = deque()
    for block in orders:
        coming.append(pool.submit(block.draw_to, device))
        if len(coming) > DRAWERS:
            yield coming.popleft().result()
    for future in coming:
        yield future.result()


def steps_of_epoch(samples: int, batch: int) -> int:
    return -(-samples // batch)

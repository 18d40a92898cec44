"""Linear classifiers on several column ranges of the same features, with many learning rates each, trained at once.

A step of SGD with momentum m on the mean cross-entropy of a batch X (b × d) is, for the classifiers of one range,

    S = X[:, range]·W + β,   G = softmax(S) − one-hot,   V ← m·V + X[:, range]ᵀ·G / b,   W ← W − η·V,

where W holds the k classifiers side by side. The batch is read once for all ranges, and each range takes two products
of 2·b·dᵢ·k·c flops; V is updated by the second product itself. For w weights in total a step costs 4·b·w flops and, in
16-bit products, 20 bytes per weight: 8 for V in the product, then 4 for V and 8 for W, which is read and written as two
16-bit halves (`unseen.probes.sgd.kernels.pair_update`). `unseen.probes.sgd.paired` moves 16, but rounds gradients to 16
bits, which needs rows of length 1; the features here are not normalised.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Generator, Tensor

from unseen.probes.sgd.grid_protocol import Range
from unseen.probes.sgd.kernels.layout import Layout
from unseen.probes.sgd.kernels.momentum_update import momentum_update
from unseen.probes.sgd.kernels.pair_update import join, part
from unseen.probes.sgd.kernels.softmax_gradient import softmax_gradient
from unseen.probes.sgd.rows import Resident, Streamed
from unseen.probes.sgd.schedule import sample_stream
from unseen.probes.sgd.scoring import SCORES
from unseen.probes.sgd.stacked import tiny_numbers_as_zero

CHUNK = 16
"""Steps captured as one CUDA graph: their samples are gathered together."""
SCALE = 2.0**14
"""Factor on 16-bit gradients of scores, which are at most 1, to keep small probabilities from underflowing."""


class Compact(Layout):
    """The layout for a CPU, which gains nothing from aligned columns."""

    @property
    def width(self) -> int:
        return self.classes

    @property
    def columns(self) -> int:
        return self.trials * self.classes


@tiny_numbers_as_zero()
def train_grid(
    source: Resident | Streamed,
    labels: Tensor,
    samples: Tensor,
    ranges: Sequence[Range],
    initial: Sequence[Tensor],
    rates: Sequence[Tensor],
    *,
    steps: int,
    batch: int,
    momentum: float,
    generator: Generator,
    dtype: torch.dtype,
) -> list[Tensor]:
    """Train the classifiers of every range on the same batches; the rates fall to 0 along a cosine, step by step.

    Args:
        source: of rows with d features.
        labels: (n,) class indices in [0, c), on the device.
        samples: (m,) rows to train on, on the host: batches are cut from a stream of random orders of them.
        initial: for each range, (width, c) weights that all its classifiers start from; biases start at 0.
        rates: for each range, the (k,) initial learning rates of its classifiers.
        dtype: of the factors in products, that of the source's rows.

    Returns:
        For each range, (k, width + 1, c) weights in 32 bits, the bias last, on the device. No classifier affects
        another. One that diverged, so that a weight, a score or a gradient was not finite, has only NaN.
    """
    together = min(CHUNK, steps) if labels.is_cuda else 1
    chunk = _Chunk.empty(together, batch, source.dimension, dtype, labels.device)
    given = zip(ranges, initial, rates, strict=True)
    stacks = [_Stack(each, start.shape[1], some, chunk.X) for each, start, some in given]
    run = chunk.taker(stacks, batch, momentum)
    for stack, start in zip(stacks, initial, strict=True):
        stack.start(start)
    # Steps beyond the last one have rate 0 and rows of zeros: they leave the weights unchanged.
    factors = [0.5 * (1 + math.cos(math.pi * step / steps)) for step in range(steps)] + [0.0] * together
    every, done = torch.tensor(factors, dtype=torch.float64).to(chunk.factors), 0
    drawn = samples.to(labels.device) if isinstance(source, Resident) else samples
    for index in source.blocks(sample_stream(drawn, steps, batch, together, generator, source.count), chunk.X):
        chunk.y.copy_(labels[index.clamp(max=len(labels) - 1)])
        chunk.factors.copy_(every[done : done + together])
        run()
        done += together
    return [stacks.pop(0).result() for _ in ranges]


@dataclass(frozen=True)
class _Chunk:
    """The samples of some steps, and the factor on the rates in each of them."""

    X: Tensor
    y: Tensor
    factors: Tensor

    @classmethod
    def empty(cls, steps: int, batch: int, dimension: int, dtype: torch.dtype, device: torch.device) -> "_Chunk":
        X = torch.zeros(steps * batch, dimension, dtype=dtype, device=device)
        return cls(X, X.new_zeros(steps * batch, dtype=torch.long), X.new_zeros(steps, dtype=_wide(X)))

    def taker(self, stacks: "Sequence[_Stack]", batch: int, momentum: float) -> Callable[[], None]:
        """What takes the steps of the chunk; on a GPU a CUDA graph, for which one step is taken beforehand."""
        most = batch * max(stack.layout.columns for stack in stacks)
        scores = self.X.new_zeros(most, dtype=_wide(self.X))
        room = scores, scores if self.X.dtype == scores.dtype else self.X.new_zeros(most)

        def take(steps: int) -> None:
            for step in range(steps):
                rows = slice(step * batch, (step + 1) * batch)
                for stack in stacks:
                    stack.step(self.X[rows], self.y[rows], self.factors[step], momentum, room)

        if not self.X.is_cuda:
            return partial(take, len(self.factors))
        # Streams of equal priority share the GPU in turn, as in `paired`.
        side = torch.cuda.Stream(self.X.device, priority=-1)  # type: ignore[no-untyped-call]
        current = torch.cuda.current_stream(self.X.device)
        side.wait_stream(current)
        with torch.cuda.stream(side):
            take(1)
        current.wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            take(len(self.factors))
        return partial(_replay, graph, room)


class _Stack:
    """The classifiers of one range: their weights, and all that a step needs."""

    def __init__(self, columns: Range, classes: int, rates: Tensor, like: Tensor) -> None:
        self.range, wide = columns, _wide(like)
        self.layout = (Layout if like.is_cuda else Compact)(len(rates), classes)
        shape = columns.width, self.layout.columns
        self.high, self.low = like.new_zeros(shape), like.new_zeros(shape if like.dtype != wide else (0, 0))
        self.velocity = like.new_zeros(shape, dtype=wide)
        self.bias, self.bias_velocity = like.new_zeros(2, shape[1], dtype=wide)
        self.rates = self.layout.spread(rates.to(like.device, wide))

    def start(self, initial: Tensor) -> None:
        """Start with (width, c) weights in every classifier, biases of 0, and without momentum."""
        self.velocity.zero_()
        self.layout.split(self.velocity).copy_(initial[:, None])
        if len(self.low):
            part(self.velocity, self.high, self.low)
        else:
            self.high.copy_(self.velocity)
        for each in (self.velocity, self.bias, self.bias_velocity):
            each.zero_()

    def step(self, X: Tensor, y: Tensor, factor: Tensor, momentum: float, room: tuple[Tensor, Tensor]) -> None:
        """One step on a batch.

        Args:
            factor: () on the rates.
            room: buffers for scores and their gradients, which overwrite the scores in 32 bits.
        """
        rows, shape = X[:, self.range.columns], (len(X), self.layout.columns)
        scores, slopes = (each[: math.prod(shape)].view(1, *shape) for each in room)
        scale = SCALE if slopes.dtype == torch.float16 else 1.0
        _multiply(rows, self.high, scores[0])
        gradient = softmax_gradient if X.is_cuda else _softmax_gradient
        gradient(scores, y[None], self.layout, scale=scale, bias=self.bias[None], out=slopes)
        share, rates = 1 / (scale * len(X)), self.rates * factor
        _add_product(self.velocity, rows.T, slopes[0], momentum, share)
        self.bias_velocity.mul_(momentum).add_(slopes[0].sum(dim=0, dtype=self.bias.dtype), alpha=share)
        momentum_update(self.high, self.low, self.velocity, rates)
        self.bias.addcmul_(self.bias_velocity, rates, value=-1)

    def result(self) -> Tensor:
        """(k, width + 1, c): the weights, with the bias last, NaN for classifiers that diverged."""
        found = self.velocity.new_empty(self.layout.trials, self.range.width + 1, self.layout.classes)
        weights = join(self.high, self.low) if len(self.low) else self.high
        for weight, at in ((weights, slice(0, -1)), (self.bias[None], slice(-1, None))):
            found[:, at] = self.layout.split(weight).transpose(0, 1)
        moving = self.layout.split(self.velocity).isfinite().all(dim=2).all(dim=0)
        sound = moving & found.isfinite().all(dim=2).all(dim=1)
        return found.masked_fill_(~sound[:, None, None], torch.nan)


def _replay(graph: torch.cuda.CUDAGraph, room: tuple[Tensor, Tensor]) -> None:
    """Run a graph again, which writes to these buffers: without a reference to them, their memory would be reused."""
    graph.replay()


def _softmax_gradient(scores: Tensor, y: Tensor, layout: Layout, *, scale: float, bias: Tensor, out: Tensor) -> None:
    """`softmax_gradient` for a CPU, where PyTorch's softmax over ten classes takes ten times as long as this."""
    powers = layout.split(scores.add_(bias))
    powers.sub_(powers.amax(dim=3, keepdim=True)).exp_()
    powers.div_(powers.sum(dim=3, keepdim=True))
    place = y[:, :, None, None].expand(-1, -1, layout.trials, 1)
    powers.scatter_add_(3, place, powers.new_full((1, 1, 1, 1), -1.0).expand_as(place))
    if out.dtype != scores.dtype:
        torch.mul(scores, scale, out=out)


def _multiply(rows: Tensor, weights: Tensor, out: Tensor) -> None:
    """Scores in at least 32 bits; a CPU has no products of 16-bit factors with such sums."""
    if rows.dtype == out.dtype:
        torch.mm(rows, weights, out=out)
    elif rows.is_cuda:
        torch.mm(rows, weights, out_dtype=out.dtype, out=out)
    else:
        torch.mm(rows.to(out.dtype), weights.to(out.dtype), out=out)


def _add_product(velocity: Tensor, left: Tensor, right: Tensor, keep: float, share: float) -> None:
    """velocity ← keep · velocity + share · left·right, with sums in the dtype of the velocity."""
    if left.dtype == velocity.dtype or not left.is_cuda:
        velocity.addmm_(left.to(velocity.dtype), right.to(velocity.dtype), beta=keep, alpha=share)
    else:
        torch.addmm(velocity, left, right, out_dtype=velocity.dtype, beta=keep, alpha=share, out=velocity)


def _wide(like: Tensor) -> torch.dtype:
    return torch.promote_types(like.dtype, torch.float32)


def grid_bytes(
    widths: Sequence[int], rates: int, classes: int, dimension: int, batch: int, *, item: int, gpu: bool
) -> int:
    """Bytes of memory of `train_grid` and of scoring its classifiers, besides the features.

    Args:
        widths: of the ranges, each with this many rates.
        item: bytes of a factor in products.
    """
    columns, wide = (Layout if gpu else Compact)(rates, classes).columns, max(item, 4)
    # In training, weights and velocities; at its end, the results instead, of the last range beside both of these.
    weights = columns * wide * max(2 * sum(widths), sum(widths) + 3 * max(widths))
    scores = batch * columns * (wide + (item if item < wide else 0))
    gathered = (CHUNK if gpu else 1) * batch * dimension * item
    return weights + max(scores, SCORES * wide if gpu else 0) + gathered

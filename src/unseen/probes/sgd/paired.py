"""Logistic regression by SGD for many hyper-parameter pairs and several problems at once, on a GPU.

The steps are those of `stacked_sgd`, but weights and momentum are only updated after every second step. Their update
moves more bytes than anything else in a step, and it cannot simply be postponed, since the next step needs the new
weights:

    w₁ = w₀ − η·(m·v₀ + λ·w₀) − η·g₀

Only g₀ is new here. So the update writes, besides w₀, the rest of w₁ in 16 bits (`pair_update`); the first step uses
w₀, its gradient is added to that copy (`add_gradient`), and the second step uses the result; then weights and momentum
get both steps at once. The computation is the same as in single steps; only the rounding differs.

For b samples, d features, k trials of c classes, a pair of steps costs 8·b·d·k·c flops for its products and 28 bytes
per weight, where two single steps would move 40. Products have 16-bit factors with sums in 32 bits; weights and
momentum are kept in 32 bits.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad

from unseen.probes.sgd.kernels.add_gradient import add_gradient
from unseen.probes.sgd.kernels.layout import Layout, padded
from unseen.probes.sgd.kernels.pair_update import join, pair_update, part
from unseen.probes.sgd.kernels.softmax_gradient import softmax_gradient
from unseen.probes.sgd.pruning import Stops, still_running
from unseen.probes.sgd.rows import ALIGNED, Resident, Streamed
from unseen.probes.sgd.schedule import Schedule

CHUNK = 32
"""Steps captured as one CUDA graph: their samples are gathered together, and the host is idle meanwhile."""
CHECK = 10
"""Chunks after which diverged trials are removed."""


def train_paired(
    source: Resident | Streamed,
    labels: Tensor,
    schedule: Schedule,
    initial: Tensor,
    rates: Tensor,
    decays: Tensor,
    *,
    momentum: float,
    generators: Sequence[Generator],
    dtype: torch.dtype = torch.float16,
    stops: Stops | None = None,
    mark_diverged: bool = False,
) -> Tensor:
    """Weights of s × k classifiers after SGD on the mean cross-entropy of each batch.

    Args:
        source: of rows with d features and a 1, then zeros.
        labels: (n,) class indices in [0, c), on the device.
        schedule: of s problems, whose parts are indices into `source`.
        initial: (s, d + 1, c) weights and, last, bias: the start of the k classifiers of each problem.
        rates, decays: (s, k) initial learning rate and weight decay of each.
        generators: s, for the order of samples.
        dtype: of the factors in products, that of the source's rows.
        stops: when trials are stopped, equally many of each problem, with the others packed together.
        mark_diverged: whether all weights of a classifier that diverged become NaN. Not together with `stops`.

    Returns:
        (s, k, d + 1, c) float32 (float64 for products in float64), of the trials that were not stopped. A classifier
        with a non-finite gradient, or a weight beyond the range of its dtype, has diverged: it does not change from
        then on.
    """
    used, classes = initial.shape[1:]
    if isinstance(source, Resident):
        schedule = replace(schedule, parts=[part.to(labels.device) for part in schedule.parts])
    steps = len(schedule.factors())
    # An even number of steps per chunk, such that the last chunk is nearly full.
    chunk = 2 * -(-steps // (2 * -(-steps // CHUNK)))
    batches = _Batches(schedule, chunk, source, labels, dtype)
    with _sums_in_full():
        stack = _Stack(batches, Layout(rates.shape[1], classes), rates, decays, momentum)
        stack.start(pad(initial.to(labels.device), (0, 0, 0, source.dimension - used)))
        trained = torch.empty(*rates.shape, used, classes, dtype=stack.velocity.dtype, device=labels.device)
        which = torch.arange(rates.shape[1]).expand(len(rates), -1)  # the trial at each position of the stack
        ends = {epoch * schedule.steps: epoch for epoch in stops.epochs} if stops else {}
        sizes = _sizes((*ends, steps), chunk)
        epochs = schedule.epochs_of_batches(generators, batches.rows, source.count)
        indices = _chunks(epochs, sizes, chunk, source.count)
        done = 0
        for number, index in enumerate(source.blocks(indices, batches.X.flatten(0, 2)), start=1):
            batches.begin(index, done)
            done += sizes[number - 1]
            stopping = stops is not None and done in ends
            stack.run(sizes[number - 1] if stopping else chunk)
            if stops and stopping:
                _store(trained, which, stack.result(used))
                trained, kept, which = _survivors(trained, which, stops, ends[done])
            elif number % CHECK == 0 and (fewer := stack.kept()) is not None:
                _store(trained, which, stack.result(used))
                kept, which = fewer, which.gather(1, fewer)
            else:
                continue
            if kept.shape[1] == 0:  # the others have diverged
                if mark_diverged:
                    return trained.fill_(torch.nan)
                return _settled(trained, stops, done // schedule.steps) if stops else trained
            stack = stack.only(kept)
        result = stack.result(used)
        if mark_diverged:
            trained.fill_(torch.nan)
            result.masked_fill_(~stack.sound()[:, :, None, None], torch.nan)
        _store(trained, which, result)
    return trained


class _Batches:
    """The samples of a chunk of steps, and the numbers for each step."""

    def __init__(
        self, schedule: Schedule, chunk: int, source: Resident | Streamed, labels: Tensor, dtype: torch.dtype
    ) -> None:
        device, self.problems, features = labels.device, len(schedule.parts), source.dimension
        # A product over d features is faster than over d + 1, so the bias is added separately if possible.
        self.bias = source.bias if source.bias is not None and source.bias % ALIGNED == 0 else None
        self.rows = padded(schedule.widest, 16)
        self.chunk, self.dtype = chunk, dtype
        # As large as 16-bit sums over a batch allow, to keep small probabilities from underflowing.
        self.scale = 2.0 ** max(14 - (self.rows - 1).bit_length(), -8) if dtype == torch.float16 else 1.0
        wide = torch.promote_types(dtype, torch.float32)
        # The steps that fill the last chunk have rate 0: they leave the weights unchanged.
        self._factors = pad(schedule.factors(), (0, chunk + 1)).to(device, wide)
        self._scales = pad(1 / (self.scale * schedule.sizes().double()), (0, 0, 0, chunk)).to(device, wide)
        self._labels = torch.cat([labels, labels.new_full((1,), -1)])
        self.X = torch.zeros(chunk, self.problems, self.rows, features, dtype=dtype, device=device)
        self.labels = torch.zeros(chunk, self.problems, self.rows, dtype=torch.long, device=device)
        self.factors = torch.zeros(chunk + 1, dtype=wide, device=device)
        self.scales = torch.zeros(chunk, self.problems, dtype=wide, device=device)

    def begin(self, index: Tensor, start: int) -> None:
        """Prepare for the chunk from that step on, whose samples are already in X."""
        self.labels.copy_(self._labels[index].view_as(self.labels))
        self.factors.copy_(self._factors[start : start + self.chunk + 1])
        self.scales.copy_(self._scales[start : start + self.chunk])


class _Stack:
    """The weights of s problems of k trials and all buffers that a pair of steps writes to."""

    def __init__(self, batches: _Batches, layout: Layout, rates: Tensor, decays: Tensor, momentum: float) -> None:
        self.batches, self.layout, self.momentum = batches, layout, momentum
        s, b, N, d = batches.problems, batches.rows, layout.columns, batches.X.shape[3]
        new, wide = batches.X.new_zeros, batches.factors.new_zeros
        self.trial_rates, self.trial_decays = rates.to(batches.factors), decays.to(batches.factors)
        self.rates, self.decays = layout.spread(self.trial_rates), layout.spread(self.trial_decays)
        self.copies, self.low, self.velocity = new(2, s, d, N), new(s, d, N), wide(s, d, N)
        self.scores, self.gradients = new(s, b, N), new(2, s, d, N)
        self._graph = self._captured() if batches.X.is_cuda else None

    def start(self, weights: Tensor) -> None:
        """Start with weights (s, d, c) in every trial and zero velocity; the first step has the full rate."""
        wide = torch.zeros_like(self.velocity)
        self.layout.split(wide).copy_(weights[:, :, None])
        part(wide, self.copies[0], self.low)
        self.copies[1] = wide - self.rates[:, None] * self.decays[:, None] * wide
        self.velocity.zero_()

    def run(self, steps: int) -> None:
        """Take the first steps of a chunk, an even number of them."""
        if self._graph is not None and steps == self.batches.chunk:
            self._graph.replay()
        else:
            for pair in range(steps // 2):
                self._pair(pair)

    def _pair(self, pair: int) -> None:
        """Two steps, each of which writes its gradient, and the update by both."""
        batches, first = self.batches, 2 * pair
        factors, scales = batches.factors[first : first + 3], batches.scales[first : first + 2]
        self._gradient(0, first)
        add_gradient(self.copies[1], self.gradients[0], self.rates, factors[:1], scales[0])
        self._gradient(1, first + 1)
        pair_update(
            self.copies,
            self.low,
            self.velocity,
            self.gradients,
            self.rates,
            self.decays,
            factors,
            scales,
            momentum=self.momentum,
        )

    def _gradient(self, half: int, step: int) -> None:
        """The gradient of a step that uses the copy `half` of the weights."""
        batches, X, features = self.batches, self.batches.X[step], slice(self.batches.bias)
        _multiply(X[:, :, features], self.copies[half, :, features], self.scores)
        bias = None if batches.bias is None else self.copies[half, :, batches.bias]
        softmax_gradient(self.scores, batches.labels[step], self.layout, scale=batches.scale, bias=bias)
        _multiply(X.transpose(1, 2), self.scores, self.gradients[half])

    def _captured(self) -> torch.cuda.CUDAGraph:
        """The steps of a chunk as one graph. A prior run compiles the kernels; `start` undoes its effects."""
        # Streams of equal priority share the GPU in turn; copies by other threads are on streams of the usual priority.
        side = torch.cuda.Stream(self.batches.X.device, priority=-1)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(self.batches.X.device))
        with torch.cuda.stream(side):
            self._pair(0)
        torch.cuda.current_stream(self.batches.X.device).wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            for pair in range(self.batches.chunk // 2):
                self._pair(pair)
        return graph

    def result(self, used: int) -> Tensor:
        """(s, k, used, c): the weights, with the bias last."""
        return self.layout.split(join(self.copies[0], self.low)[:, :used]).transpose(1, 2).contiguous()

    def sound(self) -> Tensor:
        """(s, k) whether each trial has not diverged: its velocity, in contrast to its weights, is not kept finite."""
        return self.layout.split(self.velocity).isfinite().all(dim=3).all(dim=1)

    def kept(self) -> Tensor | None:
        """(s, k') positions of the trials to continue with, k' the largest number left in any problem; None if these
        are all.
        """
        alive = self.layout.split(self.velocity[:, 0]).isfinite().all(dim=2).cpu()
        most = int(alive.sum(dim=1).max())
        return None if most == alive.shape[1] else torch.argsort(~alive, dim=1, stable=True)[:, :most]

    def only(self, kept: Tensor) -> "_Stack":
        """The same stack with only the trials at these positions."""
        place = kept.to(self.trial_rates.device)
        layout = Layout(kept.shape[1], self.layout.classes)
        rates, decays = self.trial_rates.gather(1, place), self.trial_decays.gather(1, place)
        fewer = _Stack(self.batches, layout, rates, decays, self.momentum)
        for before, after in (
            (self.copies[0], fewer.copies[0]),
            (self.copies[1], fewer.copies[1]),
            (self.low, fewer.low),
            (self.velocity, fewer.velocity),
        ):
            old = self.layout.split(before)
            after.zero_()
            layout.split(after).copy_(old.gather(2, place[:, None, :, None].expand(*old.shape[:2], -1, old.shape[3])))
        return fewer


def _multiply(left: Tensor, right: Tensor, out: Tensor) -> None:
    """Batched product of 16-bit factors summed in 32 bits; a CPU, which is slow at that, does the same in float32."""
    if left.dtype == torch.float16 and not left.is_cuda:
        out.copy_(torch.bmm(left.float(), right.float()))
    else:
        torch.bmm(left, right, out=out)


def _store(trained: Tensor, which: Tensor, result: Tensor) -> None:
    for problem, trials in enumerate(which):
        held = torch.where(trials >= 0)[0]
        trained[problem, trials[held].to(trained.device)] = result[problem, held.to(trained.device)]


def _survivors(trained: Tensor, which: Tensor, stops: Stops, epoch: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weights of the trials that continue, the positions of the stack that hold them, and the trial at each of these.

    Problems with more diverged trials keep other trials in their positions, marked by −1.
    """
    chosen = [stops.choose(problem, epoch, weights) for problem, weights in enumerate(trained)]
    left = [still_running(kept, held) for kept, held in zip(chosen, which, strict=True)]
    most = max(len(trials) for _, trials in left)
    places, trials = which.new_zeros(len(left), most), which.new_full((len(left), most), -1)
    for problem, (place, trial) in enumerate(left):
        others = torch.ones(which.shape[1], dtype=torch.bool).index_fill_(0, place, False).nonzero()[:, 0]
        places[problem] = torch.cat([place, others])[:most]
        trials[problem, : len(trial)] = trial
    fewer = [weights[kept.to(weights.device)] for weights, kept in zip(trained, chosen, strict=True)]
    return torch.stack(fewer), places, trials


def _settled(trained: Tensor, stops: Stops, epochs: int) -> Tensor:
    """The weights of diverged trials that remain after later stops."""
    return torch.stack([stops.settle(i, each, trained_epochs=epochs) for i, each in enumerate(trained)])


def _sizes(ends: Sequence[int], chunk: int) -> list[int]:
    """Number of steps of each chunk, such that one ends at every number of steps in `ends`."""
    sizes, done = [], 0
    for end in ends:
        while done < end:
            sizes.append(min(chunk, end - done))
            done += sizes[-1]
    return sizes


def _chunks(epochs: Iterable[Tensor], sizes: Sequence[int], length: int, filler: int) -> Iterator[Tensor]:
    """Sample indices of this many steps at a time, across epoch boundaries, each padded to `length` steps; flat."""
    waiting, left = torch.empty(0), deque(sizes)
    for epoch in epochs:
        waiting = torch.cat([waiting, epoch]) if len(waiting) else epoch
        while left and len(waiting) >= left[0]:
            size = left.popleft()
            yield pad(waiting[:size], (0, 0, 0, 0, 0, length - size), value=filler).flatten()
            waiting = waiting[size:]


@contextmanager
def _sums_in_full() -> Iterator[None]:
    """Products of 16-bit factors are summed in 32 bits throughout, also if a product is split into several."""
    flags = torch.backends.cuda.matmul
    before = flags.allow_fp16_reduced_precision_reduction
    flags.allow_fp16_reduced_precision_reduction = False
    try:
        yield
    finally:
        flags.allow_fp16_reduced_precision_reduction = before

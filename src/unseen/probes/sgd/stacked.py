"""Logistic regression by SGD for several hyper-parameter pairs at once, step by step, in plain PyTorch.

All k classifiers see the same batches, so one product of a batch with their stacked weights serves all of them: a step
is two products of 2·b·d·k·c flops each (scores, then gradient) and three passes over k·d·c weights, instead of k small
ones. This is how a CPU trains, and the reference that `paired_sgd` is tested against.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import Generator, Tensor

from unseen.probes.sgd.pruning import Stops, still_running
from unseen.probes.sgd.rows import Mapped
from unseen.probes.sgd.schedule import epoch_orders, learning_rate


def initial_weights(features: int, classes: int, generator: Generator) -> Tensor:
    """(d + 1, c) weights and, last, biases, uniform in ±1/√d: the distribution of `nn.Linear`'s default."""
    bound = 1 / math.sqrt(features)
    return torch.empty(features + 1, classes).uniform_(-bound, bound, generator=generator)


@contextmanager
def tiny_numbers_as_zero() -> Iterator[None]:
    """Treat numbers below 1e-38 as 0 on this thread: probabilities reach them, and processors are slow with them."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@tiny_numbers_as_zero()
def train_stacked(
    X: Tensor | Mapped,
    y: Tensor,
    initial: Tensor,
    rates: Tensor,
    decays: Tensor,
    *,
    epochs: int,
    batch: int,
    momentum: float,
    generator: Generator,
    rows: Tensor | None = None,
    stops: Stops | None = None,
    mark_diverged: bool = False,
) -> Tensor:
    """Weights of k classifiers after SGD on the mean cross-entropy of each batch.

    Args:
        X: (n, d + 1) features and, last, a 1; or a source of such rows.
        y: (n,) class indices in [0, c).
        initial: (d + 1, c) weights and, last, bias: the start of every classifier.
        rates, decays: (k,) initial learning rate and weight decay of each.
        batch: samples per step; the last batch of an epoch has the remaining ones.
        generator: for the order of samples, drawn anew each epoch.
        rows: (m,) rows of X and y to train on, copied batch by batch; by default all.
        stops: when trials are stopped; this is their problem 0.
        mark_diverged: whether all weights of a classifier that diverged become NaN. Not together with `stops`.

    Returns:
        (k, d + 1, c), of the trials that were not stopped. A classifier with a non-finite gradient has diverged: it
        does not change from then on, and takes no more time.
    """
    k, (features, classes) = len(rates), initial.shape
    if isinstance(X, Tensor):
        count, like, draw = len(X), X, partial(torch.index_select, X, 0)
    else:
        count, like, draw = X.count, torch.empty(0), partial(X.draw, room=X.room(batch))
    count = count if rows is None else len(rows)
    trained = initial.to(like).expand(k, -1, -1).clone()
    alive = torch.arange(k)
    state = (
        trained.transpose(0, 1).clone(memory_format=torch.contiguous_format),
        trained.new_zeros(features, k, classes),
    )
    buffers = _buffers(like, min(batch, count), k * classes)
    orders = (order for block in epoch_orders(count, epochs, generator) for order in block.draw())
    for epoch, drawn in enumerate(orders):
        if stops and epoch in stops.epochs:
            trained[alive] = state[0].transpose(0, 1)
            kept = stops.choose(0, epoch, trained)
            trained, rates, decays = trained[kept], rates[kept], decays[kept]
            left, alive = still_running(kept, alive)
            state = state[0][:, left].contiguous(), state[1][:, left].contiguous()
            if len(alive) == 0:
                return stops.settle(0, trained, trained_epochs=epoch)
        order = drawn.to(like.device)
        hyper = rates[alive].to(like) * learning_rate(epoch, epochs), decays[alive].to(like)
        for start in range(0, count, batch):
            chosen = order[start : start + batch] if rows is None else rows[order[start : start + batch]]
            # An epoch of one batch is the whole set, in any order.
            whole = isinstance(X, Tensor) and rows is None and batch >= count
            samples = (like, y) if whole else (draw(chosen), y.index_select(0, chosen))
            finite = _step(*state, *samples, *hyper, momentum, buffers)
            if not finite.all():
                left = torch.where(finite)[0].cpu()
                trained[alive] = state[0].transpose(0, 1)
                alive, hyper = alive[left], (hyper[0][left], hyper[1][left])
                state = state[0][:, left].contiguous(), state[1][:, left].contiguous()
            if len(alive) == 0:
                if mark_diverged:
                    return trained.fill_(torch.nan)
                return stops.settle(0, trained, trained_epochs=epoch) if stops else trained
    if mark_diverged:
        trained.fill_(torch.nan)
    trained[alive] = state[0].transpose(0, 1)
    return trained


def _buffers(X: Tensor, batch: int, columns: int) -> tuple[Tensor, Tensor]:
    """Buffers for the scores and the gradient of a batch: allocating them at every step would cost more than computing
    them.
    """
    return X.new_empty(batch * columns), X.new_empty(batch * columns)


def _step(
    weights: Tensor,
    velocity: Tensor,
    X: Tensor,
    y: Tensor,
    rates: Tensor,
    decays: Tensor,
    momentum: float,
    buffers: tuple[Tensor, Tensor],
) -> Tensor:
    """One step of the (d + 1, k, c) weights in place; (k,) whether each classifier's gradient is finite.

    Classifiers with non-finite gradients are left unchanged.
    """
    (rows, k, classes), b = weights.shape, len(X)
    scores, slope = (buffer[: b * k * classes].view(b, k, classes) for buffer in buffers)
    torch.mm(X, weights.view(rows, -1), out=scores.view(b, -1))
    # The gradient of the mean cross-entropy with respect to the scores is (softmax − one-hot) / b.
    torch.softmax(scores, dim=2, out=slope)
    slope.scatter_add_(2, y[:, None, None].expand(-1, k, 1), slope.new_full((1, 1, 1), -1.0).expand(b, k, 1))
    velocity.view(rows, -1).addmm_(X.T, slope.view(b, -1), beta=momentum, alpha=1 / b)
    velocity.addcmul_(weights, decays[:, None])
    # A non-finite score makes the whole gradient of its classifier NaN, including that of the bias.
    finite = velocity[-1].sum(dim=1).isfinite()
    if not finite.all():
        velocity.masked_fill_(~finite[:, None], 0)
    weights.addcmul_(velocity, rates[:, None], value=-1)
    return finite

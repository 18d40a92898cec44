"""Logistic regression by SGD for several hyper-parameter pairs at once.

All k classifiers see the same batches, so one product of a batch with their stacked weights serves all of them: a
step is two products of 2·b·(d+1)·k·c flops each (scores, then gradient) and three passes over k·(d+1)·c weights,
instead of k small ones. The bias is the weight of a constant feature 1; it decays like any weight, as in
`torch.optim.SGD` over `nn.Linear`'s parameters.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Generator, Tensor

from unseen.metrics.accuracy import top_k_correct


def learning_rate(epoch: int, epochs: int) -> float:
    """The factor on the initial rate in an epoch, from 0: the public ImageNet-CoG code sets its cosine one epoch late.

    1 for epoch 0, then ½(1 + cos(π(e − 1)/E)): the first two epochs run at the full rate, the last above zero.
    """
    return 0.5 * (1 + math.cos(math.pi * max(epoch - 1, 0) / epochs))


def initial_weights(features: int, classes: int, generator: Generator) -> Tensor:
    """(d + 1, c) weights and, last, biases, uniform in ±1/√d: the distribution of `nn.Linear`'s default."""
    bound = 1 / math.sqrt(features)
    return torch.empty(features + 1, classes).uniform_(-bound, bound, generator=generator)


def with_constant(X: Tensor) -> Tensor:
    """(n, d + 1): the features and a column of ones."""
    return torch.cat([X, X.new_ones(len(X), 1)], dim=1)


@contextmanager
def tiny_numbers_as_zero() -> Iterator[None]:
    """Numbers below 1e-38 count as 0 on this thread: probabilities get there, and processors are slow over them."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@tiny_numbers_as_zero()
def train_stacked(
    X: Tensor,
    y: Tensor,
    initial: Tensor,
    rates: Tensor,
    decays: Tensor,
    *,
    epochs: int,
    batch: int,
    momentum: float,
    generator: Generator,
) -> Tensor:
    """Weights of k classifiers after SGD on the mean cross-entropy of each batch.

    Args:
        X: (n, d + 1) features with their constant column.
        y: (n,) class indices in [0, c).
        initial: (d + 1, c), the start of every classifier.
        rates, decays: (k,) initial learning rate and weight decay of each.
        batch: samples a step; the last batch of an epoch has what is left.
        generator: of the order of samples, drawn anew each epoch; on the CPU whatever X is on, so that it is the
        same everywhere.

    Returns:
        (k, d + 1, c). A classifier whose gradient is not finite stays as it was from then on.
    """
    n, k, (rows, classes) = len(X), len(rates), initial.shape
    weights = initial.to(X)[:, None, :].repeat(1, k, 1)
    velocity = torch.zeros_like(weights)
    flat = velocity.view(rows, k * classes)
    decay, alive = decays.to(X)[None, :, None], torch.ones(k, dtype=torch.bool, device=X.device)
    labels, minus_one = y[:, None, None], X.new_full((1, 1, 1), -1.0)
    for epoch in range(epochs):
        rate = (rates.to(X) * learning_rate(epoch, epochs))[None, :, None]
        order = torch.randperm(n, generator=generator).to(X.device)
        for start in range(0, n, batch):
            chosen = order[start : start + batch]
            # An epoch of one batch is the whole set, in any order.
            samples, targets = (X, labels) if batch >= n else (X.index_select(0, chosen), labels[chosen])
            scores = samples @ weights.view(rows, k * classes)
            # The gradient of the mean cross-entropy with respect to the scores is (softmax − one-hot) / b.
            slope = scores.view(-1, k, classes).softmax(dim=2)
            slope.scatter_add_(2, targets.expand(-1, k, 1), minus_one.expand(len(chosen), k, 1))
            flat.addmm_(samples.T, slope.view(-1, k * classes), beta=momentum, alpha=1 / len(chosen))
            velocity.addcmul_(weights, decay)
            # A score that is not finite makes its whole gradient not a number: one sum over the weights tells.
            alive &= velocity.sum(dim=(0, 2)).isfinite()
            if not alive.all():
                velocity.masked_fill_(~alive[None, :, None], 0)
            weights.addcmul_(velocity, rate, value=-1)
    return weights.permute(1, 0, 2)


def accuracies(X: Tensor, y: Tensor, weights: Tensor, ks: tuple[int, ...] = (1,), block: int = 8192) -> Tensor:
    """(len(ks), k): top-k accuracy of each of the stacked classifiers, over blocks of samples to bound memory.

    Args:
        X: (n, d + 1) features with their constant column.
        weights: (k, d + 1, c).
    """
    correct = torch.zeros(len(ks), len(weights), dtype=torch.long, device=X.device)
    for start in range(0, len(X), block):
        scores = torch.einsum("nd,kdc->knc", X[start : start + block], weights)
        for i, k in enumerate(ks):
            correct[i] += top_k_correct(scores, y[start : start + block], k)
    return correct.double() / len(X)

"""The MLPs of ImageNet-CoG's first version: two hidden layers, with ReLU and without any activation.

Sariyildiz et al. 2021 (v1), supplementary B.2 and C.3. The same MLP without activations is a linear classifier with as
many weights: comparing the two shows what ReLU adds. On a supervised ResNet-50 the paper reports −0.2 % (both) relative
to the logistic regression's accuracy on ImageNet-1K, and +4.7 % and +1.8 % on the farthest concepts.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from math import sqrt

import torch
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.metrics.accuracy import top_k_hits
from unseen.probes.arrays import common_classes
from unseen.probes.protocol import COG_V1_MLP, MlpProtocol
from unseen.probes.sampling import split_validation, stream
from unseen.probes.sgd.schedule import learning_rate
from unseen.probes.sgd.search import Trial, best_trial, search
from unseen.probes.sgd.stacked import tiny_numbers_as_zero


@dataclass(frozen=True)
class MlpResult:
    """Accuracies on the test set, and how the classifier was obtained.

    Attributes:
        rate, decay: the chosen pair, among `trials` in the order tried.
        hits: (n,) whether each test sample is classified correctly, on the CPU.
    """

    top1: float
    top5: float
    rate: float
    decay: float
    trials: tuple[Trial, ...]
    hits: Tensor = field(compare=False, repr=False)


@dataclass(frozen=True)
class Layer:
    """The same layer of k MLPs, applied as  x·weights + bias:  (k, inputs, outputs) and (k, 1, outputs)."""

    weights: Tensor
    bias: Tensor

    @property
    def tensors(self) -> tuple[Tensor, Tensor]:
        return self.weights, self.bias


@dataclass(frozen=True)
class MlpStack:
    """k MLPs of the same shape.

    Attributes:
        finished: (k,) whether each trained to the end; the others stay as they were before they diverged.
    """

    layers: tuple[Layer, ...]
    relu: bool
    finished: Tensor


def probe_mlp(
    X_train: Tensor,
    y_train: Tensor,
    X_test: Tensor,
    y_test: Tensor,
    *,
    protocol: MlpProtocol = COG_V1_MLP,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> MlpResult:
    """Train and test an MLP on frozen features, which are not normalised.

    The training set is split per class, as in the logistic probe with the same seed. Each trial trains on the larger
    part and is scored by top-1 on the smaller one after its last epoch; the best pair trains the final MLP on the whole
    training set. Trials share their initial weights and the order of samples, which depend only on `seed`. Weights and
    sums are in float32; on a GPU factors are rounded to TF32 (19 bits). Trials that diverge are scored with their last
    finite weights, which guides the search, but they are not chosen; a final MLP that diverges is refused.

    Args:
        X_train, X_test: (n, d) features of any real dtype; not modified.
        y_train, y_test: (n,) class indices; both must have the same classes.
    """
    classes = common_classes(y_train, y_test)
    samples = _single(X_train, y_train, "training").to(device)
    tests = _single(X_test, y_test, "test").to(device)
    if samples.shape[1] != tests.shape[1]:
        raise UserError(f"training features have {samples.shape[1]} dimensions, test features {tests.shape[1]}")
    labels = y_train.to(device, torch.long)

    def fit(rows: Tensor, pairs: Sequence[tuple[float, float]], number: int) -> MlpStack:
        generator = stream(seed, number)
        rates, decays = torch.tensor(pairs, dtype=torch.float64).T
        with _short_products():
            return train_mlps(
                samples,
                labels,
                rows,
                initial_layers((samples.shape[1], *protocol.hidden, classes), generator),
                rates,
                decays,
                relu=protocol.relu,
                epochs=protocol.epochs,
                batch=protocol.batch,
                momentum=protocol.momentum,
                generator=generator,
            )

    part, held = split_validation(y_train.long(), protocol.validation, stream(seed, 0))
    if len(held) == 0:
        raise UserError("every class has a single training sample, so none is left to choose hyper-parameters on")

    finished = list[bool]()

    def evaluate(pairs: Sequence[tuple[float, float]]) -> list[float]:
        stack = fit(part, pairs, 2)
        finished.extend(stack.finished.tolist())
        scores: list[float] = mlp_accuracies(samples, labels, held, stack)[0].tolist()
        return scores

    trials = search(
        evaluate,
        rates=protocol.rates,
        decays=protocol.decays,
        trials=protocol.trials,
        round_size=protocol.round_size,
        seed=seed,
        starts=protocol.starts,
    )
    best = best_trial([trial for trial, sound in zip(trials, finished, strict=True) if sound] or trials)
    final = fit(torch.arange(len(labels)), [(best.rate, best.decay)], 4)
    everything = torch.arange(len(tests))
    hits, finite = mlp_hits(tests, y_test.to(device), everything, final, (1, 5))
    if not bool(final.finished[0]) or not bool(finite[0]):
        raise UserError(
            f"the final MLP diverged at the learning rate {best.rate:g}, which the search chose: its weights or scores "
            "are not finite numbers; the features may be too large: divide them by their mean length, or use another "
            "probe"
        )
    top1, top5 = (hits[:, 0].sum(dim=1).double() / len(tests)).tolist()
    return MlpResult(top1, top5, best.rate, best.decay, trials, hits[0, 0].cpu())


@contextmanager
def _short_products() -> Iterator[None]:
    """TF32 products on a GPU's matrix units, several times faster than full float32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def initial_layers(sizes: Sequence[int], generator: Generator) -> list[Layer]:
    """Layers of one MLP (k = 1), uniform in ±1/√inputs: the default distribution of `nn.Linear`."""
    layers = []
    for inputs, outputs in pairwise(sizes):
        bound = 1 / sqrt(inputs)
        weights, bias = (torch.empty(1, n, outputs).uniform_(-bound, bound, generator=generator) for n in (inputs, 1))
        layers.append(Layer(weights, bias))
    return layers


@tiny_numbers_as_zero()
def train_mlps(
    X: Tensor,
    y: Tensor,
    rows: Tensor,
    initial: Sequence[Layer],
    rates: Tensor,
    decays: Tensor,
    *,
    relu: bool,
    epochs: int,
    batch: int,
    momentum: float,
    generator: Generator,
) -> MlpStack:
    """k MLPs after SGD on the mean cross-entropy of each batch, with the same decay for weights and biases.

    All see the same batches, so each layer is one batched product for all of them. With P weights each, a step costs
    6·b·P·k flops (minus the unneeded gradient of the features) and a dozen passes over k·P numbers; memory is 2·k·P
    numbers, since gradients are added to the momentum as they arise. Divergence is detected on the device: no step
    makes the host wait, and no MLP affects another.

    Args:
        X: (n, d) features; `y`: (n,) class indices on the same device.
        rows: (m,) indices of the training rows.
        initial: the start of every MLP, with k = 1.
        rates, decays: (k,) initial learning rate and weight decay of each.
        batch: samples per step; the last batch of an epoch has the remaining ones.
        generator: for the order of samples, drawn anew each epoch; always on the CPU, so that the order is the same
            everywhere.
    """
    k, rows = len(rates), rows.to(X.device)
    layers = [Layer(*(t.to(X).repeat(k, 1, 1) for t in layer.tensors)) for layer in initial]
    momenta = [Layer(*(torch.zeros_like(t) for t in layer.tensors)) for layer in layers]
    values = [tensor for layer in layers for tensor in layer.tensors]
    moves = [tensor for layer in momenta for tensor in layer.tensors]
    decay, alive = decays.to(X)[:, None, None], torch.ones(k, 1, 1, dtype=torch.bool, device=X.device)
    for epoch in range(epochs):
        rate = (rates.to(X) * learning_rate(epoch, epochs))[:, None, None]
        order = rows[torch.randperm(len(rows), generator=generator).to(X.device)]
        for chosen in torch.split(order, batch):
            inputs, scores = _forward(X[chosen], layers, relu)
            _add_gradients(layers, momenta, inputs, _slope(scores, y[chosen]), relu, momentum)
            for value, move in zip(values, moves, strict=True):
                move.addcmul_(value, decay)
                # A single non-finite number makes the sum non-finite.
                alive &= move.sum(dim=(1, 2), keepdim=True).isfinite()
            for value, move in zip(values, moves, strict=True):
                value.addcmul_(move.masked_fill_(~alive, 0), rate, value=-1)
    return MlpStack(tuple(layers), relu, alive.flatten())


def mlp_accuracies(
    X: Tensor, y: Tensor, rows: Tensor, stack: MlpStack, ks: tuple[int, ...] = (1,), *, block: int = 1024
) -> Tensor:
    """(len(ks), k): top-k accuracy of each MLP on some rows; arguments as in `mlp_hits`."""
    return mlp_hits(X, y, rows, stack, ks, block=block)[0].sum(dim=2).double() / len(rows)


def mlp_hits(
    X: Tensor, y: Tensor, rows: Tensor, stack: MlpStack, ks: tuple[int, ...] = (1,), *, block: int = 1024
) -> tuple[Tensor, Tensor]:
    """(len(ks), k, m): whether each MLP has the class of a row among its k largest scores, in blocks to bound memory.

    An MLP is wrong on rows with scores that are not finite, so that it loses a search.

    Returns:
        Also (k,) whether all scores of an MLP are finite.
    """
    hits, finite = list[Tensor](), torch.ones_like(stack.finished)
    for chosen in torch.split(rows.to(X.device), block):
        _, scores = _forward(X[chosen], stack.layers, stack.relu)
        finite &= scores.isfinite().all(dim=2).all(dim=1)
        hits.append(torch.stack([top_k_hits(scores, y[chosen], k) for k in ks]))
    return torch.cat(hits, dim=2), finite


def _forward(X: Tensor, layers: Sequence[Layer], relu: bool) -> tuple[list[Tensor], Tensor]:
    """The inputs (k, b, ·) of every layer, and the scores (k, b, c)."""
    inputs = [X.expand(len(layers[0].weights), *X.shape)]
    for layer in layers[:-1]:
        outputs = torch.baddbmm(layer.bias, inputs[-1], layer.weights)
        inputs.append(outputs.relu_() if relu else outputs)
    return inputs, torch.baddbmm(layers[-1].bias, inputs[-1], layers[-1].weights)


def _slope(scores: Tensor, y: Tensor) -> Tensor:
    """(k, b, c): the gradient of the mean cross-entropy with respect to the scores, (softmax − one-hot) / b."""
    slope = scores.softmax(dim=2)
    slope[:, torch.arange(len(y), device=y.device), y] -= 1
    return slope.div_(len(y))


def _add_gradients(
    layers: Sequence[Layer], momenta: Sequence[Layer], inputs: Sequence[Tensor], slope: Tensor, relu: bool, keep: float
) -> None:
    """Momenta ← keep·momenta + gradients, from the last layer to the first; `slope` is that of the scores."""
    for layer, momentum, given in reversed(list(zip(layers, momenta, inputs, strict=True))):
        momentum.weights.baddbmm_(given.mT, slope, beta=keep)
        momentum.bias.mul_(keep).add_(slope.sum(dim=1, keepdim=True))
        if layer is not layers[0]:
            slope = torch.bmm(slope, layer.weights.mT)
            if relu:
                slope.mul_(given > 0)


def _single(X: Tensor, y: Tensor, name: str) -> Tensor:
    """Features in float32, if there is a row of numbers for each label."""
    if X.ndim != 2 or len(X) != len(y) or X.numel() == 0:
        raise UserError(f"{name} features of shape {tuple(X.shape)} do not match labels of shape {tuple(y.shape)}")
    if X.is_complex() or not torch.isfinite(X.float()).all():
        raise UserError(f"the {name} features contain values that are not finite real numbers in single precision")
    return X.float()

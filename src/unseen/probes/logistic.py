"""The logistic regression of ImageNet-CoG: hyper-parameters searched on a part of the training set, then a final fit.

Sariyildiz et al. 2021, supplementary B.2, with the details of their public code. Under it a ResNet-50 has 75.8 % on
ImageNet-1K (supplementary Table 5, all samples).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import normalize

from unseen.errors import UserError
from unseen.probes.sampling import draw_shots, split_validation
from unseen.probes.search import Trial, best_trial, search
from unseen.probes.stacked_sgd import accuracies, initial_weights, train_stacked, with_constant

REVISION = 1
"""Raised when this code gives other numbers for the same input, so that older results are not taken for its own."""


@dataclass(frozen=True)
class LogisticProtocol:
    """What is done with features; everything here can change a number.

    Attributes:
        round_size: trials evaluated together; 1 is the paper's one-at-a-time order (`sequential`).
        validation: share of each class's training samples that trials are scored on.
        starts: how many first trials are spread evenly over the range of rates; 0 draws ten at random, as TPE does.
    """

    name: str = "cog-v2"
    epochs: int = 100
    trials: int = 30
    round_size: int = 10
    batch: int = 1024
    momentum: float = 0.9
    rates: tuple[float, float] = (1e-1, 1e2)
    decays: tuple[float, float] = (1e-12, 1e-4)
    validation: float = 0.2
    starts: int = 0

    @property
    def sequential(self) -> "LogisticProtocol":
        """The same with trials one at a time."""
        return replace(self, round_size=1)


COG_V2 = LogisticProtocol()
COG_V2_SHORT = LogisticProtocol(name="cog-v2-short", epochs=30, trials=10, round_size=5, starts=5)
"""A short form for demonstrations, its first five trials spread evenly; its numbers are not those of the protocol."""


@dataclass(frozen=True)
class LogisticResult:
    """Accuracies on the test set, and how the classifier came about.

    Attributes:
        rate, decay: the pair chosen, of `trials` in the order tried.
        fewest_samples: of a class, in the final fit; below `shots` where one ran out.
        weights, bias: (c, d) and (c,) of the final classifier, on the CPU.
    """

    top1: float
    top5: float
    rate: float
    decay: float
    trials: tuple[Trial, ...]
    fewest_samples: int
    weights: Tensor
    bias: Tensor


def probe_logistic(
    X_train: Tensor,
    y_train: Tensor,
    X_test: Tensor,
    y_test: Tensor,
    *,
    protocol: LogisticProtocol = COG_V2,
    shots: int | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> LogisticResult:
    """Train and test a linear classifier on frozen features.

    Features are ℓ2-normalised. The training set is parted per class; each trial trains on the larger part (with
    `shots`, on that many samples of each class drawn from it) and is scored by top-1 on the whole smaller part after
    its last epoch. The best pair trains the final classifier on the whole training set (with `shots`, on that many
    of each class). Trials share their initial weights and the order of samples, which depend on `seed` alone.

    Args:
        X_train, X_test: (n, d) features of any float type; not modified.
        y_train, y_test: (n,) class indices; every class of one must be in the other.
    """
    classes = _check(X_train, y_train, X_test, y_test, shots)
    y_train, y_test = y_train.long(), y_test.long()
    samples, tests = (with_constant(unit_rows(X.to(device))) for X in (X_train, X_test))
    labels, test_labels = y_train.to(device), y_test.to(device)

    def fit(rows: Tensor, pairs: Sequence[tuple[float, float]], stream: int) -> Tensor:
        generator = _generator(seed, stream)
        rates, decays = torch.tensor(pairs, dtype=torch.float64).T
        rows = rows.to(device)
        return train_stacked(
            samples[rows],
            labels[rows],
            initial_weights(X_train.shape[1], classes, generator),
            rates,
            decays,
            epochs=protocol.epochs,
            batch=min(protocol.batch, len(rows)),
            momentum=protocol.momentum,
            generator=generator,
        )

    part, held = split_validation(y_train, protocol.validation, _generator(seed, 0))
    if len(held) == 0:
        raise UserError("every class has a single training sample: nothing is left to choose hyper-parameters on")
    if shots is not None:
        part = part[draw_shots(y_train[part], shots, _generator(seed, 1))]

    def evaluate(pairs: Sequence[tuple[float, float]]) -> list[float]:
        weights = fit(part, pairs, stream=2)
        rows = held.to(device)
        scores: list[float] = accuracies(samples[rows], labels[rows], weights)[0].tolist()
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
    best = best_trial(trials)
    whole = torch.arange(len(y_train)) if shots is None else draw_shots(y_train, shots, _generator(seed, 3))
    weights = fit(whole, [(best.rate, best.decay)], stream=4)
    top1, top5 = accuracies(tests, test_labels, weights, (1, 5))[:, 0].tolist()
    final = weights[0].cpu()
    fewest = int(torch.bincount(y_train[whole], minlength=classes).min())
    return LogisticResult(top1, top5, best.rate, best.decay, trials, fewest, final[:-1].T.contiguous(), final[-1])


def unit_rows(X: Tensor) -> Tensor:
    """Rows of length 1, as float32; of any scale, as they are brought near 1 before they are squared."""
    X = X if X.dtype == torch.float64 else X.float()
    return normalize((X / X.abs().amax(dim=1, keepdim=True)).float(), dim=1)


def _generator(seed: int, stream: int) -> torch.Generator:
    """A generator for one purpose: streams of one seed, and equal streams of different seeds, do not share numbers."""
    return torch.Generator().manual_seed((seed << 8) + stream)


def _check(X_train: Tensor, y_train: Tensor, X_test: Tensor, y_test: Tensor, shots: int | None) -> int:
    """The number of classes, if the arrays fit together."""
    for name, X, y in (("training", X_train, y_train), ("test", X_test, y_test)):
        if X.ndim != 2 or y.ndim != 1 or len(X) != len(y) or len(X) == 0:
            raise UserError(
                f"{name} features of shape {tuple(X.shape)} do not go with labels of shape {tuple(y.shape)}"
            )
        if X.is_complex() or not torch.isfinite(X).all():
            raise UserError(f"the {name} features contain values that are not finite real numbers")
        zero = torch.where((X == 0).all(dim=1))[0]
        if len(zero):
            raise UserError(f"row {int(zero[0])} of the {name} features is all zeros, so it has no direction")
        if y.dtype.is_floating_point or int(y.min()) < 0:
            raise UserError(f"the {name} labels must be class indices from 0")
    if X_train.shape[1] != X_test.shape[1]:
        raise UserError(f"training features have {X_train.shape[1]} dimensions, test features {X_test.shape[1]}")
    there, tested = torch.unique(y_train).tolist(), torch.unique(y_test).tolist()
    if there != tested:
        odd = sorted(set(there) ^ set(tested))[0]
        where = "training" if odd in tested else "test"
        raise UserError(f"class {odd} has no {where} sample; every class needs both")
    if there != list(range(len(there))):
        raise UserError(f"class indices must run from 0 to {len(there) - 1} without gaps")
    if len(there) < 2:
        raise UserError("a classifier needs at least two classes")
    if shots is not None and shots < 1:
        raise UserError(f"shots must be at least 1, not {shots}")
    return len(there)

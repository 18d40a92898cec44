"""k-nearest-neighbour classification by cosine similarity, for every k at once.

Similarities are products of unit rows in float32, 2·n·m·d flops for n training and m test samples, in blocks of both;
memory is one float32 copy of each set and blocks of at most 1 GiB. One search for the largest k serves the smaller
ones: votes are accumulated from the nearest neighbour on and read off at each k.

Results are deterministic on one device: votes are integers, whose sums do not depend on a GPU's order of summation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.probes.arrays import checked_features, checked_labels, directions, row_blocks
from unseen.probes.neighbours import TILE, nearest

Weights = Literal["exponential", "uniform", "distance"]
VOTE = 1 << 40
"""The vote of the nearest neighbour; other votes are rounded to integers relative to it."""
NEAREST = 1e-6
"""Cosine distances below this are float32 rounding errors and are set to this value."""


@dataclass(frozen=True)
class KNN:
    """Accuracies on the test set, one for each of `ks`.

    Attributes:
        top1, top5: share of test samples whose class has the most votes, or is among the five with most. Ties go to the
            lower class index; a class without votes is never counted.
        hits: (len(ks), n) whether the class of each test sample has the most votes, on the CPU.
    """

    ks: tuple[int, ...]
    top1: tuple[float, ...]
    top5: tuple[float, ...]
    hits: Tensor = field(compare=False, repr=False)


def knn(
    X_train: Tensor,
    y_train: Tensor,
    X_test: Tensor,
    y_test: Tensor,
    ks: Sequence[int] = (1, 5, 10, 20, 100, 200),
    *,
    weights: Weights = "exponential",
    temperature: float = 0.07,
) -> KNN:
    """Classify test samples by the votes of their nearest training samples.

    Args:
        X_train, X_test: (n, d) and (m, d) features of any real dtype and length; not modified.
        y_train, y_test: class indices from 0. Classes of one may be missing from the other.
        ks: numbers of neighbours that vote; at most n.
        weights: a neighbour of cosine similarity s votes exp(s/temperature) (Wu et al. 2018), 1, or 1/(1 − s).
    """
    X_train, X_test = checked_features(X_train, "training"), checked_features(X_test, "test").to(X_train.device)
    y_train, y_test = checked_labels(y_train, X_train, "training"), checked_labels(y_test, X_test, "test")
    _check(X_train, X_test, ks, weights, temperature)
    train, test = directions(X_train), directions(X_test)
    classes = 1 + int(torch.maximum(y_train.max(), y_test.max()))
    order = sorted(set(ks))
    hits = torch.zeros(len(order), 2, len(test), dtype=torch.bool, device=train.device)
    for rows in row_blocks(len(test), 4 * (min(len(train), TILE) + 4 * classes), train.device):
        similarities, neighbours = nearest(test[rows], train, order[-1], ties="any")
        votes = _votes(similarities, weights, temperature)
        hits[:, :, rows] = _hits(votes, y_train[neighbours], y_test[rows], order, classes)
    counts = hits.sum(dim=2).tolist()
    top1, top5 = ([float(counts[order.index(k)][column]) / len(test) for k in ks] for column in (0, 1))
    return KNN(tuple(ks), tuple(top1), tuple(top5), hits[[order.index(k) for k in ks], 0].cpu())


def knn_votes(
    X_train: Tensor, y_train: Tensor, X_test: Tensor, k: int, classes: int, weights: Weights, temperature: float
) -> Tensor:
    """(m, classes) votes of the k nearest neighbours in float64, with 1 for the nearest; arguments as in `knn`."""
    train, test = directions(checked_features(X_train, "training")), directions(checked_features(X_test, "test"))
    totals = torch.zeros(len(test), classes, dtype=torch.int64, device=train.device)
    for rows in row_blocks(len(test), 4 * (min(len(train), TILE) + 4 * classes), train.device):
        similarities, neighbours = nearest(test[rows], train, k, ties="any")
        totals[rows] = totals[rows].scatter_add(1, y_train[neighbours], _votes(similarities, weights, temperature))
    return totals.double() / VOTE


def _votes(similarities: Tensor, weights: Weights, temperature: float) -> Tensor:
    """(m, k) votes as integers from 1 to VOTE, relative to those of the nearest neighbour."""
    exact = similarities.double()
    if weights == "exponential":
        shares = ((exact - exact[:, :1]) / temperature).exp()
    elif weights == "distance":
        distances = (1 - exact).clamp(min=NEAREST)
        shares = distances[:, :1] / distances
    else:
        shares = torch.ones_like(exact)
    return (shares * VOTE).long().clamp(min=1)


def _hits(votes: Tensor, labels: Tensor, y: Tensor, ks: Sequence[int], classes: int) -> Tensor:
    """(len(ks), 2, b) whether the class of a sample is first, and among the first five, after each k of its votes."""
    totals = torch.zeros(len(votes), classes, dtype=torch.int64, device=votes.device)
    lower = torch.arange(classes, device=votes.device) < y[:, None]
    hits, counted = [], 0
    for k in ks:
        totals.scatter_add_(1, labels[:, counted:k], votes[:, counted:k])
        counted = k
        own = totals.gather(1, y[:, None])
        ahead = ((totals > own) | ((totals == own) & lower)).sum(dim=1)
        voted = own[:, 0] > 0
        hits.append(torch.stack([voted & (ahead < first) for first in (1, 5)]))
    return torch.stack(hits)


def _check(X_train: Tensor, X_test: Tensor, ks: Sequence[int], weights: str, temperature: float) -> None:
    if X_train.shape[1] != X_test.shape[1]:
        raise UserError(f"training features have {X_train.shape[1]} dimensions, test features {X_test.shape[1]}")
    if not ks or min(ks) < 1 or max(ks) > len(X_train):
        raise UserError(f"numbers of neighbours must be from 1 to the {len(X_train)} training samples, not {list(ks)}")
    if weights not in {"exponential", "uniform", "distance"}:
        raise UserError(f"{weights!r} is not a weighting of neighbours; choose exponential, uniform or distance")
    if not temperature > 0:
        raise UserError(f"the temperature must be positive, not {temperature}")

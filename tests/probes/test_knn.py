"""Nearest neighbours against scikit-learn and against a plain loop over test samples."""

from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.probes.knn import knn

Weights = Literal["exponential", "uniform", "distance"]


def samples(n: int, d: int, classes: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Overlapping classes; the same ones for any seed."""
    centres = torch.randn(classes, d, generator=Generator().manual_seed(d), dtype=torch.float64)
    generator = Generator().manual_seed(seed + n)
    y = torch.randint(classes, (n,), generator=generator)
    return (centres[y] + 1.5 * torch.randn(n, d, generator=generator, dtype=torch.float64)).float(), y


def plain_loop(
    X: Tensor, y: Tensor, X_test: Tensor, y_test: Tensor, ks: tuple[int, ...], weights: Weights, temperature: float
) -> tuple[list[float], list[float]]:
    """Votes added up for one test sample after another, in double precision."""
    train, test = (A.double() / A.double().norm(dim=1, keepdim=True) for A in (X, X_test))
    classes = int(max(y.max(), y_test.max())) + 1
    top1, top5 = np.zeros(len(ks)), np.zeros(len(ks))
    for x, label in zip(test, y_test.tolist(), strict=True):
        similarity = (train @ x).numpy()
        order = np.argsort(-similarity, kind="stable")
        for i, k in enumerate(ks):
            votes = np.zeros(classes)
            for j in order[:k]:
                kinds = {
                    "exponential": np.exp(similarity[j] / temperature),
                    "uniform": 1,
                    "distance": 1 / max(1 - similarity[j], 1e-6),
                }
                votes[y[j]] += kinds[weights]
            ranked = [c for c in np.argsort(-votes, kind="stable") if votes[c] > 0]
            top1[i] += ranked[0] == label
            top5[i] += label in ranked[:5]
    return (top1 / len(X_test)).tolist(), (top5 / len(X_test)).tolist()


@pytest.mark.parametrize("weights", ["exponential", "uniform", "distance"])
@pytest.mark.parametrize(
    ("n", "d", "classes"), [(300, 8, 10), (60, 200, 4), (40, 2, 3), (25, 5, 25)], ids=["many", "wide", "flat", "rare"]
)
def test_matches_a_plain_loop(n: int, d: int, classes: int, weights: Weights) -> None:
    data = *samples(n, d, classes), *samples(50, d, classes, seed=1)
    ks = (20, 1, 3, 7, 25)
    found = knn(*data, ks, weights=weights, temperature=0.1)
    assert found.ks == ks
    assert (list(found.top1), list(found.top5)) == plain_loop(*data, ks, weights, 0.1)


@pytest.mark.parametrize(("n", "d"), [(500, 16), (40_000, 6)], ids=["one block", "several blocks of training samples"])
@pytest.mark.parametrize("k", [1, 9, 50])
def test_matches_scikit_learn(n: int, d: int, k: int) -> None:
    (X, y), (X_test, y_test) = samples(n, d, 6), samples(300, d, 6, seed=1)
    theirs = KNeighborsClassifier(k, metric="cosine", algorithm="brute").fit(X.numpy(), y.numpy())
    assert knn(X, y, X_test, y_test, [k], weights="uniform").top1[0] == pytest.approx(
        theirs.score(X_test.numpy(), y_test.numpy()), abs=1.5 / 300
    )


def test_many_test_samples_take_several_blocks() -> None:
    (X, y), (X_test, y_test) = samples(200, 3, 40), samples(30_000, 3, 40, seed=1)
    whole = knn(X, y, X_test, y_test, [1, 10])
    halves = [knn(X, y, X_test[part], y_test[part], [1, 10]) for part in (slice(0, 15_000), slice(15_000, None))]
    for column in ("top1", "top5"):
        assert getattr(whole, column) == pytest.approx(np.mean([getattr(half, column) for half in halves], axis=0))


def test_ties_go_to_the_lower_class() -> None:
    X = torch.tensor([[1.0, 0.1], [1.0, -0.1], [1.0, 0.2], [1.0, -0.2]])
    query = torch.tensor([[1.0, 0.0]])
    for labels in ([3, 1, 1, 3], [1, 3, 3, 1]):
        assert knn(X, torch.tensor(labels), query, torch.tensor([1]), [4], weights="uniform").top1 == (1.0,)


def test_classes_without_votes_are_never_right() -> None:
    X, y = samples(30, 4, 3)
    found = knn(X, y + 3, X, torch.zeros_like(y), [1, 30])
    assert found.top1 == found.top5 == (0, 0)


def test_one_class_and_one_sample_a_class() -> None:
    X, y = samples(20, 4, 1)
    assert knn(X, y, X, y, [1, 20]).top1 == (1, 1)
    everyone = torch.arange(20)
    assert knn(X, everyone, X, everyone, [1, 5, 20]).top1 == (1, 1, 1)


def test_a_faint_vote_still_counts() -> None:
    """At this temperature the opposite sample votes e⁻²⁰⁰⁰⁰ of the nearest."""
    X = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    found = knn(X, torch.tensor([0, 1]), X[:1], torch.tensor([1]), [1, 2], temperature=1e-4)
    assert (found.top1, found.top5) == ((0, 0), (0, 1))


@examples(20)
@given(st.integers(1, 30), st.integers(1, 6), st.integers(1, 8), st.sampled_from([1e30, 1.0, 1e-30]))
def test_length_does_not_matter_and_more_guesses_are_right_more_often(n: int, d: int, c: int, scale: float) -> None:
    (X, y), (X_test, y_test) = samples(n, d, c), samples(20, d, c, seed=1)
    found = knn(X * scale, y, X_test, y_test, range(1, n + 1))
    assert found == knn(X, y, X_test * scale, y_test, range(1, n + 1))
    assert all(one <= five for one, five in zip(found.top1, found.top5, strict=True))
    if c <= 5:  # then a class is right as soon as it has a vote
        assert all(fewer <= more for fewer, more in pairwise(found.top5))


@pytest.mark.parametrize("dtype", [torch.int64, torch.float16, torch.float64])
def test_other_types_views_and_duplicates(dtype: torch.dtype) -> None:
    X, y = samples(80, 6, 4)
    X = (X * 16).to(dtype)
    X[40:] = X[:40]
    expected = plain_loop(X[::2], y[::2], X[1::2], y[1::2], (1,), "uniform", 0.07)[0]
    found = knn(X.T.contiguous().T[::2], y[::2].int(), X[1::2], y[1::2], [1, 40], weights="uniform")
    assert found.top1[0] == pytest.approx(expected[0], abs=0.1)
    assert found.top1[1] == pytest.approx(float((y[1::2] == y[::2].mode().values).double().mean()))


@pytest.mark.parametrize("weights", ["exponential", "uniform", "distance"])
def test_rows_of_zeros_are_equally_similar_to_all(weights: str) -> None:
    X, y = samples(20, 4, 2)
    some = X * (torch.arange(20) != 7)[:, None]
    without = torch.arange(20) != 7
    # With all neighbours, the row of zeros is decided by how many each class has; it changes no other row's neighbours.
    found, rest = (
        knn(X, y, some, y, [1, 20], weights=weights),
        knn(X, y, X[without], y[without], [1, 20], weights=weights),
    )
    assert abs(20 * found.top1[0] - 19 * rest.top1[0]) <= 1 + 1e-9
    most = int(torch.bincount(y).argmax())
    assert 20 * found.top1[1] - 19 * rest.top1[1] == pytest.approx(float(y[7] == most))


def test_mistakes_are_told() -> None:
    X, y = samples(20, 4, 2)
    for ks in ([], [0], [5, 21]):
        with pytest.raises(UserError, match="from 1 to the 20 training samples"):
            knn(X, y, X, y, ks)
    with pytest.raises(UserError, match="not a weighting of neighbours"):
        knn(X, y, X, y, [1], weights="linear")
    with pytest.raises(UserError, match="temperature must be positive"):
        knn(X, y, X, y, [1], temperature=0)
    with pytest.raises(UserError, match="training features have 4 dimensions, test features 3"):
        knn(X, y, X[:, :3], y, [1])
    with pytest.raises(UserError, match="training features contain values that are not finite"):
        knn(X / 0, y, X, y, [1])
    with pytest.raises(UserError, match="test features of shape \\(20, 4\\) do not match labels of shape \\(3,\\)"):
        knn(X, y, X, y[:3], [1])


@pytest.mark.gpu
@pytest.mark.parametrize("weights", ["exponential", "uniform", "distance"])
def test_a_gpu_gives_the_same(weights: Weights) -> None:
    data = *samples(20_000, 16, 30), *samples(2000, 16, 30, seed=1)
    here, there = knn(*data, weights=weights), knn(*(part.cuda() for part in data), weights=weights)
    assert there == knn(*(part.cuda() for part in data), weights=weights)
    assert there.top1 == pytest.approx(here.top1, abs=2e-3)

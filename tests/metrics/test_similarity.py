"""Similarity of representations against plain loops, known invariances, and all orders of a few images."""

from itertools import combinations, permutations
from math import factorial, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.similarity import _moments, _Sums, similarities

Floats = NDArray[np.float64]


def representations(n: int, widths: tuple[int, ...] = (5, 12, 40), seed: int = 0) -> list[Floats]:
    """Features that share some directions, of several widths, about means that are not 0."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 4))
    return [shared @ rng.normal(size=(4, d)) + rng.normal(size=(n, d)) + 3 * rng.normal(size=d) for d in widths]


def plain_hsic(K: Floats, L: Floats) -> float:
    """The unbiased estimator as Song et al. 2012 write it, in loops over images."""
    n = len(K)
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    trace = sum(K[i, j] * L[j, i] for i in range(n) for j in range(n))
    sums = sum(K[i, j] for i in range(n) for j in range(n)) * sum(L[i, j] for i in range(n) for j in range(n))
    both = sum(K[i, j] * L[j, k] for i in range(n) for j in range(n) for k in range(n))
    return float((trace + sums / ((n - 1) * (n - 2)) - 2 * both / (n - 2)) / (n * (n - 3)))


def plain_cka(X: Floats, Y: Floats) -> float:
    K, L = X @ X.T, Y @ Y.T
    return plain_hsic(K, L) / sqrt(plain_hsic(K, K) * plain_hsic(L, L))


def plain_mutual(X: Floats, Y: Floats, k: int) -> float:
    def near(Z: Floats) -> list[set[int]]:
        unit = [row / np.sqrt(sum(row**2)) for row in Z]
        order = [sorted((-float(a @ b), j) for j, b in enumerate(unit) if j != i) for i, a in enumerate(unit)]
        return [{j for _, j in each[:k]} for each in order]

    return sum(len(a & b) for a, b in zip(near(X), near(Y), strict=True)) / (k * len(X))


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_both_are_those_of_plain_loops(offset: float) -> None:
    given_features = representations(24)
    found = similarities([X + offset for X in given_features], k=3)
    near = similarities(given_features, k=3)
    for i, j in combinations(range(3), 2):
        X, Y = given_features[i], given_features[j]
        assert found.cka.value[i, j] == pytest.approx(plain_cka(X, Y), abs=1e-6 if offset else 1e-10)
        assert near.mutual_knn.value[i, j] == pytest.approx(plain_mutual(X, Y, 3), abs=1e-12)
    assert np.allclose(np.diag(found.cka.value), 1)
    assert np.allclose(np.diag(found.mutual_knn.value), 1)
    assert (found.images, found.neighbours) == (24, 3)
    assert np.allclose(np.diag(found.cka.above), 1)


@given(st.integers(0, 10_000), st.floats(1e-3, 1e3), st.integers(2, 9))
def test_a_rotation_and_a_scale_change_nothing(seed: int, scale: float, d: int) -> None:
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(14, d)), rng.normal(size=(14, 6))
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    found = similarities([X, X @ rotation * scale, Y], k=2, permutations=2)
    assert found.cka.value[0, 1] == pytest.approx(1)
    assert found.cka.value[0, 2] == pytest.approx(found.cka.value[1, 2], abs=1e-9)
    assert found.mutual_knn.value[0, 1] == 1
    assert found.mutual_knn.value[0, 2] == found.mutual_knn.value[1, 2]


def test_independent_gaussians_are_within_chance_whatever_their_width() -> None:
    """Where the biased estimator of CKA would give 0.9: features much wider than there are images."""
    rng = np.random.default_rng(0)
    found = similarities([rng.normal(size=(300, d)) for d in (2, 64, 2000, 2000)])
    for pair in (found.cka, found.mutual_knn):
        apart = ~np.eye(4, dtype=np.bool_)
        deviation = (pair.level - pair.mean)[apart] / 1.3
        assert (np.abs(pair.value - pair.mean)[apart] < 4 * deviation).all()
    assert np.abs(found.cka.mean).max() == 0
    assert np.allclose(found.mutual_knn.mean, 10 / 299)


def test_moments_are_those_of_all_orders() -> None:
    rng = np.random.default_rng(0)
    n = 6
    a, b = (rng.normal(size=(n, n)) * (1 - np.eye(n)) for _ in range(2))
    values = [float((a * b[np.ix_(order, order)]).sum()) for order in permutations(range(n))]
    assert len(values) == factorial(n)
    found = _moments([_Sums.of(a), _Sums.of(b)], n)
    assert found.mean[0, 1] == pytest.approx(np.mean(values))
    assert found.deviation[0, 1] == pytest.approx(np.std(values))


def test_levels_are_those_of_random_orders() -> None:
    """With up to 128 images the quantile is that of their own orders; with more, its shape is that of 128 of them."""
    for n in (50, 160):
        X, Y = representations(n, (8, 60))
        found = similarities([X, Y], k=5, permutations=400)
        rng = np.random.default_rng(1)
        drawn = [similarities([X, Y[rng.permutation(n)]], k=5, permutations=2) for _ in range(150)]
        for name in ("cka", "mutual_knn"):
            values = np.array([getattr(each, name).value[0, 1] for each in drawn])
            pair = getattr(found, name)
            deviation = values.std()
            assert pair.mean[0, 1] == pytest.approx(values.mean(), abs=5 * deviation / sqrt(len(values)))
            assert pair.level[0, 1] == pytest.approx(np.quantile(values, 0.95), abs=0.5 * deviation)
    again = similarities([X, Y], k=5, permutations=400)
    assert (again.cka.level == found.cka.level).all()


@pytest.mark.parametrize(
    "bad",
    [
        [np.ones((20, 3))],  # the same for all images
        [np.zeros((20, 3))],
        [np.full((20, 3), np.nan)],
        [np.ones(20)],
        [np.random.default_rng(0).normal(size=(11, 3))],  # fewer images than neighbours and two
        [np.random.default_rng(0).normal(size=(n, 3)) for n in (20, 21)],
    ],
)
def test_features_that_cannot_be_compared_are_refused(bad: list[Floats]) -> None:
    with pytest.raises(UserError):
        similarities(bad)

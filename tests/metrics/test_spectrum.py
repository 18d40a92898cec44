"""Measures of spectra against singular values by NumPy, plain loops and closed forms."""

from math import exp, inf, log

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.errors import UserError
from unseen.metrics.intrinsic_dimension import two_nn
from unseen.metrics.spectrum import alpha_req, eigenvalues, participation_ratio, rankme

SHAPES = [(60, 8), (40, 120), (300, 64), (50, 50)]


def features(n: int, d: int, decay: float = 0.7) -> Tensor:
    """Features whose covariance falls as a power, about a mean that is not 0."""
    rng = np.random.default_rng(n + d)
    return torch.from_numpy(rng.normal(size=(n, d)) * np.arange(1, d + 1) ** -decay + rng.normal(size=d))


def plain_rankme(X: NDArray[np.float64]) -> float:
    singular = np.linalg.svd(X, compute_uv=False)
    entropy = 0.0
    for value in singular:
        share = value / singular.sum() + 1e-7
        entropy -= share * log(share)
    return exp(entropy)


def plain_two_nn(X: NDArray[np.float64], discarded: float = 0.1) -> float:
    """As the paper lists its steps; samples at distance 0 are left out before."""
    kept: list[NDArray[np.float64]] = []
    for row in X:
        if not any((row == other).all() for other in kept):
            kept.append(row)
    ratios = []
    for i, row in enumerate(kept):
        first = second = inf
        for j, other in enumerate(kept):
            distance = float(np.sqrt(((row - other) ** 2).sum()))
            if j != i and distance < first:
                first, second = distance, first
            elif j != i and distance < second:
                second = distance
        ratios.append(second / first)
    pairs = [(log(ratio), -log(1 - (i + 1) / len(kept))) for i, ratio in enumerate(sorted(ratios)[:-1])]
    pairs = pairs[: int(len(kept) * (1 - discarded))]
    return sum(x * y for x, y in pairs) / sum(x * x for x, _ in pairs)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_rankme_is_that_of_singular_values(n: int, d: int, dtype: torch.dtype) -> None:
    X = features(n, d).to(dtype)
    assert rankme(eigenvalues(X, centred=False)) == pytest.approx(plain_rankme(X.double().numpy()), rel=1e-9)


def test_a_gram_matrix_resolves_what_single_precision_stores() -> None:
    """Singular values over 16 orders of magnitude: those below 1e-8 of the largest are noise in a Gram matrix."""
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(200, 40)))[0] for _ in range(2))
    X = left @ np.diag(np.logspace(0, -16, 40)) @ right[:40, :40]
    assert rankme(eigenvalues(torch.from_numpy(X), centred=False)) == pytest.approx(plain_rankme(X), rel=1e-6)
    duplicated = np.concatenate([features(100, 30).numpy()] * 4, axis=1)  # 90 singular values are 0
    found = rankme(eigenvalues(torch.from_numpy(duplicated), centred=False))
    assert found == pytest.approx(plain_rankme(duplicated), rel=1e-5)


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_ratio_and_exponent_are_those_of_the_covariance(n: int, d: int) -> None:
    X = features(n, d)
    values = np.sort(np.linalg.eigvalsh(np.cov(X.numpy().T, bias=True)))[::-1]
    spectrum = eigenvalues(X, centred=True)
    assert participation_ratio(spectrum) == pytest.approx(values.sum() ** 2 / (values**2).sum(), rel=1e-9)
    found = alpha_req(spectrum, n)
    end = min(n - 1, d, 100)
    if end < 20:
        assert found is None
        return
    assert found is not None
    slope = np.polyfit(np.log(np.arange(11, end + 1)), np.log(values[10:end]), 1)[0]
    assert (found.value, found.first, found.last) == (pytest.approx(-slope, rel=1e-8), 11, end)


def test_closed_forms() -> None:
    axes = torch.eye(32, dtype=torch.float64)
    assert rankme(eigenvalues(axes, centred=False)) == pytest.approx(32, rel=1e-4)
    assert rankme(eigenvalues(torch.ones(50, 7), centred=False)) == pytest.approx(1, rel=1e-4)
    both = torch.cat([axes, -axes])
    assert participation_ratio(eigenvalues(both, centred=True)) == pytest.approx(32)
    powers = torch.arange(1, 201, dtype=torch.float64) ** -1.3
    found = alpha_req(powers, 1000)
    assert found is not None
    assert (found.value, found.first, found.last) == (pytest.approx(1.3), 11, 100)
    assert alpha_req(powers[:19], 1000) is None
    assert alpha_req(powers[:20], 1000) is not None


def test_all_are_the_same_at_every_scale() -> None:
    X = features(80, 30)
    for scale in (1e-30, 1e30):
        for centred in (False, True):
            assert torch.allclose(
                eigenvalues(X * scale, centred=centred), eigenvalues(X, centred=centred), rtol=1e-9, atol=0
            )
        assert two_nn(X * scale).dimension == pytest.approx(two_nn(X).dimension, rel=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize(("n", "d"), [(30, 2), (50, 10), (20, 100)])
def test_two_nn_is_that_of_a_plain_loop(n: int, d: int, offset: float) -> None:
    X = features(n, d).numpy() + offset
    X = np.concatenate([X, X[:3], X[:1]])
    found = two_nn(torch.from_numpy(X))
    assert found.dimension == pytest.approx(plain_two_nn(X), rel=1e-6)
    assert (found.duplicates, found.ratios) == (4, int(0.9 * n))


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_two_nn_of_an_isotropic_gaussian_on_a_plane_of_a_wide_space(dimension: int) -> None:
    generator = torch.Generator().manual_seed(dimension)
    inside = torch.randn(2000, dimension, generator=generator, dtype=torch.float64)
    basis = torch.linalg.qr(torch.randn(60, dimension, generator=generator, dtype=torch.float64)).Q
    assert two_nn(inside @ basis.T).dimension == pytest.approx(dimension, rel=0.1)


def test_samples_without_a_dimension() -> None:
    assert two_nn(torch.tensor([[0.0], [1.0]])).dimension is None
    assert two_nn(torch.ones(9, 3)) == type(two_nn(torch.ones(9, 3)))(None, 8, 0)
    corners = two_nn(torch.eye(12))  # all distances are equal, so all ratios are 1
    assert (corners.dimension, corners.ratios) == (None, 10)


@pytest.mark.parametrize(
    "bad", [torch.zeros(5, 3), torch.tensor([[1.0, float("nan")]]), torch.ones(3), torch.ones(0, 3)]
)
def test_features_without_a_spectrum_are_refused(bad: Tensor) -> None:
    with pytest.raises(UserError):
        eigenvalues(bad, centred=False)


def test_equal_features_have_no_covariance() -> None:
    with pytest.raises(UserError):
        participation_ratio(eigenvalues(torch.full((9, 4), 0.5), centred=True))

"""Principal components against scikit-learn's full SVD."""

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA as Reference  # noqa: N811
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.probes.pca import pca


def samples(n: int, d: int, seed: int = 0) -> Tensor:
    """Correlated features of decreasing scale, far from the origin."""
    generator = Generator().manual_seed(seed + n + d)
    scales = torch.arange(1, d + 1, dtype=torch.float64) ** -0.5
    mixing = torch.linalg.qr(torch.randn(d, d, generator=generator, dtype=torch.float64)).Q
    return torch.randn(n, d, generator=generator, dtype=torch.float64) * scales @ mixing + 3


@pytest.mark.parametrize(
    ("n", "d"),
    [(200, 10), (10, 200), (50, 50), (51, 50), (30, 1), (2, 5), (40_000, 32), (350, 300)],
    ids=["tall", "wide", "square", "almost square", "one dimension", "two samples", "several blocks", "several panels"],
)
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 2e-5), (torch.float64, 1e-9)], ids=["single", "double"]
)
def test_matches_scikit_learn(n: int, d: int, dtype: torch.dtype, tolerance: float) -> None:
    X = samples(n, d).to(dtype)
    ours, theirs = pca(X), Reference(svd_solver="full").fit(X.double().numpy())
    rank = min(n - 1, d)
    close = {"rtol": 0, "atol": tolerance}
    np.testing.assert_allclose(ours.mean, theirs.mean_, **close)
    np.testing.assert_allclose(ours.variances, theirs.explained_variance_, **close)
    np.testing.assert_allclose(ours.ratios, theirs.explained_variance_ratio_, **close)
    np.testing.assert_allclose(ours.components[:rank], theirs.components_[:rank], rtol=0, atol=1e-7)
    coordinates = ours.transform(X, rank)
    assert coordinates.dtype == dtype
    np.testing.assert_allclose(coordinates, theirs.transform(X.double().numpy())[:, :rank], **close)


def test_one_fit_serves_every_number_of_dimensions() -> None:
    X = samples(80, 12)
    whole, part = pca(X), pca(X, 5)
    assert torch.equal(whole.components[:5], part.components)
    assert torch.equal(whole.ratios[:5], part.ratios)
    assert torch.allclose(whole.transform(X, 5), part.transform(X), atol=1e-12)


def test_an_offset_far_greater_than_the_spread_costs_no_digits() -> None:
    X = samples(300, 20)
    shifted = pca(X + 2**20)
    assert torch.allclose(shifted.variances, pca(X).variances, rtol=1e-6)
    assert torch.allclose(shifted.components, pca(X).components, atol=1e-6)


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_huge_and_tiny_numbers(scale: float) -> None:
    X = samples(60, 8)
    found = pca((X * scale).float())
    assert torch.allclose(found.components, pca(X).components, atol=1e-5)
    assert torch.allclose(found.variances / scale**2, pca(X).variances, rtol=1e-5)
    assert torch.allclose(found.transform((X * scale).float()).double() / scale, pca(X).transform(X), atol=1e-4)


@examples(25)
@given(st.integers(2, 12), st.integers(1, 12), st.integers(0, 3))
def test_components_are_orthonormal_whatever_the_rank(n: int, d: int, distinct: int) -> None:
    """Of repeated rows too, whose spread has fewer dimensions than there are components."""
    X = samples(n, d)[torch.arange(n) % (distinct + 1)]
    found = pca(X)
    assert torch.allclose(found.components @ found.components.T, torch.eye(min(n, d), dtype=torch.float64), atol=1e-9)
    greatest = found.components.gather(1, found.components.abs().argmax(dim=1, keepdim=True))
    assert (greatest > 0).all()
    assert (found.variances[distinct:] < 1e-12).all()


def test_equal_samples_have_no_variance() -> None:
    found = pca(torch.full((6, 3), 7.0))
    assert found.variances.tolist() == found.ratios.tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float16, torch.bfloat16])
def test_other_types_count_as_their_values(dtype: torch.dtype) -> None:
    X = (samples(40, 6) * 10).to(dtype)
    assert torch.equal(pca(X).components, pca(X.double()).components)
    assert pca(X).transform(X).dtype == torch.float32


def test_views_give_what_copies_give() -> None:
    X = samples(40, 12).requires_grad_()
    view = X.T[::2].T
    assert torch.allclose(pca(view).components, pca(view.detach().clone()).components, atol=1e-9)
    assert not pca(view).components.requires_grad


def test_mistakes_are_told() -> None:
    X = samples(10, 4)
    with pytest.raises(UserError, match="at least two samples"):
        pca(X[:1])
    with pytest.raises(UserError, match="dimensions must be from 1 to 4, not 5"):
        pca(X, 5)
    with pytest.raises(UserError, match="dimensions must be from 1 to 4, not 0"):
        pca(X).transform(X, 0)
    with pytest.raises(UserError, match="samples of 3 dimensions do not match a PCA of 4"):
        pca(X).transform(X[:, :3])
    with pytest.raises(UserError, match="not finite"):
        pca(torch.where(torch.eye(10, 4) > 0, torch.nan, X))
    with pytest.raises(UserError, match="reach 1e\\+150; scale them below"):
        pca(X.sign() * 1e150)
    for shape in [(10,), (0, 3), (2, 2, 2)]:
        with pytest.raises(UserError, match="must be a matrix"):
            pca(torch.zeros(shape))


@pytest.mark.gpu
@pytest.mark.parametrize(("n", "d"), [(5000, 64), (40, 300)])
def test_a_gpu_gives_the_same(n: int, d: int) -> None:
    X = samples(n, d)
    here, there = pca(X, 20), pca(X.cuda(), 20)
    assert torch.allclose(here.components, there.components.cpu(), atol=1e-7)
    assert torch.equal(there.components, pca(X.cuda(), 20).components)

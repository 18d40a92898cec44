"""Alignment and uniformity against SciPy's distances of all pairs in double precision."""

import math

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.metrics.geometry import alignment, uniformity, unit_rows

SHAPES = [(2, 3), (30, 5), (101, 64), (60, 1), (40, 300)]


def features(n: int, d: int, spread: float = 1.0) -> tuple[Tensor, Tensor]:
    """Samples about the centres of classes of unequal size, one of a single sample, in double precision."""
    generator = Generator().manual_seed(n + d)
    y = (torch.arange(n) ** 2) % 7
    centres = torch.randn(7, d, generator=generator, dtype=torch.float64)
    X = centres[y] + spread * torch.randn(n, d, generator=generator, dtype=torch.float64)
    return X, torch.where(torch.arange(n) == n - 1, 99 if n > 2 else 0, y * (n > 2))


def distances(X: Tensor) -> np.ndarray:
    return pdist(torch.nn.functional.normalize(X.double()).numpy())


def plain_alignment(X: Tensor, y: Tensor, alpha: float) -> float:
    labels = y.numpy()
    same = labels[:, None] == labels
    upper = np.triu(same, 1)
    return float((squareform(distances(X)) ** alpha)[upper].mean())


def plain_uniformity(X: Tensor, t: float) -> float:
    return -math.log(np.exp(-t * distances(X) ** 2).mean())


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 3e-6), (torch.float64, 1e-12)])
@pytest.mark.parametrize(("n", "d"), SHAPES)
@pytest.mark.parametrize("alpha", [1.0, 2.0, 3.5])
def test_alignment_equals_scipy(n: int, d: int, alpha: float, dtype: torch.dtype, tolerance: float) -> None:
    X, y = features(n, d)
    expected = plain_alignment(X, y, alpha)
    assert alignment(X.to(dtype), y, alpha) == pytest.approx(expected, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 3e-6), (torch.float64, 1e-12)])
@pytest.mark.parametrize(("n", "d"), SHAPES)
@pytest.mark.parametrize("t", [0.5, 2.0])
def test_uniformity_equals_scipy(n: int, d: int, t: float, dtype: torch.dtype, tolerance: float) -> None:
    X, _ = features(n, d)
    expected = plain_uniformity(X, t)
    for block in (7, 10, 4096):  # 101 rows leave a block of one
        assert uniformity(X.to(dtype), t, block=block) == pytest.approx(expected, rel=tolerance, abs=tolerance)


def test_tight_classes_lose_no_digits() -> None:
    X, y = features(200, 50, spread=1e-5)
    expected = plain_alignment(X, y, 2.0)
    assert expected < 1e-8
    assert alignment(X, y) == pytest.approx(expected, rel=1e-9)
    assert alignment(X.float(), y) == pytest.approx(expected, rel=1e-2)  # features in single precision say no more


def test_the_two_ways_to_alignment_meet() -> None:
    X, y = features(90, 20)
    assert alignment(X, y, 2.0 + 1e-9) == pytest.approx(alignment(X, y, 2.0), rel=1e-8)


def test_alignment_of_more_rows_than_a_block() -> None:
    X, y = features(5000, 3)
    assert alignment(X, y) == pytest.approx(alignment(X, y, 2.0 + 1e-9), rel=1e-8)


def test_great_t_does_not_vanish() -> None:
    # Right angles: at t = 1000 every potential is exp(−2000), which is 0 in double precision.
    X = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    for dtype in (torch.float32, torch.float64):
        assert uniformity(X.to(dtype), t=1000.0) == pytest.approx(2000)
        assert uniformity(X.to(dtype), t=1000.0, block=1) == pytest.approx(2000)


def test_limits() -> None:
    opposite = torch.tensor([[1.0, 2.0], [-2.0, -4.0]])
    assert alignment(opposite, torch.tensor([0, 0])) == pytest.approx(4)
    assert uniformity(opposite) == pytest.approx(8)
    same = torch.full((50, 7), 3.3)
    assert alignment(same, torch.arange(50) % 2) == pytest.approx(0, abs=1e-12)
    assert uniformity(same) == pytest.approx(0, abs=1e-6)
    assert uniformity(same) >= 0
    # Many independent directions: every squared distance is near 2.
    many = torch.randn(400, 5000, generator=Generator().manual_seed(0))
    assert uniformity(many) == pytest.approx(4, rel=0.01)


def test_duplicated_rows_have_no_negative_distance() -> None:
    X, _ = features(40, 300)
    twice = torch.cat([X, X]).float()
    assert uniformity(twice, t=50.0) == pytest.approx(plain_uniformity(twice, 50.0), rel=1e-5)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_the_length_of_rows_does_not_matter(scale: float) -> None:
    X, y = features(60, 8)
    lengths = torch.logspace(-3, 3, 60, dtype=torch.float64)[:, None] * scale
    for scaled in (X * lengths, (X * lengths).float()):
        assert alignment(scaled, y) == pytest.approx(alignment(X, y), rel=1e-5)
        assert alignment(scaled, y, 1.0) == pytest.approx(alignment(X, y, 1.0), rel=1e-5)
        assert uniformity(scaled) == pytest.approx(uniformity(X), rel=1e-5)
    huge = X * 1e300
    assert torch.allclose(unit_rows(huge), unit_rows(X), rtol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int32])
def test_types_and_layout_do_not_matter(dtype: torch.dtype) -> None:
    X, y = features(50, 6)
    coarse = (X * 8).round()
    coarse[(coarse == 0).all(dim=1)] = 1
    apart = torch.stack([coarse, coarse], dim=2).to(dtype)[:, :, 0]
    assert not apart.is_contiguous()
    assert alignment(apart, y.to(torch.uint8)) == pytest.approx(plain_alignment(coarse, y, 2.0), rel=1e-5)
    assert uniformity(apart) == pytest.approx(plain_uniformity(coarse, 2.0), rel=1e-5)


def test_features_are_not_modified() -> None:
    X, y = features(30, 4)
    for given_type in (X, X.float()):
        before = given_type.clone()
        uniformity(given_type)
        alignment(given_type, y)
        alignment(given_type, y, 1.0)
        assert torch.equal(given_type, before)


@given(st.integers(2, 25), st.integers(1, 6), st.integers(0, 10**6))
@examples(30)
def test_bounds(n: int, d: int, seed: int) -> None:
    X = torch.randn(n, d, generator=Generator().manual_seed(seed), dtype=torch.float64)
    one_class = alignment(X, torch.zeros(n, dtype=torch.long))
    spread = uniformity(X)
    assert 0 <= one_class <= 2 * n / (n - 1) + 1e-9
    # By Jensen's inequality, with equality where all distances are the same.
    assert -1e-12 <= spread <= 2 * one_class + 1e-9


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_rows_of_zeros_stay_zero(dtype: torch.dtype) -> None:
    X = features(12, 5)[0].to(dtype)
    X[[2, 7]] = 0
    assert torch.allclose(unit_rows(X), torch.nn.functional.normalize(X.to(unit_rows(X).dtype)), atol=1e-6)


@pytest.mark.parametrize("block", [1, 4, 4096])
def test_rows_of_zeros_count_as_the_centre_of_the_sphere(block: int) -> None:
    X, y = features(30, 5)
    X[[0, 4, 5, 29]] = 0
    assert uniformity(X, block=block) == pytest.approx(plain_uniformity(X, 2.0), rel=1e-12)
    for alpha in (1.0, 2.0):
        assert alignment(X, y, alpha) == pytest.approx(plain_alignment(X, y, alpha), rel=1e-12)
    assert uniformity(0 * X) == pytest.approx(0)


def test_bad_input_is_refused() -> None:
    X, y = features(20, 4)
    broken = X.clone()
    broken[[3, 8], 1] = math.nan
    for values, message in [
        (broken, "not finite: rows 3 and 8"),
        (X + 0j, "complex"),
        (X[0], "samples × dimensions"),
        (X[:0], "samples × dimensions"),
    ]:
        with pytest.raises(UserError, match=message):
            uniformity(values)
        with pytest.raises(UserError, match=message):
            alignment(values, y)
    for labels, message in [(y[:-1], "20 rows of features need as many"), (y.float(), "integer labels")]:
        with pytest.raises(UserError, match=message):
            alignment(X, labels)
    with pytest.raises(UserError, match="every class has a single sample"):
        alignment(X, torch.arange(20))
    with pytest.raises(UserError, match="a single sample"):
        uniformity(X[:1])
    with pytest.raises(UserError, match="exponent of alignment must be positive"):
        alignment(X, y, 0)
    with pytest.raises(UserError, match="must be positive, not -1"):
        uniformity(X, -1)


@pytest.mark.gpu
def test_the_same_on_a_gpu_and_memory_stays_flat() -> None:
    X, y = features(3000, 40)
    for alpha in (1.0, 2.0):
        assert alignment(X.cuda(), y.cuda(), alpha) == pytest.approx(alignment(X, y, alpha), rel=1e-12)
    assert uniformity(X.cuda(), block=512) == pytest.approx(uniformity(X), rel=1e-12)
    many = torch.randn(50_000, 256, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    uniformity(many)
    # One copy of the rows, a block of products and its mask; all pairs at once would be 10 GB.
    assert torch.cuda.max_memory_allocated() - held < 4 * (many.numel() + 3 * 4096**2)

"""Calibration error against a loop over samples, temperatures against SciPy's minimiser."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.metrics.calibration import expected_calibration_error, fit_temperature, reliability_bins


def predicted(n: int, c: int, sharpness: float = 2.0, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Logits in double precision and labels drawn from their softmax at temperature 1, then sharpened."""
    generator = Generator().manual_seed(seed + n + c)
    logits = 2 * torch.randn(n, c, generator=generator, dtype=torch.float64)
    y = torch.multinomial(logits.softmax(dim=1), 1, generator=generator)[:, 0]
    return logits * sharpness, y


def plain_error(probabilities: Tensor, y: Tensor, bins: int) -> float:
    """Sample by sample; the bin of a confidence is found in fractions: the least k with confidence ≤ k/bins."""
    members: dict[int, list[tuple[float, bool]]] = {}
    for row, label in zip(probabilities.tolist(), y.tolist(), strict=True):
        confidence = max(row)
        place = math.ceil(Fraction(confidence) * bins)
        members.setdefault(place, []).append((confidence, row.index(confidence) == label))
    gaps = [abs(sum(sure for sure, _ in bin_) - sum(right for _, right in bin_)) for bin_ in members.values()]
    return sum(gaps) / len(y)


def plain_loss(logits: np.ndarray, y: np.ndarray, temperature: float) -> float:
    scaled = logits / temperature
    return float((logsumexp(scaled, axis=1) - scaled[np.arange(len(y)), y]).mean())


@pytest.mark.parametrize("bins", [1, 10, 15])
@pytest.mark.parametrize(("n", "c"), [(1, 2), (50, 2), (300, 10), (200, 100), (20, 1)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_calibration_error_equals_a_plain_loop(n: int, c: int, bins: int, dtype: torch.dtype) -> None:
    logits, y = predicted(n, c)
    probabilities = logits.softmax(dim=1).to(dtype)
    expected = plain_error(probabilities, y, bins)
    assert expected_calibration_error(probabilities, y, bins) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bins_include_their_upper_end(dtype: torch.dtype) -> None:
    # Ends of the 15 bins, as exact as the type has them; a classifier of 16 classes can be as unsure as 1/15.
    ends = torch.arange(1, 16, dtype=torch.float64) / 15
    rest = (1 - ends)[:, None].expand(-1, 15) / 15
    probabilities = torch.cat([ends[:, None], rest], dim=1).to(dtype)
    found = reliability_bins(probabilities, torch.zeros(15, dtype=torch.long))
    assert found.counts == (1,) * 15
    above = torch.nextafter(probabilities[:, 0], torch.ones(()).to(dtype))[:-1]
    probabilities[:-1, 0] = above
    assert reliability_bins(probabilities, torch.zeros(15, dtype=torch.long)).counts == (0,) + (1,) * 13 + (2,)


def test_bins_make_a_diagram() -> None:
    probabilities = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.55, 0.45], [0.3, 0.7]], dtype=torch.float64)
    found = reliability_bins(probabilities, torch.tensor([0, 1, 0, 0]), bins=4)
    assert found.edges == (0, 0.25, 0.5, 0.75, 1)
    assert found.counts == (0, 0, 2, 2)
    assert found.confidence[2:] == pytest.approx((0.625, 0.85))
    assert found.accuracy[2:] == pytest.approx((0.5, 0.5))
    assert all(math.isnan(value) for value in found.confidence[:2] + found.accuracy[:2])
    assert found.calibration_error == pytest.approx((2 * 0.125 + 2 * 0.35) / 4)


def test_confident_and_wrong_is_the_worst() -> None:
    y = torch.zeros(8, dtype=torch.long)
    sure = torch.eye(2)[[1] * 8]
    assert expected_calibration_error(sure, y) == 1
    assert expected_calibration_error(sure, 1 - y) == 0


@pytest.mark.parametrize(("n", "c", "sharpness"), [(50, 2, 2.0), (400, 10, 0.2), (300, 100, 30.0), (2000, 5, 1.0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_temperature_equals_scipy(n: int, c: int, sharpness: float, dtype: torch.dtype) -> None:
    logits, y = predicted(n, c, sharpness)
    logits = logits.to(dtype)
    found = fit_temperature(logits, y)
    arrays = logits.double().numpy(), y.numpy()
    best = minimize_scalar(lambda v: plain_loss(*arrays, math.exp(v)), bracket=(-3, 3), method="brent", tol=1e-12)
    assert found.limit is None
    assert found.temperature == pytest.approx(math.exp(best.x), rel=1e-6)  # a minimum is known to the root of precision
    assert found.after == pytest.approx(best.fun, rel=1e-12)
    assert found.before == pytest.approx(plain_loss(*arrays, 1.0), rel=1e-12)


def test_the_slope_is_zero_at_the_temperature_found() -> None:
    logits, y = predicted(500, 7, 3.0)
    inverse = torch.tensor(1 / fit_temperature(logits, y).temperature, dtype=torch.float64, requires_grad=True)
    torch.nn.functional.cross_entropy(logits * inverse, y).backward()
    assert float(inverse.grad.abs()) < 1e-11


def test_the_temperature_that_sharpened_is_found_and_calibrates() -> None:
    logits, y = predicted(20_000, 10, sharpness=3.0)
    found = fit_temperature(logits, y)
    assert found.temperature == pytest.approx(3.0, rel=0.03)
    assert expected_calibration_error((logits / found.temperature).softmax(dim=1), y) < 0.02
    assert expected_calibration_error(logits.softmax(dim=1), y) > 0.1


def test_separable_and_adverse_logits_end_at_a_limit() -> None:
    y = torch.arange(30) % 3
    right = torch.eye(3)[y] + 0.1 * torch.rand(30, 3, generator=Generator().manual_seed(0))
    found = fit_temperature(right, y)
    assert found.limit == "lower"
    assert 0 < found.temperature < 1e-3
    assert found.after == pytest.approx(0, abs=1e-12)
    found = fit_temperature(-right, y)
    assert found.limit == "upper"
    assert 1e3 < found.temperature < math.inf
    assert found.after == pytest.approx(math.log(3), rel=1e-3)
    assert found.after < found.before


def test_one_wrong_sample_among_separable_ones_has_a_temperature() -> None:
    y = torch.arange(3000) % 3
    logits = 10 * torch.eye(3, dtype=torch.float64)[y]
    y[0] = 1
    found = fit_temperature(logits, y)
    best = minimize_scalar(lambda v: plain_loss(logits.numpy(), y.numpy(), math.exp(v)), bracket=(-1, 1), tol=1e-12)
    assert found.limit is None
    assert found.temperature == pytest.approx(math.exp(best.x), rel=1e-6)


def test_equal_logits_have_no_temperature_to_find() -> None:
    found = fit_temperature(torch.full((5, 4), 2.5), torch.arange(5) % 4)
    assert (found.temperature, found.limit) == (1.0, None)
    assert found.after == pytest.approx(math.log(4))
    assert fit_temperature(torch.randn(5, 1), torch.zeros(5, dtype=torch.long)).temperature == 1.0


@given(st.integers(0, 10**6), st.sampled_from([1e-30, 1e-3, 1.0, 1e30, 1e200]))
@examples(20)
def test_the_temperature_scales_with_the_logits_and_shifts_do_not_matter(seed: int, scale: float) -> None:
    logits, y = predicted(60, 4, seed=seed)
    plain, scaled = fit_temperature(logits, y), fit_temperature(logits * scale, y)
    assert scaled.limit == plain.limit
    assert scaled.temperature == pytest.approx(plain.temperature * scale, rel=1e-9)
    shifted = fit_temperature(logits + torch.arange(60)[:, None], y)
    assert shifted.temperature == pytest.approx(plain.temperature, rel=1e-9)
    assert plain.after <= plain.before + 1e-15


def test_blocks_of_rows_do_not_matter() -> None:
    logits, y = predicted(30, 300)
    repeated, labels = logits.repeat(120, 1), y.repeat(120)  # 3,600 × 300: more than one block
    assert fit_temperature(repeated, labels).temperature == pytest.approx(fit_temperature(logits, y).temperature)


@pytest.mark.parametrize("dtype", [torch.float16, torch.int32])
def test_types_and_layout_do_not_matter(dtype: torch.dtype) -> None:
    logits, y = predicted(80, 5)
    coarse = logits.round()
    apart = torch.stack([coarse, coarse], dim=2).to(dtype)[:, :, 0]
    assert not apart.is_contiguous()
    assert fit_temperature(apart, y.to(torch.uint8)) == fit_temperature(coarse, y)


def test_bad_input_is_refused() -> None:
    logits, y = predicted(20, 4)
    probabilities = logits.softmax(dim=1)
    broken = logits.clone()
    broken[4, 2] = math.nan
    for values, labels, message in [
        (probabilities, y[:-1], "do not match labels"),
        (probabilities[:0], y[:0], "do not match labels"),
        (broken, y, "not finite real numbers"),
        (probabilities, y + 1, "class indices from 0 to 3"),
        (probabilities, y.double(), "class indices from 0 to 3"),
    ]:
        with pytest.raises(UserError, match=message):
            fit_temperature(values, labels)
        with pytest.raises(UserError, match=message):
            expected_calibration_error(values, labels)
    with pytest.raises(UserError, match="take the softmax of logits first"):
        expected_calibration_error(logits, y)
    with pytest.raises(UserError, match="take the softmax of logits first"):
        expected_calibration_error(2 * probabilities, y)
    with pytest.raises(UserError, match="at least one bin, not 0"):
        expected_calibration_error(probabilities, y, 0)


@pytest.mark.gpu
def test_the_same_on_a_gpu() -> None:
    logits, y = predicted(3000, 20)
    here, there = fit_temperature(logits, y), fit_temperature(logits.cuda(), y.cuda())
    assert there.temperature == pytest.approx(here.temperature, rel=1e-10)
    probabilities = logits.softmax(dim=1)
    expected = expected_calibration_error(probabilities, y)
    assert expected_calibration_error(probabilities.cuda(), y.cuda()) == pytest.approx(expected, abs=1e-12)

"""Angular errors, against NumPy written for the test."""

import numpy as np
import pytest
import torch

from unseen.errors import UserError
from unseen.metrics import surface_normals
from unseen.metrics.surface_normals import angular_errors, normal_scores


def test_equal_to_numpy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 40, 50, 3))
    valid = rng.random((3, 40, 50)) < 0.8
    errors = [angular_errors(*(torch.tensor(x[i]) for x in (a, b, valid))) for i in range(3)]
    unit = [x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (a, b)]
    expected = np.degrees(np.arccos((unit[0] * unit[1]).sum(-1)))[valid]
    scores = normal_scores(errors)
    assert scores.mean == pytest.approx(expected.mean(), abs=1e-9)
    assert scores.median == pytest.approx(np.median(expected), abs=1e-9)
    assert scores.within == pytest.approx([(expected < t).mean() for t in (11.25, 22.5, 30)], abs=1e-12)


def test_small_and_large_angles_are_exact() -> None:
    for degrees in (0.0, 1e-6, 90.0, 179.999999, 180.0):
        angle = np.radians(degrees)
        found = angular_errors(
            torch.tensor([[np.cos(angle), np.sin(angle), 0.0]]), torch.tensor([[2.0, 0.0, 0.0]]), torch.tensor([True])
        )
        assert float(found) == pytest.approx(degrees, abs=1e-9)


def test_thresholds_are_strict() -> None:
    assert normal_scores([torch.tensor([11.25, 22.5, 30.0])]).within == pytest.approx((0, 1 / 3, 2 / 3))


def test_pixels_without_a_true_normal_do_not_count() -> None:
    truth = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    errors = angular_errors(torch.tensor([[1.0, 0, 0], [0, 0, 1.0]]), truth, torch.tensor([True, True]))
    assert errors.tolist() == [0.0]
    with pytest.raises(UserError):
        normal_scores([errors[:0]])


@pytest.mark.parametrize("count", [7, 8])
def test_the_median_by_selection(count: int) -> None:
    values = torch.rand(count, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert surface_normals._large_median(values) == pytest.approx(float(np.median(values.numpy())), abs=1e-15)

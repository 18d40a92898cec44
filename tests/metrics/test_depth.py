"""Depth errors, against NumPy written for the test."""

import numpy as np
import pytest
import torch

from unseen.errors import UserError
from unseen.metrics.depth import depth_errors, depth_scores


def test_equal_to_numpy() -> None:
    rng = np.random.default_rng(0)
    images = []
    expected = []
    for _ in range(3):
        found, true = rng.uniform(0.5, 10, (2, 20, 30))
        valid = rng.random((20, 30)) < 0.7
        images.append(depth_errors(*map(torch.tensor, (found, true, valid))))
        ratio = np.maximum(found / true, true / found)[valid]
        expected.append((np.sqrt(((found - true)[valid] ** 2).mean()), (ratio < 1.25).mean()))
    scores = depth_scores(images)
    assert (scores.rmse, scores.delta1) == pytest.approx(tuple(np.mean(expected, axis=0)), abs=1e-12)


@pytest.mark.parametrize(
    ("found", "true", "valid"), [([1.0], [0.0], [True]), ([1.0], [1.0], [False]), ([1.0, 2.0], [1.0], [True])]
)
def test_depths_that_cannot_be_scored_are_refused(found: list[float], true: list[float], valid: list[bool]) -> None:
    with pytest.raises(UserError):
        depth_errors(*map(torch.tensor, (found, true, valid)))

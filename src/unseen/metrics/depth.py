"""Scores of depth maps: root mean squared error and the share of pixels within a ratio."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unseen.errors import UserError

RATIO = 1.25


@dataclass(frozen=True)
class DepthScores:
    """Means over images of the errors at each image's valid pixels, as usual for NYUv2.

    Attributes:
        rmse: root mean squared error, in the unit of the depths (metres).
        delta1: share of pixels whose ratio max(d/d*, d*/d) to the true depth d* is below 1.25 (δ₁).
    """

    rmse: float
    delta1: float


def depth_errors(predicted: Tensor, truth: Tensor, valid: Tensor) -> tuple[float, float]:
    """Root mean squared error and δ₁ of one image.

    Args:
        predicted, truth: depths of the same shape; both positive where `valid`.
    """
    if not predicted.shape == truth.shape == valid.shape:
        shapes = [tuple(each.shape) for each in (predicted, truth, valid)]
        raise UserError(f"depths and their mask have one shape, not {shapes[0]}, {shapes[1]} and {shapes[2]}")
    if not bool(valid.any()):
        raise UserError("no pixel with a true depth to score")
    depths, true = predicted[valid].double(), truth[valid].double()
    if float(true.min()) <= 0 or float(depths.min()) <= 0:
        raise UserError("depths must be positive where they are valid")
    ratio = torch.maximum(depths / true, true / depths)
    return float((depths - true).square().mean().sqrt()), float((ratio < RATIO).double().mean())


def depth_scores(errors: Sequence[tuple[float, float]]) -> DepthScores:
    """The means of the errors of `depth_errors` over images."""
    if not errors:
        raise UserError("no image with true depths to score")
    rmse, delta1 = (sum(values) / len(errors) for values in zip(*errors, strict=True))
    return DepthScores(rmse, delta1)

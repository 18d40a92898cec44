"""Scores of surface-normal maps: angles to the true normals."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.metrics.from_units import ANGLE_EDGES, COARSE, FINE, FINE_UP_TO

THRESHOLDS = (11.25, 22.5, 30.0)
"""Thresholds in degrees; the share of pixels with a smaller error is reported for each."""


@dataclass(frozen=True)
class NormalScores:
    """Angular errors over all valid pixels of all images together.

    Attributes:
        mean, median: in degrees.
        within: for each of `THRESHOLDS`, the share of pixels with a strictly smaller error.
    """

    mean: float
    median: float
    within: tuple[float, float, float]


def angular_errors(predicted: Tensor, truth: Tensor, valid: Tensor) -> Tensor:
    """(m,) angles in degrees, in double precision, at the m valid pixels.

    Both vectors are normalised first. The angle is atan2(‖a × b‖, a·b), which is also accurate near 0° and 180°.

    Args:
        predicted, truth: (..., 3).
        valid: (...) whether a pixel has a true normal; pixels with a true normal of 0 are invalid too.
    """
    if predicted.shape != truth.shape or predicted.shape[-1] != 3 or valid.shape != truth.shape[:-1]:
        shapes = [tuple(each.shape) for each in (predicted, truth, valid)]
        raise UserError(f"normals are (..., 3) with a mask of their pixels, not {shapes[0]}, {shapes[1]}, {shapes[2]}")
    a, b = predicted[valid].double(), truth[valid].double()
    known = b.norm(dim=-1) > 0
    a, b = a[known], b[known]
    return torch.rad2deg(torch.atan2(torch.linalg.cross(a, b).norm(dim=-1), (a * b).sum(-1)))


def normal_scores(errors: Sequence[Tensor]) -> NormalScores:
    """Scores of the angular errors of several images, pooled over pixels."""
    if not errors or not sum(map(len, errors)):
        raise UserError("no pixel with a true normal to score")
    pooled = torch.cat([each.double() for each in errors])
    middle = float(torch.quantile(pooled, 0.5)) if len(pooled) <= 1 << 24 else _large_median(pooled)
    within = [float((pooled < degrees).double().mean()) for degrees in THRESHOLDS]
    return NormalScores(float(pooled.mean()), middle, (within[0], within[1], within[2]))


def angle_sums(errors: Tensor) -> Tensor:
    """(1 + thresholds + bins,) of the m angular errors of an image, in double precision on their device.

    Their sum, how many are below each of `THRESHOLDS`, and how many are in each bin of `from_units.ANGLE_EDGES`.
    """
    fine, wide, last = (round(each / FINE) for each in (FINE_UP_TO, COARSE, ANGLE_EDGES[-1]))
    # Thresholds are edges of fine bins, whose width is a power of two, so that no angle is rounded into another bin.
    counts = torch.bincount((errors * (1 / FINE)).long().clamp_(max=last - 1), minlength=last)
    within = [counts[: round(degrees / FINE)].sum() for degrees in THRESHOLDS]
    bins = torch.cat([torch.stack(within), counts[:fine], counts[fine:].reshape(-1, wide).sum(dim=1)])
    return torch.cat([errors.sum()[None], bins.double()])


def _large_median(values: Tensor) -> float:
    """The median by selection, since `torch.quantile` refuses more than 2²⁴ values."""
    half = len(values) // 2
    upper = float(values.kthvalue(half + 1).values)
    return upper if len(values) % 2 else (float(values.kthvalue(half).values) + upper) / 2

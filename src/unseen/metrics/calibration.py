"""Calibration: reliability bins, expected calibration error, temperature scaling.

Guo et al. 2017, "On calibration of modern neural networks". Sums are in float64.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, inf, log
from typing import Literal

import torch
from torch import Tensor

from unseen.errors import UserError

SEARCHED = 1e4
"""Temperatures are searched up to this factor above and below the spread of the logits."""
PRECISION = 1e-12
"""The relative step in temperature at which the search ends."""
STEPS = 100
"""Maximum number of steps; bisection alone needs 45 for the precision."""


@dataclass(frozen=True)
class ReliabilityBins:
    """Samples by the confidence of their prediction, for a reliability diagram.

    Attributes:
        edges: the bins + 1 edges, from 0 to 1; a bin excludes its lower edge and includes its upper edge.
        counts: samples in each bin.
        confidence, accuracy: mean confidence, and share predicted correctly; NaN for an empty bin.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]

    @property
    def calibration_error(self) -> float:
        """The mean over samples of |accuracy − confidence| of their bin."""
        bins = zip(self.counts, self.confidence, self.accuracy, strict=True)
        return sum(count * abs(right - sure) for count, sure, right in bins if count) / sum(self.counts)


@dataclass(frozen=True)
class TemperatureFit:
    """The temperature that minimises the mean negative log-likelihood of softmax(logits / temperature).

    Attributes:
        before, after: that mean, in nats, at temperature 1 and at the optimum.
        limit: `lower` or `upper` if the loss still decreased at that end of the search range, so that the temperature
            is this end and not a minimum: `lower` if every label has the largest logit (the best temperature is 0),
            `upper` if logits are worse than chance (it is infinite). None otherwise.
    """

    temperature: float
    before: float
    after: float
    limit: Literal["lower", "upper"] | None


def expected_calibration_error(probabilities: Tensor, y: Tensor, bins: int = 15) -> float:
    """Σ over bins of  (samples in it / n)·|accuracy − mean confidence|;  arguments as in `reliability_bins`."""
    return reliability_bins(probabilities, y, bins).calibration_error


def reliability_bins(probabilities: Tensor, y: Tensor, bins: int = 15) -> ReliabilityBins:
    """Samples in bins of equal width by their largest probability.

    Args:
        probabilities: (n, c), rows that sum to 1.
        y: (n,) class indices.
    """
    y = _checked(probabilities, y, "probabilities")
    if bins < 1:
        raise UserError(f"reliability needs at least one bin, not {bins}")
    excess = probabilities.sum(dim=1, dtype=torch.float64) - 1
    if float(probabilities.min()) < 0 or float(excess.abs().max()) > 0.01:
        raise UserError("rows of probabilities must be non-negative and add up to 1; take the softmax of logits first")
    confidence, predicted = probabilities.max(dim=1)
    edges = torch.arange(bins + 1, dtype=torch.float64, device=y.device) / bins
    # Edges are rounded like confidences, so that 3/15 in single precision still falls into the bin that ends there.
    place = torch.bucketize(confidence, edges[1:-1].to(confidence.dtype))

    def per_bin(values: Tensor) -> Tensor:
        return edges.new_zeros(bins).index_add_(0, place, values.double())

    counts = per_bin(torch.ones_like(confidence))
    # An empty bin gives 0/0, which is NaN as intended.
    sure, right = (per_bin(values) / counts for values in (confidence, predicted == y))
    return ReliabilityBins(
        tuple(edges.tolist()), tuple(map(int, counts.tolist())), tuple(sure.tolist()), tuple(right.tolist())
    )


def fit_temperature(logits: Tensor, y: Tensor) -> TemperatureFit:
    """Temperature scaling, to be fitted on validation data and applied to other data as softmax(logits / temperature).

    With β = 1/T the loss  L(β) = mean over samples of log Σⱼ exp(β(zⱼ − z_y))  is convex, and its slope, the mean of
    the expectation of z − z_y under the softmax, increases with log β. Newton's method finds its zero on the scale of
    log β, within a bracket that every step narrows and that is halved if Newton would leave it. The search range is the
    spread of the logits (the mean of |zⱼ − z_y|) times or divided by `SEARCHED`, so scaled logits give a scaled
    temperature; if all logits of each sample are equal, every temperature is equally good and 1 is returned.

    Each step is one pass over the logits in float64, in blocks; about ten are needed.

    Args:
        logits: (n, c) of any real dtype.
        y: (n,) class indices.
    """
    y = _checked(logits, y, "logits")
    differences = [part.abs().sum() for part in _differences(logits, y)]
    spread = float(torch.stack(differences).sum()) / logits.numel()
    if spread == 0:
        level = log(logits.shape[1])
        return TemperatureFit(1.0, level, level, None)

    def at(position: float) -> tuple[float, float, float]:
        return _loss(logits, y, spread, exp(position))

    low, high = -log(SEARCHED), log(SEARCHED)
    before = _loss(logits, y, spread, spread)[0]
    value, slope, _ = at(high)
    if slope <= 0:
        return TemperatureFit(spread / exp(high), before, value, "lower")
    value, slope, _ = at(low)
    if slope >= 0:
        return TemperatureFit(spread / exp(low), before, value, "upper")
    position = 0.0
    for _ in range(STEPS):
        value, slope, curvature = at(position)
        low, high = (low, position) if slope > 0 else (position, high)
        step = slope / (curvature * exp(position)) if curvature > 0 else inf
        following = position - step if low <= position - step <= high else (low + high) / 2
        if abs(following - position) < PRECISION:
            break
        position = following
    return TemperatureFit(spread / exp(position), before, value, None)


def _loss(logits: Tensor, y: Tensor, spread: float, beta: float) -> tuple[float, float, float]:
    """The mean of log Σⱼ exp(β dⱼ) with d = (z − z_y) / spread, and its first two derivatives in β."""
    total = torch.zeros(3, dtype=torch.float64, device=logits.device)
    for part in _differences(logits, y):
        d = part.div_(spread)
        weights = (beta * d).softmax(dim=1)
        mean = (weights * d).sum(dim=1, keepdim=True)
        variance = (weights * (d - mean).square()).sum()
        total += torch.stack([(beta * d).logsumexp(dim=1).sum(), mean.sum(), variance])
    value, slope, curvature = (total / len(y)).tolist()
    return value, slope, curvature


def _differences(logits: Tensor, y: Tensor) -> Iterator[Tensor]:
    """Blocks of rows of zⱼ − z_y in float64, 8 MiB each: the loss depends only on these differences."""
    rows = max(1, (1 << 20) // logits.shape[1])
    for part, labels in zip(torch.split(logits, rows), torch.split(y.long(), rows), strict=True):
        yield part.double() - part.gather(1, labels[:, None])


def _checked(values: Tensor, y: Tensor, name: str) -> Tensor:
    """Labels on the device of the values, if the two match."""
    if values.ndim != 2 or y.ndim != 1 or len(values) != len(y) or values.numel() == 0:
        raise UserError(f"{name} of shape {tuple(values.shape)} do not match labels of shape {tuple(y.shape)}")
    if values.is_complex() or not torch.isfinite(values).all():
        raise UserError(f"the {name} contain values that are not finite real numbers")
    if y.is_floating_point() or int(y.min()) < 0 or int(y.max()) >= values.shape[1]:
        raise UserError(f"labels must be class indices from 0 to {values.shape[1] - 1}, with one column of {name} each")
    return y.to(values.device)

"""Accuracy of single concepts against their similarity to the seen ones: a continuous view of the levels."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unseen.errors import UserError
from unseen.metrics.resampling import RESAMPLES, Floats, Interval, draws, percentile_interval

Scale = Literal["accuracy", "logit"]
STEPS = 50
PRECISION = 1e-10
STEEPEST = 50.0
"""Logits per standard deviation of similarity; a fit beyond this has no finite optimum."""


@dataclass(frozen=True)
class SimilaritySlope:
    """A line through the accuracies of concepts.

    Attributes:
        scale: `accuracy`: accuracy = intercept + slope·similarity; `logit`: the same for logit(accuracy).
        slope: per unit of similarity, with its bootstrap interval over concepts.
        resamples: number of resamples in the interval; those without a fit are left out.
    """

    scale: Scale
    intercept: float
    slope: Interval
    resamples: int

    def predict(self, similarity: Floats) -> Floats:
        """The predicted accuracy at given similarities, as a share."""
        line = self.intercept + self.slope.value * np.asarray(similarity, dtype=np.float64)
        return line if self.scale == "accuracy" else 1 / (1 + np.exp(-line))


def similarity_slope(
    similarity: Floats,
    correct: Floats,
    images: Floats,
    *,
    scale: Scale = "logit",
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> SimilaritySlope:
    """Fit the accuracy of concepts to their similarity to the seen ones.

    On the scale `accuracy` by least squares, with equal weights. On the scale `logit` by maximum likelihood: correct
    images are binomial with logit p = a + b·similarity, found by Newton's method from 0. In both cases concepts vary
    more than randomly drawn images would, so the uncertainty of the slope comes from the bootstrap over concepts, not
    from the curvature of the likelihood. All resamples are fitted together, as weights of concepts.

    Args:
        similarity: (c,) similarity of each concept to the nearest seen one.
        correct, images: (c,) numbers of correctly classified and of all test images; for several seeds, sums.
    """
    x, k, n = (np.asarray(values, dtype=np.float64) for values in (similarity, correct, images))
    _check(x, k, n)
    centre, spread = float(x.mean()), float(x.std())
    z = (x - centre) / spread
    weights = np.vstack([np.ones(len(x)), draws(np.random.default_rng(seed), len(x), resamples)])
    fit = _least_squares if scale == "accuracy" else _binomial
    lines = fit(z, k, n, weights)
    if not np.isfinite(lines[0]).all():
        raise UserError("a threshold of similarity separates right from wrong exactly, so no finite slope fits best")
    slopes = lines[np.isfinite(lines).all(axis=1), 1] / spread
    slope = percentile_interval(slopes[0], slopes[1:], level)
    return SimilaritySlope(scale, float(lines[0, 0] - slope.value * centre), slope, len(slopes) - 1)


def _check(x: Floats, k: Floats, n: Floats) -> None:
    if x.ndim != 1 or not x.shape == k.shape == n.shape:
        raise UserError(
            f"similarities {x.shape}, correct {k.shape} and images {n.shape} must have one number per concept"
        )
    if not (np.isfinite(x).all() and np.isfinite(k).all() and np.isfinite(n).all()):
        raise UserError("similarities and numbers of images must be finite")
    if ((k < 0) | (k > n) | (n < 1)).any():
        raise UserError("each concept needs at least one image, and no more correct images than images")
    if len(x) < 3 or np.ptp(x) == 0:
        raise UserError("a slope needs at least 3 concepts that are not all equally similar")


def _least_squares(z: Floats, k: Floats, n: Floats, weights: Floats) -> Floats:
    """(b, 2) intercepts and slopes under (b, c) weights; NaN if all drawn concepts are equally similar."""
    y = k / n
    total = weights.sum(axis=1)
    mean_z, mean_y = weights @ z / total, weights @ y / total
    variance = weights @ z**2 / total - mean_z**2
    covariance = weights @ (z * y) / total - mean_z * mean_y
    slope = np.divide(covariance, variance, out=np.full_like(variance, np.nan), where=variance > 1e-12)
    return np.stack([mean_y - slope * mean_z, slope], axis=1)


def _binomial(z: Floats, k: Floats, n: Floats, weights: Floats) -> Floats:
    """Like `_least_squares`, by maximum likelihood; NaN if there is no finite maximum.

    A Newton step solves a 2 × 2 system for each row of weights. Steps are limited to 2 logits, which prevents
    overshooting for probabilities near 0 or 1.
    """
    line = np.zeros((len(weights), 2))
    step = np.full_like(line, np.inf)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(line[:, :1] + line[:, 1:] * z, -40, 40)))
        residual, curvature = weights * (k - n * p), weights * n * p * (1 - p)
        gradient = np.stack([residual.sum(axis=1), residual @ z], axis=1)
        h0, h1, h2 = curvature.sum(axis=1), curvature @ z, curvature @ z**2
        determinant = h0 * h2 - h1**2
        inverse = np.divide(1, determinant, out=np.full_like(determinant, np.nan), where=determinant > 1e-12 * h0**2)
        step = (
            np.stack([h2 * gradient[:, 0] - h1 * gradient[:, 1], h0 * gradient[:, 1] - h1 * gradient[:, 0]], axis=1)
            * inverse[:, None]
        )
        longest = np.abs(step).max(axis=1, keepdims=True)
        line = line + step * np.minimum(1, 2 / np.maximum(longest, 1e-300))
        if np.nanmax(longest, initial=0) < PRECISION:
            break
    settled = (np.abs(step).max(axis=1) < 1e-6) & (np.abs(line).max(axis=1) < STEEPEST)
    line[~settled] = np.nan
    return line

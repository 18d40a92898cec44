"""Penalised logistic losses in coordinates suited to optimisation: centred features, in the eigenbasis of XᵀX.

These are two exact changes of variables. The bias is not penalised, so features may be centred: b absorbs −Wᵀμ. The
penalty ‖W‖² is invariant under rotation, so W may be written in any orthonormal basis. In that of the eigenvectors of
the centred XᵀX = V diag(s) Vᵀ the Hessian of the loss is nearly diagonal, about h·s, which makes 1/(h·s + λ) a good
preconditioner for every penalty λ of a path from one eigendecomposition. If n < d, the optimum lies in the span of the
rows, found by a QR decomposition, and the problem has n directions instead of d.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, linear, log_softmax

ROUNDING = 1e-14
"""Features that differ by less than this share of their size count as constant."""

ROWS_FOR_SINGLE = 16
"""Samples per dimension from which the eigenbasis of many features is computed from float32 products."""
LARGE = 10_000_000
"""Number of values from which features count as many."""


@dataclass(frozen=True)
class Eigenbasis:
    """Rotated, centred and scaled features, and the inverse transformation.

    Attributes:
        features: (n, r + 1), float64, r = min(n, d); one column per direction and, last, a constant 1 for the bias.
        curvature: (r + 1,) squared length of each column: the eigenvalues, and n for the bias.
        variance: mean squared length of a row without its constant; 1 if that is 0.
        directions: (d, r) orthonormal.
        mean: (d,) mean of the given features.
        scale: divisor of the features after subtraction of their mean.
    """

    features: Tensor
    curvature: Tensor
    variance: float
    directions: Tensor
    mean: Tensor
    scale: float

    @cached_property
    def single(self) -> Tensor:
        """The features in float32."""
        return self.features.float()

    def to_weights(self, coefs: Tensor) -> tuple[Tensor, Tensor]:
        """(..., d, k) weights and (..., k) biases for the given features, from (..., r + 1, k) coefficients."""
        weights = self.directions @ coefs[..., :-1, :] / self.scale
        return weights, coefs[..., -1, :] - (self.mean @ weights)

    def gradient_norm(self, gradient: Tensor) -> Tensor:
        """(p,) 2-norms, in float64, of (p, r + 1, k) gradients by the coefficients, for features of unit variance.

        This is the norm of the gradient by the weights and bias for (x − μ)/σ, where σ is the root mean square of ‖x −
        μ‖: it does not depend on the origin, orientation and unit of the features.
        """
        squares = gradient.double().square().sum(2)
        return (squares[:, :-1].sum(1) / self.variance + squares[:, -1]).sqrt()


def centred_eigenbasis(X: Tensor) -> Eigenbasis:
    """The coordinates of (n, d) features: 4·n·d² flops and an eigendecomposition (min(n, d) for one d), in float64.

    Small eigenvalues of XᵀX are inexact, which only makes the preconditioner slightly worse: the basis is orthonormal
    up to rounding in any case, so the change of variables is exact.
    """
    rows = X.to(torch.float64, copy=True)
    size = _largest(rows)
    rows /= size
    mean = rows.mean(0)
    rows -= mean
    spread = _largest(rows)
    if spread < ROUNDING:
        spread = 1.0
        rows.zero_()
    rows /= spread
    span = None
    if rows.shape[0] < rows.shape[1]:
        span, triangle = torch.linalg.qr(rows.T)
        rows = triangle.T
    products = _products(rows)
    values, vectors = torch.linalg.eigh(products)
    ones = rows.new_ones(len(rows), 1)
    return Eigenbasis(
        features=torch.cat([rows @ vectors, ones], dim=1),
        curvature=torch.cat([values.clamp(min=0), ones.sum(0)]),
        variance=float(products.trace() / len(rows)) or 1.0,
        directions=vectors if span is None else span @ vectors,
        mean=mean * size,
        scale=size * spread,
    )


def _products(rows: Tensor) -> Tensor:
    """XᵀX, (d, d) in float64; if it takes seconds, from float32 products, in half the time."""
    if len(rows) < ROWS_FOR_SINGLE * rows.shape[1] or rows.numel() < LARGE:
        return rows.T @ rows
    single = rows.float()
    return (single.T @ single).double()


def _largest(rows: Tensor) -> float:
    """The largest absolute value, or 1 if all are 0."""
    return max(map(abs, map(float, rows.aminmax()))) or 1.0


@dataclass(frozen=True)
class Problems:
    """p problems of k columns over the same n samples, each with its penalty.

    A problem is a softmax over its k columns if `labels` are indices, and a sigmoid (k = 1) if they are 0 or 1.

    Attributes:
        features: (n, r + 1), the last column a constant.
        curvature: (r + 1,) squared lengths of the columns.
        labels: (n,) class indices, shared by all problems; or (n, p, 1) of 0 and 1, in the dtype of the features.
        penalties: (p, r + 1, 1) on half the square of each coefficient; 0 for the bias.
    """

    features: Tensor
    curvature: Tensor
    labels: Tensor
    penalties: Tensor

    def select(self, chosen: Tensor) -> "Problems":
        """Some of the problems."""
        labels = self.labels if self.labels.ndim == 1 else self.labels[:, chosen]
        return replace(self, labels=labels, penalties=self.penalties[chosen])

    def scores(self, coefs: Tensor) -> Tensor:
        """(n, p, k) scores of (p, r + 1, k) coefficients: one product for all problems, 2·n·r·p·k flops."""
        return linear_scores(self.features, coefs)

    def gradient(self, coefs: Tensor, residual: Tensor) -> Tensor:
        """(p, r + 1, k) gradient by the coefficients, including the penalty; again one product."""
        return torch.addcmul(loss_gradient(self.features, residual), self.penalties, coefs)

    def penalty(self, coefs: Tensor) -> Tensor:
        """(p,) values of ½λ‖W‖²."""
        return 0.5 * (self.penalties * coefs.square()).sum((1, 2))

    def without_common_part(self, coefs: Tensor) -> Tensor:
        """(p, r + 1, k) coefficients minus their mean over the columns of a softmax, which does not affect
        probabilities.

        The optimum has zero mean, since the penalty is smaller then; scaling columns differently would reintroduce a
        mean.
        """
        return coefs - coefs.mean(2, keepdim=True) if self.labels.ndim == 1 else coefs

    def scaling(self, residual: Tensor) -> Tensor:
        """(p, r + 1, k) units for the coefficients in which the Hessian is near 1: (h·s + λ)^-½.

        h is a column's mean of π(1 − π) over samples, |ρ|(1 − |ρ|) of the residuals ρ = π − target. The floor prevents
        directions without variance from becoming huge.
        """
        size = residual.abs()
        h = (size - size.square()).mean(0).double().clamp(min=1e-12)
        hessian = self.curvature[:, None] * h[:, None, :] + self.penalties
        floor = 1e-12 * hessian.amax((1, 2), keepdim=True)
        return hessian.clamp(min=floor).rsqrt().to(residual.dtype)


def linear_scores(features: Tensor, coefs: Tensor) -> Tensor:
    """(n, p, k) products of (n, r + 1) features with the columns of (p, r + 1, k) coefficients."""
    p, r, k = coefs.shape
    return linear(features, coefs.mT.reshape(p * k, r)).view(
        -1, p, k
    )  # half the time of X @ W if there are few classes


def loss_and_residual(scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """(p,) summed losses of (n, p, k) scores, and their (n, p, k) derivatives: probabilities minus targets.

    `labels` are as in `Problems`. In float64, values near 0 are exact relative to themselves: if classes are separable
    and the penalty is weak, losses and residuals at the optimum are far below the rounding error of 1.
    """
    exact = scores.dtype == torch.float64
    if labels.ndim == 1:
        logs = log_softmax(scores, dim=2)
        index = labels[:, None, None].expand(-1, scores.shape[1], 1)
        losses = -logs.gather(2, index)
        residual = logs.exp_()
        if exact:
            others = residual.scatter_(2, index, 0.0).sum(2, keepdim=True)
            losses = torch.where(others < 0.5, -(-others).log1p(), losses)
            return losses.sum((0, 2)), residual.scatter_(2, index, -others)
        return losses.sum((0, 2)), residual.scatter_add_(2, index, residual.new_full((1, 1, 1), -1.0).expand_as(index))
    loss = binary_cross_entropy_with_logits(scores, labels, reduction="none").sum((0, 2))
    if exact:
        side = 1 - 2 * labels
        return loss, (side * scores).sigmoid_().mul_(side)
    return loss, scores.sigmoid().sub_(labels)


def loss_gradient(features: Tensor, residual: Tensor) -> Tensor:
    """(p, r + 1, k) gradient of the summed losses by the coefficients."""
    n, p, k = residual.shape
    rows = residual.view(n, p * k)
    if features.is_cuda:
        return (features.T @ rows).view(-1, p, k).transpose(0, 1)
    return (rows.T @ features).view(p, k, -1).mT.contiguous()  # half the time on a CPU if there are few classes

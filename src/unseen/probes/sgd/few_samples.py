"""The exact smaller form of training with fewer samples than features.

Gradients of a linear classifier lie in the span of its n samples. With an orthonormal basis Q (d × n) of that span, the
part of the weights in it moves as if the samples were X·Q (n × n), and the part outside only shrinks by weight decay,
by the same factor in every entry. Training thus costs n/d as much, and gives the same weights.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

WORTH = 0.7
"""Ratio of samples to features up to which the smaller problem is used."""


@dataclass(frozen=True)
class SmallProblem:
    """Samples and initial weights in a basis of the samples.

    Attributes:
        samples: (n, n).
        initial: (n, c).
        basis: (d, n), orthonormal columns.
        outside: (d, c), the part of the initial weights orthogonal to all samples.
    """

    samples: Tensor
    initial: Tensor
    basis: Tensor
    outside: Tensor

    def restore(self, weights: Tensor, shrunk: Tensor) -> Tensor:
        """(k, n, c) trained weights → (k, d, c), with the (k,) remaining factors of the part outside."""
        return self.basis @ weights + shrunk.to(weights)[:, None, None] * self.outside


def small_problem(X: Tensor, initial: Tensor) -> SmallProblem:
    """The smaller form of training on X (n, d), n < d, from `initial` (d, c); the constant 1 of the bias is one of the
    d.
    """
    wide = torch.promote_types(X.dtype, torch.float32)
    X, initial = X.to(wide), initial.to(X.device, wide)
    basis, _ = torch.linalg.qr(X.T)
    inside = basis.T @ initial
    return SmallProblem(X @ basis, inside, basis, initial - basis @ inside)


def shrinkage(rates: Tensor, decays: Tensor, factors: Tensor, momentum: float) -> Tensor:
    """What SGD without gradients leaves of a weight of 1.

    Args:
        rates, decays: (…) of the classifiers.
        factors: (steps,) on the rates.
    """
    weight, velocity = torch.ones_like(rates), torch.zeros_like(rates)
    for factor in factors.tolist():
        velocity = momentum * velocity + decays * weight
        weight = weight - rates * factor * velocity
    return weight

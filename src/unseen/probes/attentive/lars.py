"""LARS of several settings at once (You, Gitman and Ginsburg 2017), as the public code of Efficient Probing has it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from unseen.probes.attentive.protocol import Setting
from unseen.probes.attentive.stack import Parameters


class Lars:
    """Momentum SGD whose step on a matrix is in proportion to the matrix: with gradient g and weight decay λ,

        v ← μ v + η ‖p‖ / ‖g + λ p‖ (g + λ p),    p ← p − rate · v,

    with norms over the whole of a parameter, of each setting alone. Biases have neither decay nor the factor. Settings
    that diverge leave the others alone.
    """

    def __init__(
        self, parameters: Parameters, settings: Sequence[Setting], *, scale: float, momentum: float, trust: float
    ) -> None:
        """Args:
        scale: factor on the base rates, batch / 256.
        trust: η.
        """
        device, dtype = parameters.bias.device, parameters.bias.dtype
        self.parameters = parameters
        self.velocities = [torch.zeros_like(each) for each in parameters.every]
        self.momentum, self.trust = momentum, trust
        self.rates, self.decays = (
            torch.tensor(each, device=device, dtype=dtype) for each in zip(*settings, strict=True)
        )
        self.rates *= scale

    def step(self, gradients: Parameters, factor: float) -> None:
        """Update all settings in place; `factor` is the schedule's."""
        for p, gradient, v in zip(self.parameters.every, gradients.every, self.velocities, strict=True):
            v.mul_(self.momentum).add_(gradient if p.ndim == 2 else self._scaled(p, gradient))  # biases have two
            p.sub_(factor * _beside(self.rates, p) * v)

    def _scaled(self, p: Tensor, gradient: Tensor) -> Tensor:
        """The gradient with decay, in proportion to the parameter."""
        update = gradient + _beside(self.decays, p) * p
        sizes, lengths = (each.flatten(1).norm(dim=1) for each in (p, update))
        trusted = torch.where((sizes > 0) & (lengths > 0), self.trust * sizes / lengths, 1.0)
        return update * _beside(trusted, p)


def _beside(values: Tensor, p: Tensor) -> Tensor:
    """(K, 1, …) values that multiply a parameter with as many dimensions."""
    return values.view(-1, *(1 for _ in p.shape[1:]))

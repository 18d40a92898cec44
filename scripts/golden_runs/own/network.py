"""Two convolutions without normalisation, whose squares make training with large steps diverge."""

import torch
from torch import Tensor, nn

from unseen.data.core.decoding.transform import Transform


class Squared(nn.Module):
    """Large squares."""

    def forward(self, maps: Tensor) -> Tensor:
        return 200 * maps * maps


def unstable() -> tuple[nn.Module, Transform]:
    """The network and its preprocessing."""
    torch.manual_seed(0)
    layers = (nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 8, 3, 2), Squared(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
    return nn.Sequential(*layers), Transform(size=16, resize=16)

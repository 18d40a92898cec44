"""LPIPS 0.1: a perceptual distance of two images from network activations, weighted to match human judgements.

Zhang et al. 2018, "The unreasonable effectiveness of deep features as a perceptual metric": at several layers of a
network (the trunk), the activations of both images are normalised to unit length at each position; their squared
differences are summed over channels with learned weights (the heads), averaged over positions, and summed over layers.
The heads ship with this package; the trunk's weights are searched for on the user's machine
(`unseen.metrics.lpips_trunks`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

TrunkName = Literal["alex", "vgg", "squeeze"]
TRUNKS: tuple[TrunkName, ...] = get_args(TrunkName)
LAYERS: dict[TrunkName, tuple[int, ...]] = {
    "alex": (1, 4, 7, 9, 11),
    "vgg": (3, 8, 15, 22, 29),
    "squeeze": (1, 4, 7, 9, 10, 11, 12),
}
"""Indices of the trunk's layers whose outputs are compared."""
LEAST_SIDE: dict[TrunkName, int] = {"alex": 31, "vgg": 16, "squeeze": 17}
"""Minimum image side in pixels, so that maps are not empty after the last pooling."""
SHIFT, SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)
"""ImageNet's mean and standard deviation, for pixels between −1 and 1."""
TINY = 1e-10


@dataclass(frozen=True, eq=False)
class Trunk:
    """The convolutions of a network trained on ImageNet, and the identifier of their weights."""

    name: TrunkName
    module: nn.Sequential
    digest: str


@torch.inference_mode()
def lpips(trunk: Trunk, first: NDArray[np.uint8], second: NDArray[np.uint8]) -> NDArray[np.float64]:
    """(n,) distances of uint8 RGB images (n, height, width, 3); 0 for equal images."""
    pairs = zip(_activations(trunk, first), _activations(trunk, second), heads(trunk.name), strict=True)
    layers = [
        torch.einsum("nchw,c->nhw", (_unit(one) - _unit(other)).square(), head.to(one.device)).mean(dim=(1, 2))
        for one, other, head in pairs
    ]
    distances: NDArray[np.float64] = torch.stack(layers).double().sum(dim=0).cpu().numpy()
    return distances


@cache
def heads(name: TrunkName) -> Sequence[Tensor]:
    """The channel weights of each layer of version 0.1."""
    with (resources.files("unseen.metrics") / "data" / "lpips_heads.npz").open("rb") as file, np.load(file) as arrays:
        return [torch.from_numpy(arrays[f"{name}.{place}"]) for place in range(len(LAYERS[name]))]


def _activations(trunk: Trunk, pixels: NDArray[np.uint8]) -> list[Tensor]:
    device = next(trunk.module.parameters()).device
    images = torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).float() / 127.5 - 1
    shift, scale = (torch.tensor(values, device=device)[:, None, None] for values in (SHIFT, SCALE))
    activations, output = [], (images - shift) / scale
    for place, layer in enumerate(trunk.module):
        output = layer(output)
        if place in LAYERS[trunk.name]:
            activations.append(output)
    return activations


def _unit(activations: Tensor) -> Tensor:
    return activations / (activations.square().sum(dim=1, keepdim=True).sqrt() + TINY)

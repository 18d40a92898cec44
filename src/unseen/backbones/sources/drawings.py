"""The backbones of the demo, for single drawings in dark ink on white paper: `drawings:supervised`, `drawings:mixup`,
`drawings:simclr`, `drawings:untrained`, and `drawings:pixels`, the grey values themselves.

The networks are those of `demo:`. Here, each drawing is centred first, as it was when they were trained, and every
BatchNorm is folded into the convolution before it.
"""

import hashlib
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from unseen.backbones.network import Network, Request, Source, refuse_checkpoint
from unseen.backbones.tiny_cnn import SIDE, Block, TinyCNN, load
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError, did_you_mean

WEIGHTS = Path(__file__).parents[2] / "demo/weights"
PIXELS = "pixels"
BATCH = 10
"""Images that a network is given at once on a CPU: so few that memory is not released and requested again each time."""


class Ink(nn.Module):
    """Images (n, 3, s, s) of grey drawings → (n, 1, s, s) with 1 for ink and 0 for paper."""

    def forward(self, images: Tensor) -> Tensor:
        return (255 - (255 * images[:, :1]).round()) / 255  # as if bytes of ink on black had been divided by 255


class Drawn(nn.Module):
    """A network of the demo for images (n, 3, s, s) of drawings."""

    def __init__(self, network: TinyCNN) -> None:
        super().__init__()
        self.ink, self.network = Ink(), network

    def forward(self, images: Tensor) -> Tensor:
        ink = self.ink(images)
        size = BATCH if ink.device.type == "cpu" else len(ink)
        return torch.cat([self.network(part) for part in ink.split(size)])


class Values(nn.Module):
    """The ink of each pixel, (n, s²)."""

    def __init__(self) -> None:
        super().__init__()
        self.ink = Ink()

    def forward(self, images: Tensor) -> Tensor:
        values: Tensor = self.ink(images).flatten(1)
        return values


def drawings_network(request: Request) -> Network:
    """The network of `drawings:name`."""
    refuse_checkpoint(request)
    names = [*sorted(file.stem for file in WEIGHTS.glob("*.safetensors")), PIXELS]
    if request.name not in names:
        hint = did_you_mean(request.name, names) or f"; there are {', '.join(names)}"
        raise UserError(f"{request.id}: no backbone of the demo has that name{hint}")
    if request.random:
        raise UserError(f"{request.id}: has fixed weights; for random weights use drawings:untrained")
    size = request.size or SIDE
    plain = Transform(size, size, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    if request.name == PIXELS:
        return Network(Values(), "none", plain, layer="output")
    file = WEIGHTS / f"{request.name}.safetensors"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return Network(Drawn(folded(load(file))), f"sha256:{digest}", plain, pool="avg", positions=_maps)


def _maps(module: nn.Module, images: Tensor) -> Tensor:
    drawn = cast("Drawn", module)
    return drawn.network.maps(drawn.ink(images))


def folded(network: TinyCNN) -> TinyCNN:
    """The same function with every BatchNorm folded into the convolution before it, which is twice as fast."""
    layers = network.layers
    for place in (0, 6):
        layers[place], layers[place + 1] = _fused(layers[place], layers[place + 1]), nn.Identity()
    for block in layers:
        if isinstance(block, Block):
            for conv, norm in (("conv1", "norm1"), ("conv2", "norm2")):
                setattr(block, conv, _fused(getattr(block, conv), getattr(block, norm)))
                setattr(block, norm, nn.Identity())
            if isinstance(block.skip, nn.Sequential):
                block.skip = _fused(block.skip[0], block.skip[1])
    return network.to(memory_format=torch.channels_last)


def _fused(conv: nn.Module, norm: nn.Module) -> nn.Module:
    return fuse_conv_bn_eval(cast("nn.Conv2d", conv), cast("nn.BatchNorm2d", norm))


SOURCE = Source("drawings", drawings_network)

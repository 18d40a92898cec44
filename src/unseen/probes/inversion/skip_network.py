"""The skip network of the deep image prior (Ulyanov et al. 2018), one for each image, run side by side.

Each image has its own network: its own weights and its own batch-norm statistics, over the positions of that image.
Side by side they are one network with grouped convolutions, one group per image, to make use of a GPU; no information
passes between groups. All have the same input and initial weights, so that the result for an image does not depend on
the others in its stack, and two backbones start from the same picture.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from unseen.probes.inversion.protocol import InversionProtocol

SLOPE = 0.2
"""Slope of LeakyReLU below zero."""


class SkipNetworks(nn.Module):
    """(1, noise, side, side) → (n, 3, side, side): one image from each of n networks.

    All start with the same parameters: PyTorch's usual initialisation, drawn with the seed.
    """

    def __init__(self, protocol: InversionProtocol, copies: int, *, seed: int = 0) -> None:
        super().__init__()
        self.copies = copies
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            self.scales = _Scale(protocol, 1, 0, protocol.noise)
            self.last = nn.Conv2d(protocol.widths[0], 3, 1)
        if copies > 1:
            first = self.state_dict()
            with torch.device("meta"):
                self.scales = _Scale(protocol, copies, 0, protocol.noise)
                self.last = nn.Conv2d(copies * protocol.widths[0], copies * 3, 1, groups=copies)
            repeated = {name: value.repeat(copies, *[1] * (value.ndim - 1)) for name, value in first.items()}
            self.load_state_dict(repeated, assign=True)
            self.requires_grad_(True)

    def forward(self, noise: Tensor) -> Tensor:
        images: Tensor = self.last(self.scales(noise))
        return images.reshape(self.copies, 3, *images.shape[2:])


class _Scale(nn.Module):
    """Down to half the side and up again, with deeper scales in between and a skip connection of a few channels.

    Args:
        depth: depth of this scale, from 0.
        inputs: input channels of each copy; the noise at depth 0 is shared by all.
    """

    def __init__(self, protocol: InversionProtocol, copies: int, depth: int, inputs: int) -> None:
        super().__init__()
        width, kernel, last = protocol.widths[depth], protocol.kernels[depth], depth == len(protocol.widths) - 1
        self.copies = copies
        self.past = _block(copies, inputs, protocol.skip, 1, shared=not depth)
        self.down = nn.Sequential(
            _block(copies, inputs, width, kernel, shared=not depth, halve=True), _block(copies, width, width, kernel)
        )
        self.deeper = None if last else _Scale(protocol, copies, depth + 1, width)
        joined = protocol.skip + (width if last else protocol.widths[depth + 1])
        self.norm = _norm(copies * joined)
        self.up = nn.Sequential(_block(copies, joined, width, kernel), _block(copies, width, width, 1))

    def forward(self, inputs: Tensor) -> Tensor:
        deep = self.down(inputs)
        if self.deeper is not None:
            deep = self.deeper(deep)
        deep = functional.interpolate(deep, scale_factor=2.0, mode="nearest")
        by_copy = [part.unflatten(1, (self.copies, -1)) for part in (self.past(inputs), deep)]
        result: Tensor = self.up(self.norm(torch.cat(by_copy, dim=2).flatten(1, 2)))
        return result


def _block(
    copies: int, inputs: int, outputs: int, kernel: int, *, shared: bool = False, halve: bool = False
) -> nn.Sequential:
    """Convolution, batch norm and LeakyReLU of every copy; with `shared`, all have the same input."""
    groups = 1 if shared else copies
    layers: list[nn.Module] = [nn.Conv2d(groups * inputs, copies * outputs, kernel, padding=kernel // 2, groups=groups)]
    if halve:
        layers.append(nn.AvgPool2d(2))
    return nn.Sequential(*layers, _norm(copies * outputs), nn.LeakyReLU(SLOPE, inplace=True))


def _norm(channels: int) -> nn.BatchNorm2d:
    """Batch norm with the statistics of the current image, which is the only one."""
    return nn.BatchNorm2d(channels, track_running_stats=False)

"""The skip network of the deep image prior (Ulyanov et al. 2018), as many of it side by side as there are images.

Each image has a network of its own: own weights and own statistics of batch norm, which are over the positions of that
one image. Side by side they are one network whose convolutions have a group per image, so that a GPU has enough to do;
no number passes from one group to another. All have the same input and the same first weights, so that what becomes of
an image does not depend on the others of its stack, and two backbones start from the same picture.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from unseen.probes.inversion.protocol import InversionProtocol

SLOPE = 0.2
"""Of LeakyReLU below zero."""


class SkipNetworks(nn.Module):
    """(1, noise, side, side) → (n, 3, side, side): one image of each of n networks.

    The first parameters of each are the same: PyTorch's usual initialisation, drawn with the seed.
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
    """Half the side down and up again, with deeper scales in between and a few channels that pass them by.

    Args:
        depth: of this scale, from 0.
        inputs: channels of the input of each copy; the noise of depth 0 is one for all of them.
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
    """Convolution, batch norm and LeakyReLU of every copy; with `shared`, all have one input."""
    groups = 1 if shared else copies
    layers: list[nn.Module] = [nn.Conv2d(groups * inputs, copies * outputs, kernel, padding=kernel // 2, groups=groups)]
    if halve:
        layers.append(nn.AvgPool2d(2))
    return nn.Sequential(*layers, _norm(copies * outputs), nn.LeakyReLU(SLOPE, inplace=True))


def _norm(channels: int) -> nn.BatchNorm2d:
    """By the statistics of the image at hand: there is no other."""
    return nn.BatchNorm2d(channels, track_running_stats=False)

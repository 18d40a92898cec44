"""Map heads as in Ericsson et al. 2021: pyramid pooling (Zhao et al. 2017), UPerNet (Xiao et al. 2018)."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

SCALES = (1, 2, 3, 6)
"""Sides of the pooled maps."""
WIDTH = 512


def conv_block(before: int, after: int, kernel: int) -> nn.Sequential:
    """Convolution without a bias, batch norm, ReLU."""
    return nn.Sequential(
        nn.Conv2d(before, after, kernel, padding=kernel // 2, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)
    )


class PyramidPooling(nn.Module):
    """A map concatenated with its means over 1, 4, 9 and 36 parts: (b, c, h, w) → (b, c + 4·width, h, w)."""

    def __init__(self, channels: int, width: int = WIDTH) -> None:
        super().__init__()
        self.parts = nn.ModuleList(
            nn.Sequential(nn.AdaptiveAvgPool2d(scale), conv_block(channels, width, 1)) for scale in SCALES
        )

    def forward(self, x: Tensor) -> Tensor:
        size = x.shape[2:]
        pooled = [interpolate(part(x), size=size, mode="bilinear", align_corners=False) for part in self.parts]
        return torch.cat([x, *pooled], dim=1)


class PSPHead(nn.Module):
    """Pyramid pooling on the last map: (b, c, h, w) → (b, outputs, h, w)."""

    def __init__(self, channels: int, outputs: int, width: int = WIDTH, dropout: float = 0.1) -> None:
        super().__init__()
        self.pooling = PyramidPooling(channels, width)
        self.last = nn.Sequential(
            conv_block(channels + len(SCALES) * width, width, 3), nn.Dropout2d(dropout), nn.Conv2d(width, outputs, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.last(self.pooling(x))
        return output


class UPerHead(nn.Module):
    """A feature pyramid with pyramid pooling on top: maps at strides 4 to 32 → (b, outputs, h/4, w/4)."""

    def __init__(self, channels: Sequence[int], outputs: int, width: int = WIDTH) -> None:
        super().__init__()
        self.pooling = PyramidPooling(channels[-1], width)
        self.top = conv_block(channels[-1] + len(SCALES) * width, width, 3)
        self.lateral = nn.ModuleList(conv_block(before, width, 1) for before in channels[:-1])
        self.smooth = nn.ModuleList(conv_block(width, width, 3) for _ in channels[:-1])
        self.fuse = conv_block(len(channels) * width, width, 3)
        self.last = nn.Conv2d(width, outputs, 1)

    def forward(self, maps: Mapping[str, Tensor]) -> Tensor:
        levels = list(maps.values())
        x = self.top(self.pooling(levels[-1]))
        output = [x]
        for level, lateral, smooth in zip(levels[-2::-1], self.lateral[::-1], self.smooth[::-1], strict=True):
            side = lateral(level)
            x = side + interpolate(x, size=side.shape[2:], mode="bilinear", align_corners=False)
            output.insert(0, smooth(x))
        size = output[0].shape[2:]
        alike = [
            output[0],
            *(interpolate(each, size=size, mode="bilinear", align_corners=False) for each in output[1:]),
        ]
        scores: Tensor = self.last(self.fuse(torch.cat(alike, dim=1)))
        return scores

"""Four maps from one: the simple feature pyramid of ViTDet (Li et al. 2022), for networks of one resolution.

Ericsson et al. 2021 only use ResNets: trainings with this pyramid extend their protocols.
"""

from collections import OrderedDict

import torch
from torch import Tensor, nn
from torch.nn.functional import grid_sample, interpolate, pad

from unseen.backbones.backbone import Backbone, device_of
from unseen.backbones.load import Extractor
from unseen.errors import UserError
from unseen.probes.dense.pyramid import STRIDES

WIDTH = 256
LAST = 16
"""Stride of the map that the others are computed from."""


class SquareMap(nn.Module):
    """The last map of a network for square images of one size: (b, 3, h, w) → (b, c, h/stride, w/stride).

    As in ViTDet, images are padded at the bottom and right to a square. Larger images are scaled down to fit,
    preserving their aspect ratio. The map is sampled bilinearly at the centres of cells of `stride` image pixels; a ViT
    with patches of 16 pixels returns its tokens unchanged at stride 16, if images fit.

    Attributes:
        channels: channels of the map.
    """

    def __init__(self, network: Extractor, side: int, stride: int) -> None:
        super().__init__()
        self.network, self.side, self.stride = network, side, stride
        with torch.inference_mode():
            self.channels = network.eval().maps(torch.zeros(1, 3, side, side, device=device_of(network))).shape[1]

    def forward(self, images: Tensor) -> Tensor:
        before = images.shape[2:]
        scale = min(1.0, self.side / max(before))
        size = [max(1, round(scale * each)) for each in before]
        if scale < 1:
            images = interpolate(images, size=size, mode="bilinear", align_corners=False, antialias=True)
        square = pad(images, (0, self.side - size[1], 0, self.side - size[0]))
        maps = self.network.maps(square)
        rows, columns = (
            (torch.arange(whole // self.stride, device=images.device) + 0.5) * (self.stride * part / whole)
            for whole, part in zip(before, size, strict=True)
        )  # in pixels of the square
        y, x = torch.meshgrid(rows, columns, indexing="ij")
        places = 2 * torch.stack((x, y), dim=-1) / self.side - 1
        sampled: Tensor = grid_sample(
            maps, places.expand(len(maps), -1, -1, -1).to(maps.dtype), padding_mode="border", align_corners=False
        )
        return sampled


class ChannelNorm(nn.LayerNorm):
    """Layer norm over the channels of a map (b, c, h, w)."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class SimplePyramid(nn.Module):
    """Maps of 256 channels at strides 4, 8, 16 and 32 from the map at stride 16, each computed independently.

    The map is doubled by transposed convolutions (twice for stride 4, with a layer norm and a GELU between), or halved
    by max pooling; a 1×1 and a 3×3 convolution without biases follow, each with a layer norm.

    Attributes:
        channels: channels of the four maps.
    """

    channels = (WIDTH,) * len(STRIDES)

    def __init__(self, source: SquareMap) -> None:
        super().__init__()
        if source.stride != LAST:
            raise UserError(f"a simple feature pyramid starts from a map of stride {LAST}, not {source.stride}")
        self.source: nn.Module = source
        wide, half, quarter = source.channels, max(1, source.channels // 2), max(1, source.channels // 4)
        finest = [_doubling(wide, half), ChannelNorm(half, eps=1e-6), nn.GELU(), _doubling(half, quarter)]
        self.levels = nn.ModuleList(
            nn.Sequential(*before, *_smoothing(channels))
            for before, channels in (
                (finest, quarter),
                ([_doubling(wide, half)], half),
                ([], wide),
                ([nn.MaxPool2d(2)], wide),
            )
        )

    def forward(self, images: Tensor) -> "OrderedDict[str, Tensor]":
        last = self.source(images)
        return OrderedDict((str(place), level(last)) for place, level in enumerate(self.levels))


def _doubling(before: int, after: int) -> nn.Module:
    return nn.ConvTranspose2d(before, after, 2, stride=2)


def _smoothing(channels: int) -> list[nn.Module]:
    return [
        nn.Conv2d(channels, WIDTH, 1, bias=False),
        ChannelNorm(WIDTH, eps=1e-6),
        nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False),
        ChannelNorm(WIDTH, eps=1e-6),
    ]


def square_map(backbone: Backbone, stride: int) -> SquareMap:
    """The last map of a loaded backbone, which shares its weights."""
    if not isinstance(backbone.module, Extractor):
        raise UserError(f"{backbone.spec.id}: gives only one vector per image; boxes and maps need patch features")
    try:
        return SquareMap(backbone.module, backbone.spec.transform.size, stride)
    except UserError as error:
        raise UserError(f"{backbone.spec.id}: {error}") from None

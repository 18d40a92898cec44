"""Images of many sizes to squares of one size, by matrix products on a device: the same bytes as PIL's.

A weight of PIL's has 22 bits after the point. It is cut into a high and a low part of 12 bits at the most, and pixels
have 8: products of such numbers, and sums of them up to 2²⁴, are exact in the 16-bit matrix products of a GPU, which
add up in 32 bits, and in the 32-bit ones of a CPU. So rounding at the end is PIL's rounding, bit for bit, whatever the
order of the sums, as long as a pixel has no more than 32 neighbours (a reduction to an eighth); beyond that, low parts
that all have one sign could lose their last bit of 22.

A product has zeros for all pixels that are no neighbours, some 98 of 100. On a GPU that is cheaper than to gather.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unseen.features.device_memory import sent
from unseen.images.resampling import BITS, Taps, columns_first, crop_start, resized_size, taps
from unseen.images.transform import Transform

LOW = 12
"""Bits of the low part of a weight."""
WASTE = 1.5
"""Images are put together while the block that takes them has no more than so many times their pixels."""


@dataclass(frozen=True, eq=False)
class _Picture:
    """An image as the first pass goes over it: along its rows, or along its columns if those come first.

    Attributes:
        place: among the results.
        pixels: (3, long, along) bytes; `along` is the direction of the first pass.
        first, second: weights of the two passes.
    """

    place: int
    pixels: Tensor
    turned: bool
    first: Taps
    second: Taps


def resized_squares(images: Sequence[Tensor], transform: Transform) -> Tensor:
    """Bytes (n, size, size, 3) of images (3, h, w), all bytes on one device.

    Resized as PIL does and cut out of the middle as torchvision does; only what is cut out is computed.
    """
    size = transform.size
    device = images[0].device
    out = torch.empty(len(images), size, size, 3, dtype=torch.uint8, device=device)
    pictures = [_picture(place, image, transform) for place, image in enumerate(images)]
    for group in _groups(pictures):
        places = sent(torch.tensor([picture.place for picture in group]), device)
        squares = _resized(group, size)  # (n, second, 3, first)
        out[places] = squares.permute(0, 3, 1, 2) if group[0].turned else squares.permute(0, 1, 3, 2)
    return out


def _picture(place: int, image: Tensor, transform: Transform) -> _Picture:
    size = image.shape[2], image.shape[1]
    resized = resized_size(size, transform)
    rows, columns = (
        taps(side, after, crop_start(after, transform.size), transform.size, transform.interpolation)
        for side, after in zip(size, resized, strict=True)
    )
    if columns_first(size, resized):
        return _Picture(place, image.transpose(1, 2), True, columns, rows)
    return _Picture(place, image, False, rows, columns)


def _groups(pictures: Sequence[_Picture]) -> list[list[_Picture]]:
    """Images that are put into one block; those of similar sizes are together."""
    groups: list[list[_Picture]] = []
    sides, pixels = (0, 0), 0
    for picture in sorted(pictures, key=lambda each: (each.turned, each.pixels.shape[2], each.pixels.shape[1])):
        height, width = picture.pixels.shape[1:]
        together = max(sides[0], height), max(sides[1], width)
        pixels += height * width
        fits = groups and together[0] * together[1] * (len(groups[-1]) + 1) <= WASTE * pixels
        if fits and groups[-1][0].turned == picture.turned:
            groups[-1].append(picture)
            sides = together
        else:
            groups.append([picture])
            sides, pixels = (height, width), height * width
    return groups


def _resized(group: Sequence[_Picture], size: int) -> Tensor:
    """(n, second, 3, first) bytes of a group, by two passes."""
    device = group[0].pixels.device
    exact = torch.float16 if device.type == "cuda" else torch.float32
    height, width = (max(picture.pixels.shape[side] for picture in group) for side in (1, 2))
    # What is beyond an image is anything at all, and has no weight.
    block = torch.empty(len(group), height, 3, width, dtype=torch.uint8, device=device)
    for row, picture in enumerate(group):
        h, w = picture.pixels.shape[1:]
        block[row, :h, :, :w] = picture.pixels.transpose(0, 1)
    first = _weights([picture.first for picture in group], width, device, exact)
    sums = _product(block.view(len(group), height * 3, width).to(exact), first.transpose(1, 2))
    between = _rounded(sums[..., :size], sums[..., size:]).view(len(group), height, 3 * size)
    second = _weights([picture.second for picture in group], height, device, exact)
    sums = _product(second, between.to(exact))
    return _rounded(sums[:, :size], sums[:, size:]).view(len(group), size, 3, size)


def _weights(passes: Sequence[Taps], side: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """(n, 2·size, side) matrices of a pass: the high parts of all weights, and below them the low parts."""
    most = max(each.weights.shape[1] for each in passes)
    size = len(passes[0].first)
    weights = np.zeros((len(passes), size, most), dtype=np.int32)
    for row, each in enumerate(passes):
        weights[row, :, : each.weights.shape[1]] = each.weights
    first = sent(torch.from_numpy(np.stack([each.first for each in passes])), device)
    whole = sent(torch.from_numpy(weights), device)
    high = (whole + (1 << LOW - 1)) >> LOW
    parts = torch.cat([high, whole - (high << LOW)], dim=1).to(dtype)
    places = (first[..., None] + torch.arange(most, device=device)).repeat(1, 2, 1)
    # Wider than the side, as weights of 0 may lie beyond it.
    matrices = torch.zeros(len(passes), 2 * size, side + most, dtype=dtype, device=device)
    return matrices.scatter_(2, places, parts)[..., :side]


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Batched products in 32 bits."""
    return torch.bmm(a, b, out_dtype=torch.float32) if a.dtype == torch.float16 else torch.bmm(a, b)


def _rounded(high: Tensor, low: Tensor) -> Tensor:
    """Bytes of floor((high·2¹² + low) / 2²² + ½), cut off at 0 and 255; every step is exact in 32-bit floats."""
    half = torch.tensor(0.5 * (1 << BITS - LOW))  # on the host: a GPU takes it without being waited for
    whole = torch.add(half, low, alpha=2.0**-LOW).floor_().add_(high)
    return whole.mul_(2.0 ** (LOW - BITS)).clamp_(0, 255).to(torch.uint8)

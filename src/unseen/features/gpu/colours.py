"""Conversion from luma and chroma to RGB in libjpeg's integer arithmetic, so that the bytes equal libjpeg's.

Chroma at half the width, or at half the width and height, is upsampled by a triangle filter (libjpeg's "fancy
upsampling"): a new sample is ¾ of the nearest sample and ¼ of the next nearest, along columns and along rows. Rounding
alternates to avoid a bias. Edges are replicated.
"""

import torch
from torch import Tensor

from unseen.features.device_memory import sent
from unseen.features.gpu.triton_there import use_triton

# 65,536 times 1.402, 0.71414, 0.34414 and 1.772.
RED_CR, GREEN_CR, GREEN_CB, BLUE_CB = 91881, 46802, 22554, 116130
Sampling = tuple[int, int]
"""Pixels per chroma sample, along rows and along columns: (1, 1), (2, 1) or (2, 2)."""


def rgb(luma: Tensor, chroma: Tensor, sizes: list[tuple[int, int]], sampling: Sampling, dtype: torch.dtype) -> Tensor:
    """(n, h, 3, w) integers from 0 to 255 in a given dtype, for images stored in one block.

    Args:
        luma: (n, h, w) bytes.
        chroma: (n, 2, h / v, w / u) bytes, rounded up.
        sizes: width and height of each image; values outside of an image are undefined, here and in the result.
    """
    n, height, width = luma.shape
    across, down = sampling
    sides = torch.tensor([(-(-w // across), -(-h // down)) for w, h in sizes], dtype=torch.int32)
    sides = sent(sides, luma.device)
    if not use_triton(luma):
        return _plain(luma, chroma, sides, sampling).to(dtype)
    from unseen.features.gpu.pixels_triton import BLOCK, rgb_kernel

    out = torch.empty(n, height, 3, width, dtype=dtype, device=luma.device)
    rgb_kernel[(n * height, -(-width // BLOCK))](
        luma, chroma, sides, out, height, width, *chroma.shape[2:], ACROSS=across, DOWN=down, BLOCK=BLOCK
    )
    return out


def _plain(luma: Tensor, chroma: Tensor, sides: Tensor, sampling: Sampling) -> Tensor:
    across, down = sampling
    height, width = luma.shape[1:]
    values = chroma.int()
    if down == 2:
        rows, near = _neighbours(height, sides[:, 1])
        values = 3 * values[:, :, rows] + _taken(values, near, 2)
    if across == 2:
        columns, near = _neighbours(width, sides[:, 0])
        odd = torch.arange(width, device=luma.device) % 2
        values = 3 * values[..., columns] + _taken(values, near, 3)
        values = (values + 8 - odd) >> 4 if down == 2 else (values + 1 + odd) >> 2
    cb, cr = (values - 128).unbind(1)
    half, y = 1 << 15, luma.int()
    red = y + ((RED_CR * cr + half) >> 16)
    green = y + ((half - GREEN_CB * cb - GREEN_CR * cr) >> 16)
    blue = y + ((BLUE_CB * cb + half) >> 16)
    return torch.stack([red, green, blue], dim=2).clamp_(0, 255)


def _neighbours(length: int, sides: Tensor) -> tuple[Tensor, Tensor]:
    """(length,) index of the nearest sample for each new one, and (n, length) of the next, clamped to the edge."""
    places = torch.arange(length, device=sides.device)
    within = places // 2
    near = (within + places % 2 * 2 - 1).clamp_(min=0)
    return within, torch.minimum(near, sides[:, None].long() - 1)


def _taken(values: Tensor, places: Tensor, side: int) -> Tensor:
    """Values at indices (n, length) along a side."""
    shape = [len(places), 1, 1, 1]
    shape[side] = places.shape[1]
    wanted = [*values.shape]
    wanted[side] = places.shape[1]
    return values.gather(side, places.view(shape).expand(wanted))

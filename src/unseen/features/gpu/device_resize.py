"""Resizing images of many sizes to squares of one size, by matrix products on a device: the bytes equal PIL's.

PIL's weights have 22 fractional bits. Each is split into a high and a low part of at most 12 bits, and pixels have 8:
products of such numbers, and sums of them up to 2²⁴, are exact in a GPU's 16-bit matrix products with 32-bit
accumulation, and in a CPU's 32-bit ones. The final rounding is therefore bit-identical to PIL's for any order of
summation, as long as a pixel has at most 32 neighbours (a reduction to an eighth); beyond that, low parts that all have
the same sign could lose their last bit of 22.

The matrices are about 98% zeros, for all pixels that are not neighbours. On a GPU, this is cheaper than gathering.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from unseen.data.core.decoding.resampling import BITS, Taps, columns_first, crop_start, resized_size, taps
from unseen.data.core.decoding.transform import Transform
from unseen.features.device_memory import sent
from unseen.features.gpu.triton_there import use_triton

LOW = 12
"""Bits of the low part of a weight."""
WASTE = 1.5
"""Images share a block as long as it has at most this many times their pixels."""
Size = tuple[int, int]
"""Width and height."""


def together(sizes: Sequence[Size]) -> list[list[int]]:
    """Indices of images that share one block: those of similar sizes."""
    groups: list[list[int]] = []
    sides, pixels = (0, 0), 0
    for number in sorted(range(len(sizes)), key=sizes.__getitem__):
        width, height = sizes[number]
        block = max(sides[0], width), max(sides[1], height)
        pixels += width * height
        if groups and block[0] * block[1] * (len(groups[-1]) + 1) <= WASTE * pixels:
            groups[-1].append(number)
            sides = block
        else:
            groups.append([number])
            sides, pixels = (width, height), width * height
    return groups


def exact_dtype(device: torch.device) -> torch.dtype:
    """Dtype of pixels for which products with parts of weights are exact on a device."""
    return torch.float16 if device.type == "cuda" else torch.float32


def resized_squares(block: Tensor, sizes: Sequence[Size], transform: Transform) -> Tensor:
    """Bytes (n, size, size, 3) of images stored in one block.

    Resized as in PIL and centre-cropped as in torchvision; only the crop is computed.

    Args:
        block: (n, h, 3, w) integers from 0 to 255, of `exact_dtype`. Images start at the corner; values outside of an
            image may be anything finite.
    """
    after = [resized_size(size, transform) for size in sizes]
    both = [*zip(sizes, after, strict=True)]
    turned = [columns_first(size, resized) for size, resized in both]
    passes = [[_pass(size[side], resized[side], transform) for size, resized in both] for side in (0, 1)]
    if not any(turned):
        return _resized(block, passes[0], passes[1], transform.size).permute(0, 1, 3, 2).contiguous()
    out = torch.empty(len(sizes), transform.size, transform.size, 3, dtype=torch.uint8, device=block.device)
    for way in (False, True):
        rows = [row for row, each in enumerate(turned) if each == way]
        if not rows:
            continue
        chosen = sent(torch.tensor(rows), block.device)
        along, down = ([each[row] for row in rows] for each in (passes[::-1] if way else passes))
        part = block[chosen].permute(0, 3, 2, 1).contiguous() if way else block[chosen]
        squares = _resized(part, along, down, transform.size)
        out[chosen] = squares.permute(0, 3, 1, 2) if way else squares.permute(0, 1, 3, 2)
    return out


def _pass(side: int, resized: int, transform: Transform) -> Taps:
    return taps(side, resized, crop_start(resized, transform.size), transform.size, transform.interpolation)


def _resized(block: Tensor, along: Sequence[Taps], down: Sequence[Taps], size: int) -> Tensor:
    """(n, size, 3, size) bytes, by one pass along the rows of a block and one along its columns."""
    n, height, _, width = block.shape
    first = _weights(along, width, block.device, block.dtype)
    sums = _product(block.view(n, height * 3, width), first.transpose(1, 2))
    between = rounded(sums.view(-1, 2, size), block.dtype).view(n, height, 3 * size)
    second = _weights(down, height, block.device, block.dtype)
    sums = _product(second, between)
    return rounded(sums.view(n, 2, -1), torch.uint8).view(n, size, 3, size)


def _weights(passes: Sequence[Taps], side: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """(n, 2·size, side) matrices of a pass: the high parts of all weights, followed by the low parts."""
    row_of = {each: row for row, each in enumerate(dict.fromkeys(passes))}
    size, most = len(passes[0].first), max(each.packed.shape[1] for each in row_of)
    packed = np.zeros((len(row_of), size, most), dtype=np.int32)
    for each, row in row_of.items():
        packed[row, :, : each.packed.shape[1]] = each.packed
    matrices = _matrices(sent(torch.from_numpy(packed), device), side, dtype)
    if len(row_of) == 1:
        return matrices.expand(len(passes), -1, -1)
    return matrices[sent(torch.tensor([row_of[each] for each in passes]), device)]


def _matrices(packed: Tensor, side: int, dtype: torch.dtype) -> Tensor:
    """Matrices of passes given as (n, size, 1 + k): the first neighbour of each output pixel, and weights."""
    n, size, most = packed.shape
    if use_triton(packed):
        from unseen.features.gpu.pixels_triton import WIDE, weights_kernel

        out = torch.empty(n, 2 * size, side, dtype=dtype, device=packed.device)
        weights_kernel[(n * size, -(-side // WIDE))](packed, out, size, most - 1, side, LOW=LOW, BLOCK=WIDE)
        return out
    first, whole = packed[..., :1].long(), packed[..., 1:]
    high = (whole + (1 << LOW - 1)) >> LOW
    parts = torch.cat([high, whole - (high << LOW)], dim=1).to(dtype)
    places = (first + torch.arange(most - 1, device=packed.device)).repeat(1, 2, 1)
    # Wider than the side, since weights of 0 may lie beyond it.
    matrices = torch.zeros(n, 2 * size, side + most, dtype=dtype, device=packed.device)
    return matrices.scatter_(2, places, parts)[..., :side].contiguous()


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Batched products accumulated in 32 bits."""
    return torch.bmm(a, b, out_dtype=torch.float32) if a.dtype == torch.float16 else torch.bmm(a, b)


def rounded(sums: Tensor, dtype: torch.dtype) -> Tensor:
    """(rows, length) floor((high·2¹² + low) / 2²² + ½), clipped to 0 … 255, from (rows, 2, length) sums.

    Without Triton, computed in 32-bit floats, which are exact at every step.
    """
    if use_triton(sums):
        from unseen.features.gpu.pixels_triton import ROUNDED, rounded_kernel

        out = torch.empty(len(sums), sums.shape[2], dtype=dtype, device=sums.device)
        rounded_kernel[(-(-out.numel() // ROUNDED),)](
            sums, out, sums.shape[2], out.numel(), BITS=BITS, LOW=LOW, BLOCK=ROUNDED
        )
        return out
    high, low = sums.unbind(1)
    half = torch.tensor(0.5 * (1 << BITS - LOW))  # on the host, so that a GPU accepts it without synchronisation
    whole = torch.add(half, low, alpha=2.0**-LOW).floor_().add_(high)
    return whole.mul_(2.0 ** (LOW - BITS)).clamp_(0, 255).to(torch.uint8).to(dtype)

"""Triton kernels for `colours` and `device_resize`; imported only if Triton is available."""

import triton
import triton.language as tl

BLOCK = 256
ROUNDED, WIDE = 1024, 512


@triton.jit
def rgb_kernel(
    luma, chroma, sides, out,
    height, width, chroma_height, chroma_width,
    ACROSS: tl.constexpr, DOWN: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Each program handles BLOCK pixels of a row of an image."""
    row = tl.program_id(0)
    image = row // height
    y = row % height
    x = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = x < width
    last_column = tl.load(sides + 2 * image) - 1
    last_row = tl.load(sides + 2 * image + 1) - 1
    light = tl.load(luma + row.to(tl.int64) * width + x, mask=inside, other=0).to(tl.int32)
    within = x // ACROSS
    near = tl.minimum(tl.maximum(within + x % 2 * 2 - 1, 0), last_column)
    here = y // DOWN
    next_row = tl.minimum(tl.maximum(here + y % 2 * 2 - 1, 0), last_row)
    first = chroma + image.to(tl.int64) * 2 * chroma_height * chroma_width
    second = first + chroma_height * chroma_width
    blue = tl.load(first + here * chroma_width + within, mask=inside, other=128).to(tl.int32)
    red = tl.load(second + here * chroma_width + within, mask=inside, other=128).to(tl.int32)
    if ACROSS == 2:
        blue_near = tl.load(first + here * chroma_width + near, mask=inside, other=128).to(tl.int32)
        red_near = tl.load(second + here * chroma_width + near, mask=inside, other=128).to(tl.int32)
        if DOWN == 2:
            blue = 3 * blue + tl.load(first + next_row * chroma_width + within, mask=inside, other=128).to(tl.int32)
            red = 3 * red + tl.load(second + next_row * chroma_width + within, mask=inside, other=128).to(tl.int32)
            blue_near = 3 * blue_near + tl.load(first + next_row * chroma_width + near, mask=inside, other=128).to(
                tl.int32
            )
            red_near = 3 * red_near + tl.load(second + next_row * chroma_width + near, mask=inside, other=128).to(
                tl.int32
            )
            blue = (3 * blue + blue_near + 8 - x % 2) >> 4
            red = (3 * red + red_near + 8 - x % 2) >> 4
        else:
            blue = (3 * blue + blue_near + 1 + x % 2) >> 2
            red = (3 * red + red_near + 1 + x % 2) >> 2
    blue -= 128
    red -= 128
    at = out + row.to(tl.int64) * 3 * width + x
    value = light + ((91881 * red + 32768) >> 16)
    tl.store(at, tl.minimum(tl.maximum(value, 0), 255).to(out.dtype.element_ty), mask=inside)
    value = light + ((32768 - 22554 * blue - 46802 * red) >> 16)
    tl.store(at + width, tl.minimum(tl.maximum(value, 0), 255).to(out.dtype.element_ty), mask=inside)
    value = light + ((116130 * blue + 32768) >> 16)
    tl.store(at + 2 * width, tl.minimum(tl.maximum(value, 0), 255).to(out.dtype.element_ty), mask=inside)


@triton.jit
def rounded_kernel(sums, out, length, count, BITS: tl.constexpr, LOW: tl.constexpr, BLOCK: tl.constexpr):
    """Each program handles BLOCK results in rows of `length`; a row of sums has `length` high ones, then `length` low
    ones.
    """
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    at = sums + place + place // length * length
    high = tl.load(at, mask=inside, other=0.0).to(tl.int32)
    low = tl.load(at + length, mask=inside, other=0.0).to(tl.int32)
    value = ((high << LOW) + low + (1 << (BITS - 1))) >> BITS
    tl.store(out + place, tl.minimum(tl.maximum(value, 0), 255).to(out.dtype.element_ty), mask=inside)


@triton.jit
def weights_kernel(packed, out, size, most, side, LOW: tl.constexpr, BLOCK: tl.constexpr):
    """Each program handles BLOCK values in the rows of the high and low parts, for one output pixel."""
    row = tl.program_id(0)
    x = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    start = packed + row.to(tl.int64) * (most + 1)
    place = x - tl.load(start)
    whole = tl.load(start + 1 + place, mask=(place >= 0) & (place < most), other=0)
    high = (whole + (1 << (LOW - 1))) >> LOW
    at = out + ((row // size).to(tl.int64) * 2 * size + row % size) * side + x
    tl.store(at, high.to(out.dtype.element_ty), mask=x < side)
    tl.store(at + size * side, (whole - (high << LOW)).to(out.dtype.element_ty), mask=x < side)

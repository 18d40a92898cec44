"""The Triton kernels; imported only if Triton is available. What they compute is documented where they are called."""

import triton
import triton.language as tl


@triton.jit
def softmax_gradient_kernel(
    scores, bias, labels, out,
    bias_stride, rows, columns, classes, width, scale,
    BLOCK: tl.constexpr, BIASED: tl.constexpr,
):  # fmt: skip
    """Each program handles one row of one trial."""
    row = tl.program_id(0)
    first = tl.program_id(1) * width
    place = tl.arange(0, BLOCK)
    # The mask ends at a multiple of 16, so that loads stay wide; padding classes get a score of −∞.
    inside = place < width
    at = row.to(tl.int64) * columns + first + place
    logits = tl.load(scores + at, mask=inside, other=0.0).to(tl.float32)
    if BIASED:
        start = (row // rows).to(tl.int64) * bias_stride + first
        logits += tl.load(bias + start + place, mask=inside, other=0.0).to(tl.float32)
    logits = tl.where(place < classes, logits, -float("inf"))
    powers = tl.exp(logits - tl.max(logits, 0))
    label = tl.load(labels + row)
    gradient = powers * (1.0 / tl.sum(powers, 0)) - tl.where(place == label, 1.0, 0.0)
    gradient = tl.where(label < 0, 0.0, gradient * scale)
    tl.store(out + at, gradient.to(out.dtype.element_ty), mask=inside)


@triton.jit
def add_gradient_kernel(
    copy, gradient, rates, factor, scales,
    rows, columns,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Each program handles COLUMNS columns of ROWS rows of one problem."""
    across = columns // COLUMNS
    first = tl.program_id(0) // across * ROWS
    problem = first // rows
    column = tl.program_id(0) % across * COLUMNS + tl.arange(0, COLUMNS)
    rate = tl.load(rates + problem * columns + column) * tl.load(factor) * tl.load(scales + problem)
    for i in tl.static_range(ROWS):
        at = (first + i).to(tl.int64) * columns + column
        w = tl.load(copy + at).to(tl.float32) - rate * tl.load(gradient + at).to(tl.float32)
        tl.store(copy + at, w.to(copy.dtype.element_ty))


@triton.jit
def pair_update_kernel(
    copy0, copy1, low, velocity, gradient0, gradient1, rates, decays, factors, scales0, scales1, momentum, greatest,
    rows, columns,
    HALVES: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Each program handles COLUMNS columns of ROWS rows of one problem."""
    across = columns // COLUMNS
    first = tl.program_id(0) // across * ROWS
    problem = first // rows
    column = tl.program_id(0) % across * COLUMNS + tl.arange(0, COLUMNS)
    rate = tl.load(rates + problem * columns + column)
    decay = tl.load(decays + problem * columns + column)
    rate0, rate1, rate2 = rate * tl.load(factors), rate * tl.load(factors + 1), rate * tl.load(factors + 2)
    scale0, scale1 = tl.load(scales0 + problem), tl.load(scales1 + problem)
    for i in tl.static_range(ROWS):
        at = (first + i).to(tl.int64) * columns + column
        w = tl.load(copy0 + at).to(tl.float32)
        if HALVES:
            w += tl.load(low + at).to(tl.float32) * (1.0 / 2048)
        v = tl.load(velocity + at)
        g0 = tl.load(gradient0 + at).to(tl.float32) * scale0
        g1 = tl.load(gradient1 + at).to(tl.float32) * scale1
        v = momentum * v + g0 + decay * w
        after = w - rate0 * v
        v = tl.where(tl.abs(after) <= greatest, v, float("inf"))
        w = tl.where(tl.abs(after) <= greatest, after, w)
        v = momentum * v + g1 + decay * w
        after = w - rate1 * v
        v = tl.where(tl.abs(after) <= greatest, v, float("inf"))
        w = tl.where(tl.abs(after) <= greatest, after, w)
        high = w.to(copy0.dtype.element_ty)
        tl.store(copy0 + at, high)
        if HALVES:
            tl.store(low + at, ((w - high.to(tl.float32)) * 2048).to(low.dtype.element_ty))
        tl.store(velocity + at, v)
        ahead = w - rate2 * (momentum * v + decay * w)
        tl.store(copy1 + at, ahead.to(copy1.dtype.element_ty))


@triton.jit
def momentum_update_kernel(
    high, low, velocity, rates, greatest,
    rows, columns,
    HALVES: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Each program handles COLUMNS columns of ROWS rows."""
    across = columns // COLUMNS
    first = tl.program_id(0) // across * ROWS
    column = tl.program_id(0) % across * COLUMNS + tl.arange(0, COLUMNS)
    rate = tl.load(rates + column)
    for i in tl.static_range(ROWS):
        at = (first + i).to(tl.int64) * columns + column
        w = tl.load(high + at).to(tl.float32)
        if HALVES:
            w += tl.load(low + at).to(tl.float32) * (1.0 / 2048)
        after = w - rate * tl.load(velocity + at)
        fine = tl.abs(after) <= greatest
        tl.store(velocity + at, float("inf"), mask=fine == 0)
        w = tl.where(fine, after, w)
        rounded = w.to(high.dtype.element_ty)
        tl.store(high + at, rounded)
        if HALVES:
            tl.store(low + at, ((w - rounded.to(tl.float32)) * 2048).to(low.dtype.element_ty))

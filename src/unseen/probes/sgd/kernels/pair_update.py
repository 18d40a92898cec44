"""Two steps of SGD with momentum in one pass over the weights.

A step of `torch.optim.SGD` is  v ← m·v + g + λ·w,  w ← w − η·v. With the gradients g₀, g₁ of two steps available, both
steps are done while w and v are in registers. The pass also writes the factors of the next two steps: w itself, and w
after the next step without its gradient,  w − η₂·(m·v + λ·w).

For 16-bit products a weight is stored as two 16-bit halves, w = high + low / 2¹¹, with about the precision of float32,
and the high half is the copy used in products: the two steps move 22 bytes per weight (8 for the halves, 8 for the
momentum, 4 for the gradients, 2 for the second copy), instead of 40 for two single steps that also write a 16-bit copy.
"""

import torch
from torch import Tensor

from unseen.probes.sgd.kernels.dispatch import use_triton
from unseen.probes.sgd.kernels.layout import TILE, rows_together

LOW = 2.0**-11
"""Factor on the low half: the last digit of the high one."""


def pair_update(
    copies: Tensor,
    low: Tensor,
    velocity: Tensor,
    gradients: Tensor,
    rates: Tensor,
    decays: Tensor,
    factors: Tensor,
    scales: Tensor,
    *,
    momentum: float,
) -> None:
    """Update weights and velocity in place by two steps.

    Args:
        copies: (2, s, d, columns), of any float dtype: for each of the next two steps, the weights without that pair's
            gradients; the first are the weights themselves, or their high half. All tensors are contiguous.
        low: (s, d, columns) like `copies`, the low half of the weights; 0 if the copies are not 16-bit numbers.
        velocity: (s, d, columns) float32, or float64 with float64 copies.
        gradients: (2, s, d, columns) of the two steps, of any float dtype, before multiplication by their scale.
        rates, decays: (s, columns), of the trial that each column belongs to, in the dtype of the velocity.
        factors: (3,) on the rates in these two steps and in the next one.
        scales: (2, s) on the gradients.

    A weight that would become infinite keeps its value, while its velocity becomes infinite or NaN: since a non-finite
    score makes all gradients of its trial NaN, such a trial does not change from then on.
    """
    arguments = (copies, low, velocity, gradients, rates, decays, factors, scales, momentum)
    if use_triton(velocity):
        _triton(*arguments)
    else:
        _plain(*arguments)


def join(high: Tensor, low: Tensor) -> Tensor:
    """The weights that two halves represent, in float32 (or float64)."""
    return high.to(torch.promote_types(high.dtype, torch.float32), copy=True).add_(low, alpha=LOW)


def part(weights: Tensor, high: Tensor, low: Tensor) -> None:
    """Write weights to their two halves."""
    high.copy_(weights)
    low.copy_((weights - high) / LOW)


def _plain(
    copies: Tensor,
    low: Tensor,
    velocity: Tensor,
    gradients: Tensor,
    rates: Tensor,
    decays: Tensor,
    factors: Tensor,
    scales: Tensor,
    momentum: float,
) -> None:
    rate, decay, greatest = rates[:, None], decays[:, None], torch.finfo(copies.dtype).max
    weights = join(copies[0], low)
    for step in (0, 1):
        gradient = gradients[step].to(weights.dtype) * scales[step][:, None, None]
        velocity.copy_(momentum * velocity + gradient + decay * weights)
        after = weights - rate * factors[step] * velocity
        fine = after.abs() <= greatest
        velocity.masked_fill_(~fine, torch.inf)
        weights = torch.where(fine, after, weights)
    part(weights, copies[0], low)
    copies[1] = weights - rate * factors[2] * (momentum * velocity + decay * weights)


def _triton(
    copies: Tensor,
    low: Tensor,
    velocity: Tensor,
    gradients: Tensor,
    rates: Tensor,
    decays: Tensor,
    factors: Tensor,
    scales: Tensor,
    momentum: float,
) -> None:
    from unseen.probes.sgd.kernels.triton_code import pair_update_kernel

    problems, rows, columns = velocity.shape
    together = rows_together(rows)
    pair_update_kernel[(columns // TILE * problems * rows // together,)](
        *copies,
        low,
        velocity,
        *gradients,
        rates,
        decays,
        factors,
        *scales,
        momentum,
        torch.finfo(copies.dtype).max,
        rows,
        columns,
        HALVES=copies.dtype == torch.float16,
        ROWS=together,
        COLUMNS=TILE,
        num_warps=1,
    )

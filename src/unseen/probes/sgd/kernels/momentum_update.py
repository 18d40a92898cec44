"""A step of SGD with momentum in one pass over the weights:  w ← w − η·v,  where v already has the new gradient.

In 16-bit products the weights are kept as two halves (`pair_update`), which moves 12 bytes per weight: 4 for the
velocity, which is read, and 8 for the halves.
"""

import torch
from torch import Tensor

from unseen.probes.sgd.kernels.dispatch import use_triton
from unseen.probes.sgd.kernels.layout import TILE, rows_together
from unseen.probes.sgd.kernels.pair_update import join, part


def momentum_update(high: Tensor, low: Tensor, velocity: Tensor, rates: Tensor) -> None:
    """Update weights in place.

    Args:
        high: (d, columns) weights, or the high half of 16-bit ones. All tensors are contiguous.
        low: like `high`, the low half; empty if there is none.
        velocity: (d, columns) in at least 32 bits.
        rates: (columns,) in the dtype of the velocity.

    From a step after which a weight would not be finite, that weight or its velocity is not finite.
    """
    if use_triton(velocity):
        _triton(high, low, velocity, rates)
    else:
        _plain(high, low, velocity, rates)


def _plain(high: Tensor, low: Tensor, velocity: Tensor, rates: Tensor) -> None:
    if len(low) == 0:
        high.addcmul_(velocity, rates, value=-1)
        return
    weights = join(high, low)
    after = torch.addcmul(weights, velocity, rates, value=-1)
    fine = after.abs() <= torch.finfo(high.dtype).max
    velocity.masked_fill_(~fine, torch.inf)
    part(torch.where(fine, after, weights), high, low)


def _triton(high: Tensor, low: Tensor, velocity: Tensor, rates: Tensor) -> None:
    from unseen.probes.sgd.kernels.triton_code import momentum_update_kernel

    rows, columns = velocity.shape
    together = rows_together(rows)
    momentum_update_kernel[(columns // TILE * rows // together,)](
        high,
        low,
        velocity,
        rates,
        torch.finfo(high.dtype).max,
        rows,
        columns,
        HALVES=len(low) > 0,
        ROWS=together,
        COLUMNS=TILE,
        num_warps=1,
    )

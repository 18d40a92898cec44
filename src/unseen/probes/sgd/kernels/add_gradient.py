"""The weights of a step, from a copy that lacks the gradient of the previous step.

6 bytes per weight in 16 bits, where an update of weights and momentum moves 18.
"""

from torch import Tensor

from unseen.probes.sgd.kernels.dispatch import use_triton
from unseen.probes.sgd.kernels.layout import TILE, rows_together


def add_gradient(copy: Tensor, gradient: Tensor, rates: Tensor, factor: Tensor, scales: Tensor) -> None:
    """copy ← copy − rate · factor · scale · gradient.

    Args:
        copy, gradient: (s, d, columns) of any float dtype, contiguous.
        rates: (s, columns).
        factor: (1,) on the rates.
        scales: (s,) on the gradients.
    """
    if use_triton(copy):
        _triton(copy, gradient, rates, factor, scales)
    else:
        _plain(copy, gradient, rates, factor, scales)


def _plain(copy: Tensor, gradient: Tensor, rates: Tensor, factor: Tensor, scales: Tensor) -> None:
    copy.copy_(copy - (rates * factor * scales[:, None])[:, None] * gradient)


def _triton(copy: Tensor, gradient: Tensor, rates: Tensor, factor: Tensor, scales: Tensor) -> None:
    from unseen.probes.sgd.kernels.triton_code import add_gradient_kernel

    problems, rows, columns = copy.shape
    together = rows_together(rows)
    add_gradient_kernel[(columns // TILE * problems * rows // together,)](
        copy, gradient, rates, factor, scales, rows, columns, ROWS=together, COLUMNS=TILE, num_warps=1
    )

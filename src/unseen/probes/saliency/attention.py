"""Attention maps and their diffusion, from the errors caused by masks."""

from torch import Tensor
from torch.nn.functional import avg_pool2d

from unseen.probes.saliency.grid import Grid


def relative_errors(occluded: Tensor, clean: Tensor) -> Tensor:
    """(b,) root relative squared errors √(Σ(f − f′)² / Σ(f − f̄)²) of features (b, d) relative to the clean ones (d,).

    f̄ is the mean of the clean features over their d dimensions, so that the scale of features does not matter.
    """
    f = clean.double()
    scale = (f - f.mean()).square().sum()
    differences = (occluded.float() - clean.float()).double().square().sum(dim=1)
    return (differences / scale).sqrt()


def attention_map(errors: Tensor, grid: Grid, size: int) -> Tensor:
    """(size, size) mean over the masks that cover a pixel, from the errors (n, n) of the grid's masks, row by row.

    Pixel p of a side is covered by the masks ⌊p/stride⌋ to ⌊p/stride⌋ + mask/stride − 1, so the mean is a box filter
    over masks, the same for all pixels of a square of stride × stride.
    """
    side = grid.side(size)
    if errors.shape != (side, side):
        raise ValueError(f"expected the errors of {side} × {side} masks, not {tuple(errors.shape)}")
    means = avg_pool2d(errors.double()[None, None], grid.cover, stride=1)[0, 0]
    wide = means.repeat_interleave(grid.stride, dim=0).repeat_interleave(grid.stride, dim=1)
    return wide[:size, :size]


def diffusion(attention: Tensor) -> float:
    """Share of pixels with attention above the mean of the map: larger if attention is more spread out."""
    return float((attention > attention.mean()).double().mean())

"""Features of one image behind every mask of a grid, computed on the device of the image."""

from collections.abc import Callable
from math import ceil

import torch
from torch import Tensor

from unseen.errors import UserError, setting
from unseen.probes.saliency.attention import relative_errors
from unseen.probes.saliency.grid import Grid

Features = Callable[[Tensor], Tensor]
"""Normalised images (b, 3, s, s) → features (b, d)."""


def occluded(image: Tensor, grid: Grid, places: Tensor) -> Tensor:
    """(b, 3, s, s), channels last in memory: an image (3, s, s) behind the masks at some positions, 0 under the mask.

    Args:
        places: (b,) numbers of masks, row by row; −1 for no mask.
    """
    size, side = image.shape[-1], grid.side(image.shape[-1])
    pixels = torch.arange(size, device=image.device)

    def inside(place: Tensor) -> Tensor:
        start = torch.where(places < 0, size, grid.start(place))[:, None]
        return (pixels >= start) & (pixels < start + grid.mask)

    hidden = inside(places.div(side, rounding_mode="floor"))[:, :, None] & inside(places % side)[:, None]
    return (image.permute(1, 2, 0)[None] * ~hidden[..., None]).permute(0, 3, 1, 2)


def occlusion_errors(
    features: Features, image: Tensor, grid: Grid, batch: int, *, step: Callable[[int], None] = lambda done: None
) -> Tensor:
    """(n, n) root relative squared errors of a backbone's features behind every mask of a grid, row by row.

    The clean image is in the first batch, and all batches have the same size, since kernels chosen by size round alike.

    Args:
        image: (3, s, s) normalised, on the device of the backbone.
        batch: maximum number of images at once.
        step: called with the number of masks done.

    Raises:
        UserError: if features are not finite, or equal in all dimensions.
    """
    side = grid.side(image.shape[-1])
    total = side**2 + 1
    each = ceil(total / ceil(total / batch))
    errors: list[Tensor] = []
    clean: Tensor | None = None
    for first in range(-1, side**2, each):
        places = torch.arange(first, first + each, device=image.device)
        masked = features(occluded(image, grid, places.where(places < side**2, -1)))
        if clean is None:
            clean = masked[0]
            _refuse_unusable(clean)
        errors.append(relative_errors(masked, clean))
        step(min(first + each, side**2))
    values = torch.cat(errors)[1:total]
    if not values.isfinite().all():
        raise UserError(f"its features behind a mask are not finite numbers; try {setting('precision', 'single')}")
    return values.reshape(side, side)


def _refuse_unusable(features: Tensor) -> None:
    if not features.isfinite().all():
        single = setting("precision", "single")
        raise UserError(f"its features are not finite numbers; try {single}, or check its weights")
    if features.numel() < 2 or not features.float().std() > 0:
        raise UserError("its features are the same in all dimensions, so that there is no scale for errors")

"""What is done to training images before a step, on the device, for a whole batch at once."""

from math import log
from typing import Literal, get_args

import torch
from torch import Generator, Tensor
from torch.nn.functional import grid_sample

from unseen.errors import UserError

Augment = Literal["crop+flip", "centre"]
"""A random part of the image, resized, and mirrored or not; or the centre, as it is tested."""
SCALE = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)
ATTEMPTS = 10


def augmented(pixels: Tensor, size: int, augment: Augment, generator: Generator) -> Tensor:
    """(b, size, size, 3) bytes from (b, side, side, 3) bytes, side ≥ size, by one of the ways of `Augment`."""
    side = pixels.shape[1]
    if pixels.shape[1:] != (side, side, 3) or side < size:
        raise UserError(f"images of {tuple(pixels.shape[1:])} numbers: needed are squares of at least {size} pixels")
    if augment == "centre":
        start = round((side - size) / 2)
        return pixels[:, start : start + size, start : start + size]
    if augment != "crop+flip":
        raise UserError(f"no augmentation '{augment}'; there are {', '.join(get_args(Augment))}")
    boxes = random_boxes(len(pixels), side, generator)
    mirrored = torch.rand(len(pixels), generator=generator) < 0.5
    return crops(pixels, boxes, mirrored, size)


def random_boxes(count: int, side: int, generator: Generator) -> Tensor:
    """(count, 4) top, left, height, width of parts of squares, drawn as torchvision's `RandomResizedCrop` draws them.

    The share of the area is uniform in `SCALE` and the logarithm of width : height in `RATIO`; of ten draws the first
    that fits into the square is taken, and the whole square if none does.
    """
    area = side**2 * torch.empty(count, ATTEMPTS).uniform_(*SCALE, generator=generator)
    ratio = torch.empty(count, ATTEMPTS).uniform_(log(RATIO[0]), log(RATIO[1]), generator=generator).exp()
    width, height = ((area * factor).sqrt().round().long() for factor in (ratio, 1 / ratio))
    fits = (width <= side) & (height <= side) & (width > 0) & (height > 0)
    first = fits.int().argmax(dim=1, keepdim=True)
    none = ~fits.any(dim=1)
    width, height = (sides.gather(1, first)[:, 0].masked_fill(none, side) for sides in (width, height))
    top, left = ((torch.rand(count, generator=generator) * (side + 1 - sides)).long() for sides in (height, width))
    return torch.stack([top, left, height, width], dim=1)


def crops(pixels: Tensor, boxes: Tensor, mirrored: Tensor, size: int) -> Tensor:
    """Parts of images, (b, size, size, 3) bytes, resized bilinearly without smoothing first.

    Args:
        pixels: (b, side, side, 3) bytes.
        boxes: (b, 4) top, left, height, width; `mirrored`: (b,) which are flipped from left to right.
    """
    boxes, mirrored = boxes.to(pixels.device), mirrored.to(pixels.device)
    top, left, height, width = boxes.T
    y = _places(top, height, size, pixels.shape[1])
    x = _places(left, width, size, pixels.shape[2])
    x = torch.where(mirrored[:, None], x.flip(1), x)
    grid = torch.stack([x[:, None, :].expand(-1, size, -1), y[:, :, None].expand(-1, -1, size)], dim=3)
    images = pixels.permute(0, 3, 1, 2).float()
    found = grid_sample(images, grid, mode="bilinear", align_corners=False)
    return found.round_().clamp_(0, 255).to(torch.uint8).permute(0, 2, 3, 1)


def _places(start: Tensor, length: Tensor, size: int, side: int) -> Tensor:
    """(b, size) where the pixels of a side are sampled, in units of `grid_sample`; never outside the part."""
    start, length = start[:, None].float(), length[:, None].float()
    middle = start + (torch.arange(size, device=start.device) + 0.5) * length / size - 0.5
    inside = torch.minimum(torch.maximum(middle, start), start + length - 1)
    return (2 * inside + 1) / side - 1

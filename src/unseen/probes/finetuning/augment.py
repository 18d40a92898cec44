"""Augmentation of training images, on the device, for a whole batch at once."""

from math import log
from typing import get_args

import torch
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.features.device_memory import sent
from unseen.probes.finetuning.protocol import Augment

SCALE = (0.08, 1.0)
LARGE = (0.9, 1.0)
RATIO = (3 / 4, 4 / 3)
ATTEMPTS = 10


def augmented(pixels: Tensor, proportions: Tensor, size: int, augment: Augment, generator: Generator) -> Tensor:
    """(b, size, size, 3) bytes from (b, side, side, 3) bytes, side ≥ size, by one of the modes of `Augment`.

    Args:
        pixels: for "centre", images as in tests, or larger; otherwise whole images squashed to squares.
        proportions: (b,) width : height of the images before they were squashed; ignored for "centre".
    """
    side = pixels.shape[1]
    if pixels.shape[1:] != (side, side, 3) or side < size:
        raise UserError(f"images of {tuple(pixels.shape[1:])} numbers: needed are squares of at least {size} pixels")
    if augment == "centre":
        start = round((side - size) / 2)
        return pixels[:, start : start + size, start : start + size]
    if augment not in get_args(Augment):
        raise UserError(f"no augmentation '{augment}'; there are {', '.join(get_args(Augment))}")
    flips = augment == "crop+flip"
    boxes = side * random_boxes(proportions, generator, SCALE if flips else LARGE)
    mirrored = torch.rand(len(pixels), generator=generator) < (0.5 if flips else 0)
    return crops(pixels, boxes, mirrored, size)


def random_boxes(proportions: Tensor, generator: Generator, scale: tuple[float, float] = SCALE) -> Tensor:
    """(b, 4) top, left, height, width of crops, as shares of the image's height and width.

    Drawn as in torchvision's `RandomResizedCrop`, but not rounded to pixels. The share of the area is uniform in
    `scale` and the logarithm of width : height in `RATIO`. The first of ten draws that fits into the image is used; if
    none does, the largest central crop with an aspect ratio within `RATIO`.

    Args:
        proportions: (b,) width : height of the images.
    """
    count = len(proportions)
    area = torch.empty(count, ATTEMPTS).uniform_(*scale, generator=generator)
    ratio = torch.empty(count, ATTEMPTS).uniform_(log(RATIO[0]), log(RATIO[1]), generator=generator).exp()
    relative = ratio / proportions[:, None]
    width, height = (area * relative).sqrt(), (area / relative).sqrt()
    fits = (width <= 1) & (height <= 1)
    first = fits.int().argmax(dim=1, keepdim=True)
    width, height = (sides.gather(1, first)[:, 0] for sides in (width, height))
    top, left = (torch.rand(count, generator=generator) * (1 - sides) for sides in (height, width))
    drawn = torch.stack([top, left, height, width], dim=1)
    wide, tall = (RATIO[1] / proportions).clamp(max=1), (proportions / RATIO[0]).clamp(max=1)
    middle = torch.stack([(1 - tall) / 2, (1 - wide) / 2, tall, wide], dim=1)
    return torch.where(fits.any(dim=1, keepdim=True), drawn, middle)


def crops(pixels: Tensor, boxes: Tensor, mirrored: Tensor, size: int) -> Tensor:
    """Crops of images, (b, size, size, 3) bytes, resized bicubically with antialiasing, as in PIL.

    Both sides are resized by a product with a matrix of weights: 6·b·size·side·(side + size) flops.

    Args:
        pixels: (b, side, side, 3) bytes.
        boxes: (b, 4) top, left, height, width in fractional pixels.
        mirrored: (b,) which are flipped horizontally.
    """
    boxes, mirrored = sent(boxes.float(), pixels.device), sent(mirrored, pixels.device)
    top, left, height, width = boxes.T
    rows = _weights(top, height, size, pixels.shape[1])
    columns = _weights(left, width, size, pixels.shape[2])
    columns = torch.where(mirrored[:, None, None], columns.flip(1), columns)
    planes = pixels.permute(0, 3, 1, 2).float()
    across = _as_bytes(planes @ columns.mT[:, None])
    return _as_bytes(rows[:, None] @ across).to(torch.uint8).permute(0, 2, 3, 1)


def _as_bytes(values: Tensor) -> Tensor:
    """Integers from 0 to 255, in place, with halves rounded up: PIL also rounds after the first side."""
    return values.add_(0.5).floor_().clamp_(0, 255)


def _weights(start: Tensor, length: Tensor, size: int, side: int) -> Tensor:
    """(b, size, side): weight of each input pixel in each output pixel of a crop; zero outside of the crop.

    A pixel is weighted by its distance in output pixels, or in input pixels if those are larger: Keys' cubic with a =
    −½, which is 0 from a distance of 2.
    """
    start, length = start[:, None, None], length[:, None, None]
    step = length / size
    middle = start + (torch.arange(size, device=start.device)[:, None] + 0.5) * step
    pixel = torch.arange(side, device=start.device)
    far = ((pixel + 0.5 - middle).abs() / step.clamp(min=1)).clamp(max=2)
    near = (1.5 * far - 2.5) * far * far + 1
    weights = torch.where(far < 1, near, ((-0.5 * far + 2.5) * far - 4) * far + 2)
    weights = weights * ((pixel + 1 > start) & (pixel < start + length))
    return weights / weights.sum(dim=2, keepdim=True)

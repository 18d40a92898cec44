"""Corruptions of ImageNet-C that move pixels or mix them with their neighbours.

Images are extended by reflection beyond their edges.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Pixels = NDArray[np.float64]
TRUNCATE = 4
"""Number of standard deviations at which a Gaussian is truncated."""


def gaussian_blur(pixels: Pixels, deviation: float, _: Generator) -> Pixels:
    """The Gaussian-weighted mean."""
    return _images(_smoothed(_planes(pixels), deviation))


def defocus_blur(pixels: Pixels, parameters: tuple[int, float], _: Generator) -> Pixels:
    """The mean over a disk with a slightly smoothed edge."""
    import torch

    radius, smoothing = parameters
    reach = radius + 2
    y, x = torch.meshgrid(torch.arange(-reach, reach + 1), torch.arange(-reach, reach + 1), indexing="ij")
    disk = (x**2 + y**2 <= radius**2).float()[None, None]
    disk = _smoothed(disk, smoothing)
    return _images(_convolved(_planes(pixels), disk / disk.sum()))


def motion_blur(pixels: Pixels, parameters: tuple[int, float], random: Generator) -> Pixels:
    """The mean of copies of the image along a line at up to 45° from the horizontal, with Gaussian weights."""
    radius, deviation = parameters
    angle = np.deg2rad(random.uniform(-45, 45))
    weights = np.exp(-0.5 * (np.arange(2 * radius + 1) / deviation) ** 2)
    weights /= weights.sum()
    height, width = pixels.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    blurred = np.zeros_like(pixels)
    for steps, weight in enumerate(weights):
        if weight > 1e-6:
            blurred += weight * _sampled(pixels, y - steps * np.sin(angle), x - steps * np.cos(angle))
    return blurred


def zoom_blur(pixels: Pixels, parameters: tuple[float, float], _: Generator) -> Pixels:
    """The mean of the image and of copies magnified about its centre, by 1, 1 + step and so on below `end`."""
    end, step = parameters
    factors = np.arange(1, end, step)
    height, width = pixels.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    middle_y, middle_x = (height - 1) / 2, (width - 1) / 2
    total = pixels.copy()
    for factor in factors:
        total += _sampled(pixels, middle_y + (y - middle_y) / factor, middle_x + (x - middle_x) / factor)
    mean: Pixels = total / (len(factors) + 1)
    return mean


def elastic_transform(pixels: Pixels, parameters: tuple[float, float, float], random: Generator) -> Pixels:
    """A random affine map of three points, followed by a smooth random displacement of every pixel.

    Args:
        parameters: (size of the displacements before smoothing, standard deviation of the smoothing, how far points
            move), in pixels.
    """
    import torch

    size, deviation, shift = parameters
    height, width = pixels.shape[:2]
    centre, third = np.array([height, width]) / 2, min(height, width) / 3
    points = centre + third * np.array([(1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)])
    moved = points + random.uniform(-shift, shift, points.shape)
    affine = np.linalg.solve(np.column_stack([moved, np.ones(3)]), points)  # rows: of y, of x, constant
    noise = torch.from_numpy(random.uniform(-1, 1, (2, 1, height, width))).float()
    dy, dx = (size * field[0].numpy() for field in _smoothed(noise, deviation))
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    y, x = y + dy, x + dx
    places = np.stack([y, x, np.ones_like(y)], axis=-1) @ affine
    return _sampled(pixels, places[..., 0], places[..., 1])


def _sampled(pixels: Pixels, y: Pixels, x: Pixels) -> Pixels:
    """The image sampled at positions (h, w) in pixels, with bilinear interpolation."""
    import torch
    from torch.nn.functional import grid_sample

    height, width = pixels.shape[:2]
    grid = np.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], axis=-1)
    planes = _planes(pixels).transpose(0, 1)
    sampled = grid_sample(planes, torch.from_numpy(grid).float()[None], padding_mode="reflection", align_corners=False)
    return _images(sampled.transpose(0, 1))


def _smoothed(planes: "Tensor", deviation: float) -> "Tensor":
    """Planes (c, 1, h, w) after Gaussian smoothing of the columns and then the rows."""
    import torch

    # A reflection is undefined beyond the opposite edge of the image; a Gaussian that wide is flat there anyway.
    reach = min(int(TRUNCATE * deviation + 0.5), min(planes.shape[-2:]) - 1)
    if reach == 0:
        return planes
    line = torch.exp(-0.5 * (torch.arange(-reach, reach + 1, dtype=torch.float32) / deviation) ** 2)
    line /= line.sum()
    return _convolved(_convolved(planes, line[None, None, :, None]), line[None, None, None, :])


def _convolved(planes: "Tensor", kernel: "Tensor") -> "Tensor":
    """Planes (c, 1, h, w) convolved with a kernel (1, 1, odd, odd)."""
    from torch.nn.functional import conv2d, pad

    above, left = kernel.shape[2] // 2, kernel.shape[3] // 2
    return conv2d(pad(planes, (left, left, above, above), mode="reflect"), kernel)


def _planes(pixels: Pixels) -> "Tensor":
    import torch

    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1), dtype=np.float32))[:, None]


def _images(planes: "Tensor") -> Pixels:
    return planes[:, 0].permute(1, 2, 0).double().numpy()

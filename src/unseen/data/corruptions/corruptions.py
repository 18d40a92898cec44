"""Corruptions of ImageNet-C, reimplemented from the paper with the authors' severities.

15 of the 19: gaussian_noise, shot_noise, impulse_noise, speckle_noise, gaussian_blur, defocus_blur, motion_blur,
zoom_blur, fog, brightness, contrast, saturate, elastic_transform, pixelate, jpeg_compression. Not implemented, only
read from disk: glass_blur, snow, frost (which needs photographs of frost) and spatter. Blurs and fog follow the paper's
description, not the authors' libraries, so accuracies may differ slightly from those on the distributed images.

Each corruption takes pixels (h, w, 3) from 0 to 1, the parameters of a severity and a random generator, and returns
pixels that may lie outside 0 to 1. Hendrycks and Dietterich 2019, Benchmarking Neural Network Robustness.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from unseen.data.corruptions.blurs import defocus_blur, elastic_transform, gaussian_blur, motion_blur, zoom_blur
from unseen.errors import UserError, did_you_mean

Pixels = NDArray[np.float64]
SEVERITIES = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Corruption:
    """A corruption, and its parameters for severities 1 to 5.

    Attributes:
        apply: (pixels, parameters, generator) → pixels.
    """

    apply: Callable[[Pixels, Any, Generator], Pixels]
    severities: tuple[Any, Any, Any, Any, Any]


def corrupt(image: NDArray[np.uint8], name: str, severity: int, random: Generator) -> NDArray[np.uint8]:
    """uint8 pixels (h, w, 3) after a corruption."""
    if name not in CORRUPTIONS:
        raise UserError(f"the corruption '{name}' is not implemented{did_you_mean(name, CORRUPTIONS)}")
    if severity not in SEVERITIES:
        raise UserError(f"severities are from 1 to 5, not {severity}")
    corruption = CORRUPTIONS[name]
    pixels = corruption.apply(image / 255.0, corruption.severities[severity - 1], random)
    result: NDArray[np.uint8] = np.round(pixels.clip(0, 1) * 255).astype(np.uint8)
    return result


def _gaussian_noise(pixels: Pixels, deviation: float, random: Generator) -> Pixels:
    return pixels + random.normal(0, deviation, pixels.shape)


def _shot_noise(pixels: Pixels, photons: float, random: Generator) -> Pixels:
    """Poisson noise: photon counts, with a given mean for a white pixel."""
    return random.poisson(pixels * photons) / photons


def _impulse_noise(pixels: Pixels, share: float, random: Generator) -> Pixels:
    """A given share of all values becomes black or white with equal probability."""
    hit, value = random.random(pixels.shape) < share, random.random(pixels.shape) < 0.5
    return np.where(hit, value.astype(np.float64), pixels)


def _speckle_noise(pixels: Pixels, deviation: float, random: Generator) -> Pixels:
    return pixels * (1 + random.normal(0, deviation, pixels.shape))


def _fog(pixels: Pixels, parameters: tuple[float, float], random: Generator) -> Pixels:
    """Adds clouds, and darkens the result so that the brightest pixel stays in range."""
    thickness, decay = parameters
    height, width = pixels.shape[:2]
    side = 1 << (max(height, width) - 1).bit_length()
    brightest = pixels.max()
    foggy = pixels + thickness * _clouds(side, decay, random)[:height, :width, None]
    darkened: Pixels = foggy * (brightest / (brightest + thickness))
    return darkened


def _clouds(side: int, decay: float, random: Generator) -> Pixels:
    """A periodic fractal height map (side, side) from 0 to 1, by the diamond-square algorithm.

    Each new point is the mean of its known neighbours plus noise, which shrinks by `decay` at every step.
    """
    heights, step, spread = np.zeros((side, side)), side, 1.0
    while step > 1:
        half = step // 2
        corners = heights[::step, ::step]
        pairs = corners + np.roll(corners, -1, axis=0)
        centres = (pairs + np.roll(pairs, -1, axis=1)) / 4
        heights[half::step, half::step] = centres + random.uniform(-spread, spread, centres.shape)
        centres = heights[half::step, half::step]
        beside = corners + np.roll(corners, -1, axis=1) + centres + np.roll(centres, 1, axis=0)
        below = corners + np.roll(corners, -1, axis=0) + centres + np.roll(centres, 1, axis=1)
        heights[::step, half::step] = beside / 4 + random.uniform(-spread, spread, beside.shape)
        heights[half::step, ::step] = below / 4 + random.uniform(-spread, spread, below.shape)
        step, spread = half, spread / decay
    heights -= heights.min()
    clouds: Pixels = heights / heights.max()
    return clouds


def _brightness(pixels: Pixels, added: float, _: Generator) -> Pixels:
    """Adds to the value (HSV) at constant hue and saturation: channels grow in proportion, and black becomes grey."""
    value = pixels.max(axis=2, keepdims=True)
    brighter = np.minimum(value + added, 1)
    changed: Pixels = np.where(value > 0, pixels * brighter / np.where(value > 0, value, 1), brighter)
    return changed


def _contrast(pixels: Pixels, factor: float, _: Generator) -> Pixels:
    mean = pixels.mean(axis=(0, 1))
    scaled: Pixels = (pixels - mean) * factor + mean
    return scaled


def _saturate(pixels: Pixels, parameters: tuple[float, float], _: Generator) -> Pixels:
    """Scales and shifts the saturation (HSV) at constant hue and value; grey pixels shift towards red."""
    factor, added = parameters
    value = pixels.max(axis=2, keepdims=True)
    depth = value - pixels  # of each channel below the largest; the greatest depth over the value is the saturation
    saturation = depth.max(axis=2, keepdims=True) / np.where(value > 0, value, 1)
    wanted = (saturation * factor + added).clip(0, 1)
    coloured = value - depth * wanted / np.where(saturation > 0, saturation, 1)
    red = value * (1 - wanted * np.array([0.0, 1.0, 1.0]))
    changed: Pixels = np.where(saturation > 0, coloured, red)
    return changed


def _pixelate(pixels: Pixels, share: float, _: Generator) -> Pixels:
    """Reduces the resolution by averaging, and enlarges each pixel to a block of the original size."""
    from PIL import Image

    picture = Image.fromarray(np.round(pixels * 255).astype(np.uint8))
    small = picture.resize((int(picture.width * share), int(picture.height * share)), Image.Resampling.BOX)
    return np.asarray(small.resize(picture.size, Image.Resampling.NEAREST)) / 255.0


def _jpeg_compression(pixels: Pixels, quality: int, _: Generator) -> Pixels:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.round(pixels * 255).astype(np.uint8)).save(buffer, "JPEG", quality=quality)
    with Image.open(buffer, formats=("JPEG",)) as picture:
        return np.asarray(picture.convert("RGB")) / 255.0


CORRUPTIONS: dict[str, Corruption] = {
    "gaussian_noise": Corruption(_gaussian_noise, (0.08, 0.12, 0.18, 0.26, 0.38)),
    "shot_noise": Corruption(_shot_noise, (60, 25, 12, 5, 3)),
    "impulse_noise": Corruption(_impulse_noise, (0.03, 0.06, 0.09, 0.17, 0.27)),
    "speckle_noise": Corruption(_speckle_noise, (0.15, 0.2, 0.35, 0.45, 0.6)),
    "gaussian_blur": Corruption(gaussian_blur, (1, 2, 3, 4, 6)),
    "defocus_blur": Corruption(defocus_blur, ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5))),
    "motion_blur": Corruption(motion_blur, ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15))),
    "zoom_blur": Corruption(zoom_blur, ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03))),
    "fog": Corruption(_fog, ((1.5, 2.0), (2.0, 2.0), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4))),
    "brightness": Corruption(_brightness, (0.1, 0.2, 0.3, 0.4, 0.5)),
    "contrast": Corruption(_contrast, (0.4, 0.3, 0.2, 0.1, 0.05)),
    "saturate": Corruption(_saturate, ((0.3, 0.0), (0.1, 0.0), (2.0, 0.0), (5.0, 0.1), (20.0, 0.2))),
    "elastic_transform": Corruption(
        elastic_transform,
        ((488, 170.8, 24.4), (488, 19.52, 48.8), (12.2, 2.44, 4.88), (17.08, 2.44, 4.88), (29.28, 2.44, 4.88)),
    ),
    "pixelate": Corruption(_pixelate, (0.6, 0.5, 0.4, 0.3, 0.25)),
    "jpeg_compression": Corruption(_jpeg_compression, (25, 18, 15, 10, 7)),
}

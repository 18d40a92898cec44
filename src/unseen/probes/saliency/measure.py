"""Occlusion saliency of single images by a loaded network."""

import time
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import torch

from unseen.backbones.backbone import Backbone
from unseen.features.device_memory import images_at_once
from unseen.features.forward import normalised, products
from unseen.features.settings import Settings
from unseen.probes.image_cell import Stepping
from unseen.probes.saliency.attention import attention_map, diffusion
from unseen.probes.saliency.grid import Grid
from unseen.probes.saliency.occlusion import occluded, occlusion_errors
from unseen.probes.single_images import Measured, Pixels, network_function

TIMED = 2
"""Batches that are run for an estimate; the first is for warm-up."""


def image_seconds(backbone: Backbone, grid: Grid, settings: Settings, batch: int | None) -> float:
    """Seconds for one image, from timing two batches."""
    size, features = backbone.spec.transform.size, network_function(backbone, settings)
    image = torch.zeros(3, size, size, device=settings.device)
    count = min(batch or _fitting(backbone, settings), grid.passes(size))
    with torch.inference_mode(), products(settings.precision):
        for _ in range(TIMED):
            start = time.perf_counter()
            features(occluded(image, grid, torch.arange(count, device=image.device))).cpu()
    return (time.perf_counter() - start) / count * grid.passes(size)


def attention_maps(
    backbone: Backbone, images: Sequence[Pixels], grid: Grid, settings: Settings, batch: int | None, step: Stepping
) -> Iterator[Measured]:
    """The attention map of each image, and the share of pixels above its mean.

    Args:
        batch: masked images per batch; None for a number that is fast on the device.
        step: called with the number of forward passes that are done.
    """
    count, features = batch or _fitting(backbone, settings), network_function(backbone, settings)
    each = grid.passes(backbone.spec.transform.size)
    for number, pixels in enumerate(images):
        told = partial(_advanced, step, number * each)
        with torch.inference_mode(), products(settings.precision):
            image = normalised(torch.from_numpy(pixels)[None].to(settings.device), backbone.spec.transform)[0]
            errors = occlusion_errors(features, image, grid, count, step=told)
            attention = attention_map(errors, grid, image.shape[-1]).cpu()
        yield Measured({"diffusion": diffusion(attention)}, {"map": attention.numpy().astype(np.float32)})


def _fitting(backbone: Backbone, settings: Settings) -> int:
    """A number of images per batch that fits into the memory of the device."""
    size, device = backbone.spec.transform.size, torch.device(settings.device)
    features = network_function(backbone, settings)

    def run(count: int) -> None:
        with torch.inference_mode(), products(settings.precision):
            features(torch.zeros(count, 3, size, size, device=device).to(memory_format=torch.channels_last))

    return images_at_once(run, size, device)


def _advanced(step: Stepping, before: int, done: int) -> None:
    step(before + done)

"""Estimating the duration of an extraction from a few images."""

import time
from collections.abc import Sequence

from unseen.backbones.backbone import Backbone
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.source import ImageSource
from unseen.features.settings import Settings

SAMPLE = 32
"""Number of images timed; on a GPU as many as a batch has, since fewer do not keep it busy."""

STARTING = 1.0
"""Seconds until the decoding processes for a GPU have started: each is a fork of a process that uses the GPU."""


def extraction_seconds(
    speed: tuple[float, Sequence[float]], left: Sequence[int], settings: Settings, gpus: int = 1
) -> float:
    """Estimated seconds for the remaining images.

    Args:
        speed: as measured by `seconds_per_image`.
        left: remaining images of each backbone; one pass serves all backbones.
        gpus: number of GPUs working in parallel; they share the same cores for decoding.
    """
    reading = speed[0] * max(left) / max(settings.workers, 1)
    computing = sum(each * images for each, images in zip(speed[1], left, strict=True))
    # A CPU decodes and computes with the same cores; a GPU computes while the CPU decodes.
    if settings.device == "cpu":
        return reading + computing
    return max(reading, computing / gpus) + (STARTING if settings.workers else 0.0)


def seconds_per_image(
    source: ImageSource, backbones: Sequence[Backbone], settings: Settings
) -> tuple[float, list[float]]:
    """Seconds per image for decoding in one process, and for each backbone, measured on a few images.

    If a GPU decodes, its time is multiplied by the number of processes.
    """
    import torch

    from unseen.data.core.decoding.decode import read_pixels
    from unseen.features.forward import features

    count = len(source.entries)
    numbers = range(0, count, max(count // SAMPLE, 1))[:SAMPLE]
    device, compute = torch.device(settings.device), []
    start = time.perf_counter()
    if settings.decode != "cpu":
        decode = _seconds_there(source, numbers, backbones[0].spec.transform, settings)
    else:
        for number in numbers:
            read_pixels(
                source, number, backbones[0].spec.transform, on_error="report", fast=settings.fast, exif=settings.exif
            )
        decode = (time.perf_counter() - start) / len(numbers)
    for backbone in backbones:
        side = backbone.spec.transform.size
        images = settings.batch if device.type == "cuda" else min(settings.batch, SAMPLE)
        pixels = torch.zeros(images, side, side, 3, dtype=torch.uint8, device=device)
        backbone.module.eval().to(device)
        with torch.inference_mode():
            for _ in range(2):  # the first call initialises the device
                start = time.perf_counter()
                features(backbone, pixels, settings.precision).cpu()
        compute.append((time.perf_counter() - start) / len(pixels))
    return decode, compute


def _seconds_there(source: ImageSource, numbers: Sequence[int], transform: Transform, settings: Settings) -> float:
    """Seconds per image: the larger of the reading time of a process and the decoding time of a GPU."""
    import numpy as np
    import torch

    from unseen.features.batches import Decoder, Piece, geometry
    from unseen.features.gpu.gpu_decode import decoded_there

    device, places = torch.device(settings.device), np.array(numbers).repeat(max(1, settings.batch // len(numbers)))
    pieces = [Piece(0, 0, len(places), (geometry(transform),))]
    decoder = Decoder(source, places, pieces, fast=False, exif=settings.exif, jpegs=True)
    start = time.perf_counter()
    read = decoder[0]
    reading = time.perf_counter() - start
    for _ in range(2):  # the first call initialises the device
        start = time.perf_counter()
        [*decoded_there((batch for batch in [read]), device, exif=settings.exif)]
    return max(reading, (time.perf_counter() - start) * max(settings.workers, 1)) / len(places)

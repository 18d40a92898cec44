"""Estimating the duration of an extraction from a few images."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from unseen.backbones.backbone import Backbone
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.source import ImageSource
from unseen.features.settings import Settings

SAMPLE = 32
"""Number of images timed; on a GPU as many as a batch has, since fewer do not keep it busy."""

STARTING = 1.0
"""Seconds until the decoding processes for a GPU have started: each is a fork of a process that uses the GPU."""


@dataclass(frozen=True)
class Speed:
    """Measured seconds per image.

    Attributes:
        decode: for decoding in one process.
        compute: for each forward pass.
        serves: numbers of the backbones whose features each forward pass gives.
    """

    decode: float
    compute: tuple[float, ...]
    serves: tuple[tuple[int, ...], ...]


def extraction_seconds(speed: Speed, left: Sequence[int], settings: Settings, gpus: int = 1) -> float:
    """Estimated seconds for the remaining images.

    Args:
        speed: as measured by `seconds_per_image`.
        left: remaining images of each backbone; one pass serves all backbones.
        gpus: number of GPUs working in parallel; they share the same cores for decoding.
    """
    reading = speed.decode * max(left) / max(settings.workers, 1)
    computing = sum(
        each * max(left[number] for number in numbers)
        for each, numbers in zip(speed.compute, speed.serves, strict=True)
    )
    # A CPU decodes and computes with the same cores; a GPU computes while the CPU decodes.
    if settings.device == "cpu":
        return reading + computing
    return max(reading, computing / gpus) + (STARTING if settings.workers else 0.0)


def seconds_per_image(source: ImageSource, backbones: Sequence[Backbone], settings: Settings) -> Speed:
    """Seconds per image for decoding in one process, and for each forward pass, measured on a few images.

    If a GPU decodes, its time is multiplied by the number of processes.
    """
    import torch

    from unseen.data.core.decoding.decode import read_pixels
    from unseen.features.forward import features_together, sharing

    count = len(source.entries)
    numbers = range(0, count, max(count // SAMPLE, 1))[:SAMPLE]
    device, compute = torch.device(settings.device), list[float]()
    start = time.perf_counter()
    if settings.decode != "cpu":
        decode = _seconds_there(source, numbers, backbones[0].spec.transform, settings)
    else:
        for number in numbers:
            read_pixels(
                source, number, backbones[0].spec.transform, on_error="report", fast=settings.fast, exif=settings.exif
            )
        decode = (time.perf_counter() - start) / len(numbers)
    groups = sharing(backbones)
    for group in groups:
        side = group[0].spec.transform.size
        images = settings.batch if device.type == "cuda" else min(settings.batch, SAMPLE)
        pixels = torch.zeros(images, side, side, 3, dtype=torch.uint8, device=device)
        for backbone in group:
            backbone.module.eval().to(device)
        with torch.inference_mode():
            for _ in range(2):  # the first call initialises the device
                start = time.perf_counter()
                for rows in features_together(group, pixels, settings.precision):
                    rows.cpu()
        compute.append((time.perf_counter() - start) / len(pixels))
    places = {id(each): place for place, each in enumerate(backbones)}
    return Speed(decode, tuple(compute), tuple(tuple(places[id(each)] for each in group) for group in groups))


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

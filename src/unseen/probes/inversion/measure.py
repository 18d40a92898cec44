"""Reconstructions of single images from the features of a loaded network, and their colour errors."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from unseen.backbones.backbone import Backbone
from unseen.features.device_memory import images_at_once
from unseen.features.settings import Settings
from unseen.metrics.colour import COLOURS, colour_errors
from unseen.probes.image_cell import Stepping
from unseen.probes.inversion.invert import DivergedError, InversionStack, Precision, invert
from unseen.probes.inversion.protocol import InversionProtocol
from unseen.probes.single_images import Measured, Pixels, PlacedImageError

MOST_STACKED = 8
"""Images per batch; more are not faster on any GPU (`benchmarks/inversion.py`) and delay the first results."""
CPU_STACKED = 4 * 224 * 224
"""Pixels of a batch on a CPU."""
TIMED = {"cuda": (5, 10), "cpu": (1, 2)}
"""Warm-up steps of an estimate, and timed steps."""


def image_seconds(
    backbone: Backbone, protocol: InversionProtocol, settings: Settings, images: int, batch: int | None
) -> float:
    """Seconds for one image, from timing a few steps."""
    device, size = torch.device(settings.device), backbone.spec.transform.size
    stacked = min(batch or _stacked(backbone, protocol, settings), images)
    pixels = np.random.default_rng(0).integers(0, 256, (stacked, size, size, 3), dtype=np.uint8)
    before, timed = TIMED.get(device.type, TIMED["cpu"])
    stack = InversionStack(backbone, pixels, protocol, _precision(settings))
    with stack.arithmetic():
        for number in range(before + timed):
            if number == before:
                stack.wait()
                start = time.perf_counter()
            stack.step()
        stack.wait()
    return (time.perf_counter() - start) / timed / stacked * protocol.steps


def reconstructions(
    backbone: Backbone,
    images: Sequence[Pixels],
    protocol: InversionProtocol,
    settings: Settings,
    batch: int | None,
    seed: int,
    scratch: Path,
    step: Stepping,
) -> Iterator[Measured]:
    """The reconstruction of each image, and its colour errors.

    Args:
        batch: images per batch; None for a number that is fast on the device.
        scratch: folder for checkpoints.
        step: called with the number of steps that are done, of all images together.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    stacked, steps = batch or _stacked(backbone, protocol, settings), protocol.steps
    for first in range(0, len(images), stacked):
        pixels = np.stack(images[first : first + stacked])

        def told(done: int, loss: float, before: int = first * steps, number: int = len(pixels)) -> None:
            step(before + done * number, f"loss before clamping {loss:.3g}")

        checkpoint = scratch / f"{hashlib.sha256(pixels.tobytes()).hexdigest()[:32]}.pt"
        try:
            found = invert(
                backbone, pixels, protocol, seed=seed, precision=_precision(settings), checkpoint=checkpoint,
                watch=told,
            )  # fmt: skip
        except DivergedError as error:
            raise PlacedImageError(first + error.place, str(error)) from None
        for place, errors in enumerate(colour_errors(pixels, found.images)):
            yield Measured(
                dict(zip(COLOURS, map(float, errors), strict=True)),
                {
                    "reconstruction": found.images[place],
                    "losses": found.losses[place],
                    "loss": found.final_losses[place],
                    "clamped_loss": found.clamped_losses[place],
                    "scale": found.scales[place],
                },
            )
        checkpoint.unlink(missing_ok=True)  # all its images are stored now


def _stacked(backbone: Backbone, protocol: InversionProtocol, settings: Settings) -> int:
    """A number of images per batch that is fast on the device."""
    size, device = backbone.spec.transform.size, torch.device(settings.device)
    if device.type != "cuda":
        return max(1, min(MOST_STACKED, CPU_STACKED // size**2))

    def run(count: int) -> None:
        stack = InversionStack(backbone, np.zeros((count, size, size, 3), np.uint8), protocol, _precision(settings))
        with stack.arithmetic():
            stack.step()

    return min(MOST_STACKED, images_at_once(run, size, device))


def _precision(settings: Settings) -> Precision:
    return "single" if settings.precision == "single" else "bfloat"

"""Feature inversion as an analysis of single images."""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from unseen.backbones.backbone import Backbone
from unseen.backbones.patches import PatchSpec
from unseen.errors import UserError
from unseen.features.device_memory import images_at_once
from unseen.features.settings import Settings
from unseen.images.transform import Transform
from unseen.metrics.colour import colour_errors
from unseen.probes.by_name.inversion import COLOURS, Inversion
from unseen.probes.image_fits import image_job
from unseen.probes.inversion.invert import DivergedError, InversionStack, Precision, invert
from unseen.probes.inversion.protocol import InversionProtocol
from unseen.probes.job import Job
from unseen.runs.notices import Notice, notice
from unseen.studies.study import Cell, Stepping
from unseen.studies.tasks.by_image.analysis import Measured, Pixels, PlacedImageError

MOST_STACKED = 8
"""Images per batch; more are not faster on any GPU (`benchmarks/inversion.py`) and delay the first results."""
CPU_STACKED = 4 * 224 * 224
"""Pixels of a batch on a CPU."""
TIMED = {"cuda": (5, 10), "cpu": (1, 2)}
"""Warm-up steps of an estimate, and timed steps."""


@dataclass(frozen=True)
class InversionAnalysis:
    """Reconstructions of images from the last spatial map, and their colour errors.

    Attributes:
        batch: images per batch; None for a number that is fast on the device.
    """

    protocol: InversionProtocol
    seed: int = 0
    batch: int | None = None
    name: str = Inversion.name

    def transform(self, own: Transform) -> Transform:
        """See `Analysis`, as for all methods below."""
        return own

    def check(self, backbone: Backbone) -> None:
        if not isinstance(backbone.spec, PatchSpec) or backbone.spec.drawn or backbone.spec.positions < 2:
            raise UserError(
                f"{backbone.label}: its features are one vector per image; images are reconstructed from a spatial map "
                "(load_backbone(…, patches=True))"
            )
        try:
            self.protocol.at_size(backbone.spec.transform.size)
        except UserError as error:
            raise UserError(f"{backbone.label}: {error}") from None

    def job(self, backbone: Backbone, domain: str, pictures: str, precision: str) -> Job:
        probe = Inversion(self.protocol)
        return image_job(probe, backbone.label, backbone.spec, domain, pictures, precision, self.seed)

    def columns(self, backbone: Backbone, images: int) -> Mapping[str, Cell]:
        spec = backbone.spec
        assert isinstance(spec, PatchSpec)
        return {"map": f"{spec.channels} × {spec.grid[0]} × {spec.grid[1]}", "steps": self.protocol.steps}

    def notices(self) -> Sequence[Notice]:
        short = self.protocol.steps < InversionProtocol().steps
        return [notice("short-inversion", steps=self.protocol.steps)] if short else []

    def steps(self, backbone: Backbone, images: int) -> int:
        return images * self.protocol.steps

    def seconds(self, backbone: Backbone, images: int, settings: Settings) -> float:
        device, size = torch.device(settings.device), backbone.spec.transform.size
        stacked = min(self._stacked(backbone, settings), images)
        pixels = np.random.default_rng(0).integers(0, 256, (stacked, size, size, 3), dtype=np.uint8)
        before, timed = TIMED.get(device.type, TIMED["cpu"])
        stack = InversionStack(backbone, pixels, self.protocol, _precision(settings))
        with stack.arithmetic():
            for number in range(before + timed):
                if number == before:
                    stack.wait()
                    start = time.perf_counter()
                stack.step()
            stack.wait()
        return (time.perf_counter() - start) / timed / stacked * self.steps(backbone, images)

    def measure(
        self, backbone: Backbone, images: Sequence[Pixels], settings: Settings, scratch: Path, step: Stepping
    ) -> Iterator[Measured]:
        scratch.mkdir(parents=True, exist_ok=True)
        stacked, steps = self._stacked(backbone, settings), self.protocol.steps
        for first in range(0, len(images), stacked):
            pixels = np.stack(images[first : first + stacked])

            def told(done: int, loss: float, before: int = first * steps, number: int = len(pixels)) -> None:
                step(before + done * number, f"loss before clamping {loss:.3g}")

            checkpoint = scratch / f"{hashlib.sha256(pixels.tobytes()).hexdigest()[:32]}.pt"
            try:
                found = invert(
                    backbone, pixels, self.protocol, seed=self.seed, precision=_precision(settings),
                    checkpoint=checkpoint, watch=told,
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

    def _stacked(self, backbone: Backbone, settings: Settings) -> int:
        if self.batch is not None:
            return self.batch
        size, device = backbone.spec.transform.size, torch.device(settings.device)
        if device.type != "cuda":
            return max(1, min(MOST_STACKED, CPU_STACKED // size**2))

        def run(count: int) -> None:
            stack = InversionStack(
                backbone, np.zeros((count, size, size, 3), np.uint8), self.protocol, _precision(settings)
            )
            with stack.arithmetic():
                stack.step()

        return min(MOST_STACKED, images_at_once(run, size, device))


def _precision(settings: Settings) -> Precision:
    return "single" if settings.precision == "single" else "bfloat"

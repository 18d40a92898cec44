"""Occlusion saliency as an analysis of single images."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError
from unseen.features.device_memory import images_at_once
from unseen.features.forward import AUTOCAST, normalised, products
from unseen.features.settings import Settings
from unseen.images.transform import Transform
from unseen.probes.by_name.saliency import Saliency
from unseen.probes.image_fits import image_job
from unseen.probes.job import Job
from unseen.probes.saliency.attention import attention_map, diffusion
from unseen.probes.saliency.occlusion import occluded, occlusion_errors
from unseen.probes.saliency.protocol import SaliencyProtocol
from unseen.runs.notices import Notice, notice
from unseen.studies.study import Cell, Stepping
from unseen.studies.tasks.by_image.analysis import Measured, Pixels

TIMED = 2
"""Batches that are run for an estimate; the first is for warm-up."""


@dataclass(frozen=True)
class SaliencyAnalysis:
    """Attention maps by a sliding mask, and the share of pixels above the mean of each map.

    Attributes:
        batch: images per batch; None for a number that is fast on the device.
    """

    protocol: SaliencyProtocol
    batch: int | None = None
    name: str = Saliency.name

    def transform(self, own: Transform) -> Transform:
        """See `Analysis`, as for all methods below."""
        return self.protocol.transform(own)

    def check(self, backbone: Backbone) -> None:
        self.protocol.grid.check(backbone.spec.transform.size, backbone.label)

    def job(self, backbone: Backbone, domain: str, pictures: str, precision: str) -> Job:
        return image_job(Saliency(self.protocol), backbone.label, backbone.spec, domain, pictures, precision)

    def columns(self, backbone: Backbone, images: int) -> Mapping[str, Cell]:
        return {"grid": str(self.protocol.grid), "passes": self.steps(backbone, images)}

    def notices(self) -> Sequence[Notice]:
        grid = self.protocol.grid
        exact = self.protocol == SaliencyProtocol()
        return [] if exact else [notice("coarse-grid", mask=grid.mask, stride=grid.stride)]

    def steps(self, backbone: Backbone, images: int) -> int:
        return images * self.protocol.grid.passes(backbone.spec.transform.size)

    def seconds(self, backbone: Backbone, images: int, settings: Settings) -> float:
        size, grid = backbone.spec.transform.size, self.protocol.grid
        image, features = torch.zeros(3, size, size, device=settings.device), _features(backbone, settings)
        batch = min(self._batch(backbone, settings), grid.passes(size))
        with torch.inference_mode(), products(settings.precision):
            for _ in range(TIMED):
                start = time.perf_counter()
                features(occluded(image, grid, torch.arange(batch, device=image.device))).cpu()
        return (time.perf_counter() - start) / batch * self.steps(backbone, images)

    def measure(
        self,
        backbone: Backbone,
        images: Sequence[Pixels],
        settings: Settings,
        scratch: Path,
        step: Stepping,
    ) -> Iterator[Measured]:
        batch, features = self._batch(backbone, settings), _features(backbone, settings)
        each = self.steps(backbone, 1)
        for number, pixels in enumerate(images):
            told = partial(_advanced, step, number * each)
            with torch.inference_mode(), products(settings.precision):
                image = normalised(torch.from_numpy(pixels)[None].to(settings.device), backbone.spec.transform)[0]
                errors = occlusion_errors(features, image, self.protocol.grid, batch, step=told)
                attention = attention_map(errors, self.protocol.grid, image.shape[-1]).cpu()
            yield Measured({"diffusion": diffusion(attention)}, {"map": attention.numpy().astype(np.float32)})

    def _batch(self, backbone: Backbone, settings: Settings) -> int:
        if self.batch is not None:
            return self.batch
        size, device = backbone.spec.transform.size, torch.device(settings.device)
        features = _features(backbone, settings)

        def run(count: int) -> None:
            with torch.inference_mode(), products(settings.precision):
                features(torch.zeros(count, 3, size, size, device=device).to(memory_format=torch.channels_last))

        return images_at_once(run, size, device)


def _advanced(step: Stepping, before: int, done: int) -> None:
    step(before + done)


def _features(backbone: Backbone, settings: Settings) -> Callable[[Tensor], Tensor]:
    """A function from normalized images to features, in the requested precision."""
    module, kind = backbone.module.eval().to(settings.device), AUTOCAST.get(settings.precision)
    place = torch.device(settings.device).type

    def run(images: Tensor) -> Tensor:
        try:
            with torch.autocast(place, dtype=kind, enabled=kind is not None):
                features: Tensor = module(images)
        except (UserError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # a network can raise any exception
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise UserError(f"the network failed ({reason})") from None
        if features.shape != (len(images), backbone.spec.dimension):
            shape = " × ".join(map(str, features.shape))
            raise UserError(f"the network returned {shape} numbers, not {len(images)} × {backbone.spec.dimension}")
        return features

    return run

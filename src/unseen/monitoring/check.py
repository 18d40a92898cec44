"""A check: features of a network in training, extracted on its device, and the probes fitted to them."""

import time
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError
from unseen.features.batches import dead_workers_named
from unseen.features.features import Features
from unseen.features.forward import features_together, products
from unseen.features.settings import Settings
from unseen.monitoring.fits import Result, fitted, reason
from unseen.monitoring.images import SplitImages, splits_read
from unseen.monitoring.measured_study import MeasuredStudy
from unseen.monitoring.network import Watched
from unseen.monitoring.processes import Processes
from unseen.monitoring.scores import Check, Failure, StepScore
from unseen.monitoring.undisturbed import undisturbed
from unseen.studies.opened import StudyData
from unseen.text.words import counted

PIXELS = "pixels"
"""The folder of decoded images in that of a monitor."""


@dataclass(eq=False)
class Checks:
    """Measures networks with one study, whose decoded images it keeps.

    Attributes:
        folder: decoded images are stored below it.
        workers: number of processes that decode.
    """

    study: MeasuredStudy
    folder: Path
    processes: Processes
    workers: int = 0
    _images: dict[tuple[str, str], SplitImages] = field(default_factory=dict, repr=False)

    def images(self, data: StudyData, split: str) -> SplitImages:
        """The images of a split, the same object at every check."""
        key = data.name, split
        if key not in self._images:
            study = self.study.study
            self._images[key] = SplitImages(
                data, split, self.study.transform, self.folder / PIXELS / data.name, study.batch, study.exif,
                self.workers, self.processes.part,
            )  # fmt: skip
        return self._images[key]

    def decode(self) -> None:
        """Decode all images that are not decoded yet."""
        with undisturbed(()), dead_workers_named():
            for data in self.study.data:
                for split in splits_read(data):
                    images = self.images(data, split)
                    if len(images.places):
                        images.pixels()

    def run(self, watched: Watched, step: int) -> Check:
        """The scores of a network at a step; whatever fails is named, and the training is left as it was."""
        began, extraction = time.perf_counter(), 0.0
        results = list[Result]()
        on_gpu = watched.device.type == "cuda"
        with ExitStack() as stack:
            stack.enter_context(undisturbed(watched.modules))
            stack.enter_context(torch.cuda.device(watched.device) if on_gpu else nullcontext())
            settings = self.study.settings(str(watched.device))
            self._take_buffers(watched)
            backbone, failed = self._tried(watched)
            failed = next(filter(None, self.processes.gathered(failed)), "")
            if failed or backbone is None:
                results.append(Failure(step, failed))
            for data in self.study.data if backbone is not None and not failed else ():
                assert backbone is not None
                start = time.perf_counter()
                features = self._extracted(backbone, data, watched.device, settings)
                extraction += time.perf_counter() - start
                if isinstance(features, str):
                    results.append(Failure(step, features, data.name))
                elif self.processes.first:
                    results += fitted(self.study, data, backbone, features, step, str(watched.device))
        scores = [each for each in results if isinstance(each, StepScore)]
        failures = [each for each in results if isinstance(each, Failure)]
        return Check(step, scores, failures, extraction, time.perf_counter() - began)

    def _take_buffers(self, watched: Watched) -> None:
        """Use the buffers of the first process, such as those of BatchNorm, which differ between training steps.

        They are put in the place of the process's own, which are restored with everything else.
        """
        if not self.processes.share:
            return
        every = [(each, name) for module in watched.modules for each in module.modules() for name in each._buffers]
        own = [each._buffers[name] for each, name in every]
        found = self.processes.from_first([None if each is None else each.detach().cpu() for each in own])
        if not self.processes.first:
            for (module, name), buffer in zip(every, found, strict=True):
                module._buffers[name] = None if buffer is None else buffer.to(watched.device)

    def _tried(self, watched: Watched) -> tuple[Backbone | None, str]:
        """The network as a backbone, or why it cannot be measured on any image."""
        try:
            with torch.no_grad():
                return watched.backbone(self.study.transform), ""
        except Exception as error:  # whatever it is, the training goes on
            return None, reason(error)

    def _extracted(
        self, backbone: Backbone, data: StudyData, device: torch.device, settings: Settings
    ) -> dict[str, Features] | str:
        """The features of each split, from all processes that share the work; why there are none, as a text."""
        own: dict[str, NDArray[Any]] | str
        try:
            with torch.no_grad(), products(settings.precision), dead_workers_named():
                own = {split: self._rows(backbone, data, split, device, settings) for split in splits_read(data)}
        except Exception as error:  # whatever it is, the training goes on
            own = reason(error)
        every = self.processes.gathered(own)
        failed = next((each for each in every if isinstance(each, str)), None)
        return failed or {split: self._whole(data, split, every) for split in splits_read(data)}

    def _rows(
        self, backbone: Backbone, data: StudyData, split: str, device: torch.device, settings: Settings
    ) -> NDArray[Any]:
        """(n, d) features of the images of this process, in the dtype in which a run stores them."""
        images = self.images(data, split)
        parts = [features_together([backbone], pixels, settings.precision)[0] for pixels in images.batches(device)]
        if not parts:
            return np.empty((0, backbone.spec.dimension), settings.dtype)
        X: NDArray[Any] = torch.cat(parts).to(getattr(torch, settings.dtype)).cpu().numpy()
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
        if len(bad):
            name, more = images.name(int(images.places[bad[0]])), len(bad) - 1
            others = f" and of {counted(more, 'more image')}" if more else ""
            raise UserError(f"the features of {name}{others} are not finite in {settings.dtype}")
        return X

    def _whole(self, data: StudyData, split: str, every: list[Mapping[str, NDArray[Any]]]) -> Features:
        """The features of all images of a split, in order, from the shares of the processes."""
        plan, (_, number) = self.images(data, split).plan, self.processes.part
        batch = self.study.study.batch
        parts = [part[split] for part in every]
        X = np.empty((len(plan.numbers), parts[0].shape[1]), parts[0].dtype)
        taken = [0] * number
        for place, start in enumerate(range(0, len(X), batch)):
            rank = place % number
            size = min(batch, len(X) - start)
            X[start : start + size] = parts[rank][taken[rank] : taken[rank] + size]
            taken[rank] += size
        return Features(X, plan.labels, plan.classes)

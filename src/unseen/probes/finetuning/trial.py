"""A trial of a grid: the network trained with one setting, and scored on validation images."""

from abc import ABC
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from unseen.data.core.dataset import Target
from unseen.probes.finetuning import timing
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.job import Fit, Held, Job
from unseen.probes.trainings import TrainingProbe

if TYPE_CHECKING:
    from unseen.probes.image_cell import ImageCell, ImageInputs

TRIAL_REVISION = 2
"""Increased when a training of a grid gives other numbers for the same input."""


@dataclass(frozen=True)
class TunedNetwork(TrainingProbe, ABC):
    """A probe that trains a whole network with a linear layer; steps take the same time on all data sets."""

    def timed(self, job: Job) -> Hashable:
        return _batch(job)

    def step_seconds(self, cell: "ImageCell", job: Job) -> float:
        return timing.step_seconds(cell.backbone, _batch(job), cell.device)


def _batch(job: Job) -> int:
    batch: int = job.settings["protocol"]["batch"]
    return batch


@dataclass(frozen=True)
class Trial(TunedNetwork):
    """One setting of a grid; it is not a probe by itself, as it says nothing about test images."""

    name: ClassVar[str] = "fine-tuned-trial"
    title: ClassVar[str] = "one setting of fine-tuning"
    targets: ClassVar[tuple[Target, ...]] = ("class", "classes")
    protocol: FinetuneProtocol

    @property
    def decodes(self) -> bool:
        return True

    def used(self, inputs: "ImageInputs") -> FinetuneProtocol:
        return self.protocol

    def job(self, inputs: "ImageInputs", seed: int) -> Job:
        return Job(
            self.name, TRIAL_REVISION, inputs.backbone.label, inputs.dataset.name, inputs.reads, self.described,
            None, seed, inputs.dataset.metric, inputs.arithmetic, make=Held(self),
        )  # fmt: skip

    def trained(self, cell: "ImageCell", job: Job) -> Fit:
        from unseen.probes.finetuning.search import trial_fit

        return trial_fit(cell, job, self.protocol)

"""Trainings of the task study as picklable work: each process opens data sets and loads backbones once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.device import default_device
from unseen.errors import UserError
from unseen.images.open_dataset import OpenDataset
from unseen.probes.finetuning.images import TaskImages, load_task_images
from unseen.probes.finetuning.jobs import TRIAL, grid_of, protocol_of_training
from unseen.probes.job import Job
from unseen.runs.lock import folder_lock
from unseen.runs.sent_backbone import SentBackbone
from unseen.studies.study import Watch
from unseen.studies.tasks.finetune import PIXELS, run_training

if TYPE_CHECKING:
    import torch


@dataclass(eq=False)
class Trainer:
    """Runs trainings; images stay in memory until those of another backbone or data set are needed.

    Attributes:
        tasks: all tasks, since a trial belongs to a task.
        folder: folder of the run.
        device: None for the device of the worker.
        workers: processes that decode images.
    """

    tasks: Sequence[Job]
    opened: Mapping[str, OpenDataset]
    backbones: Mapping[str, SentBackbone]
    folder: Path
    device: str | None
    workers: int
    watch: Watch
    _images: dict[tuple[str, str], TaskImages] = field(default_factory=dict)

    @cached_property
    def _task_of(self) -> dict[str, Job]:
        return {job.key: task for task in self.tasks for job in (*task.needs, task)}

    def __call__(self, jobs: Sequence[Job], /) -> Iterator[Job]:
        for job in jobs:
            try:
                yield from self._trained(job)
            except UserError as error:
                raise UserError(f"{job.dataset}, {job.backbone}: {error}") from None

    def _trained(self, job: Job) -> Iterator[Job]:
        import torch

        device = torch.device(self.device) if self.device else default_device()
        steps = protocol_of_training(job).steps if job.probe == TRIAL else grid_of(job).steps
        told = Stepping(self.watch, f"{job.dataset}, {job.backbone}")
        yield from run_training(
            job,
            self._task_of[job.key],
            self.backbones[job.backbone].loaded("cpu"),
            self._loaded(job, device),
            self.folder,
            device=device,
            watch=partial(told.training, steps),
        )

    def _loaded(self, job: Job, device: "torch.device") -> TaskImages:
        what = (job.dataset, job.backbone)
        if what not in self._images:
            self._images.clear()
            folder = self.folder / PIXELS / job.dataset
            with folder_lock(folder):  # one process decodes, and others that need the same images wait
                self._images[what] = load_task_images(
                    self.opened[job.dataset],
                    self.backbones[job.backbone].loaded("cpu").spec.transform,
                    folder,
                    device=device,
                    workers=self.workers,
                    watch=Stepping(self.watch, f"{job.dataset}, images decoded").of,
                )
        return self._images[what]

    def forget(self) -> None:
        """Release the memory of images."""
        self._images.clear()


class Stepping:
    """Reports the steps of consecutive pieces of work to a watch."""

    def __init__(self, watch: Watch, what: str) -> None:
        self._watch, self._what = watch, what
        self._steps: dict[str, Callable[[int], None]] = {}

    def of(self, done: int, total: int) -> None:
        """Report a step of the whole work."""
        self.training(total, "", done)

    def training(self, total: int, name: str, step: int) -> None:
        """Report a step of one of its pieces."""
        if name not in self._steps:
            self._steps[name] = self._watch.stepping(f"{self._what}, {name}" if name else self._what, total)
        self._steps[name](step)

"""Fine-tuning as a part of the task study: backbones trained whole on its data sets, beside or without probes."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.backbones.backbone import Backbone
from unseen.device import default_device
from unseen.errors import UserError
from unseen.features.disk import free_disk
from unseen.features.settings import Settings, checked_device
from unseen.files import byte_size
from unseen.images.datasets.open_dataset import OpenDataset
from unseen.probes.finetuning.grid import STEPS, FinetuneGrid, finetune_grid
from unseen.probes.finetuning.images import load_task_images
from unseen.probes.finetuning.jobs import FinetuneTaskJob, trial_jobs
from unseen.runs.lock import shared_use
from unseen.runs.means import Means
from unseen.runs.notices import left_out, told
from unseen.runs.record import refuse_other_run
from unseen.studies.finetuning import Steps, training_seconds
from unseen.studies.study import Cell, Plan, Prepared, Watch
from unseen.studies.tasks.finetune import (
    PIXELS,
    TrainingJob,
    cost,
    finetune_run,
    is_done,
    plan_finetuning,
    record_finetunings,
    run_finetuning,
)
from unseen.studies.tasks.opened import Opened, open_datasets

if TYPE_CHECKING:
    import torch


class TrainingError(UserError):
    """Some fine-tunings failed, and the others are done.

    Attributes:
        failures: a line on each, with the names of its data set and backbone.
        done: how many did not fail.
    """

    def __init__(self, failures: Sequence[str], of: int) -> None:
        super().__init__(f"{len(failures)} of {of} fine-tunings failed: {'; '.join(failures)}")
        self.failures, self.done = list(failures), of - len(failures)


def training_device(name: str | None) -> "torch.device":
    """The device of a name, or else a GPU where there is one; one that is not there is an error."""
    return checked_device(Settings(device=name or default_device().type))


@dataclass(frozen=True, eq=False)
class Finetuning:
    """A backbone that is trained on a data set: the job whose scores count, and what it is about."""

    job: FinetuneTaskJob
    backbone: Backbone
    opened: OpenDataset

    def trainings(self, out: Path) -> list[TrainingJob]:
        """One for each setting of the grid and one more; of one that is done, the last alone."""
        return [self.job] if is_done(self.job, out) else [*trial_jobs(self.job), self.job]


@dataclass(frozen=True, eq=False)
class FinetuneRequest:
    """Every backbone trained on every data set by a grid of settings.

    Attributes:
        opened: those that are not split are left out.
        seed: of the new layer, the order of images and their augmentation.
    """

    opened: Opened
    backbones: Sequence[Backbone]
    grid: FinetuneGrid
    device: "torch.device"
    seed: int = 0

    @cached_property
    def split(self) -> Opened:
        """The data sets that are split; where there are none, that is an error."""
        parts = [each for each in self.opened.datasets if each.dataset.test is not None]
        others = [each.dataset.name for each in self.opened.datasets if each.dataset.test is None]
        if not parts:
            names = ", ".join(others)
            raise UserError(f"{names}: not split, so there is nothing to fine-tune on; name another data set")
        why = "its images are not split, so it serves few-shot episodes only"
        absent = [*self.opened.absent, *(left_out(name, f"{name}: {why}") for name in others)]
        return Opened(parts, absent, self.opened.named)

    @cached_property
    def finetunings(self) -> list[Finetuning]:
        """By data set, then by backbone."""
        return [
            Finetuning(plan_finetuning(each, data, self.grid, device=self.device, seed=self.seed), each, data)
            for data in self.split.datasets
            for each in self.backbones
        ]

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        root: Path | None,
        load: Callable[[], Sequence[Backbone]],
        device: str | None,
        *,
        trials: int,
        steps: int | None,
        seed: int,
    ) -> "FinetuneRequest":
        """Backbones that are loaded once the data sets are known to be there; `steps` is the protocol's if None."""
        grid, place = finetune_grid(trials=trials, steps=STEPS if steps is None else steps), training_device(device)
        return cls(open_datasets(names, root), load(), grid, place, seed)

    def plan(self, out: Path, means: Means) -> Plan:
        """The trainings that are left, and the disk that decoded images take while a data set is trained on."""
        refuse_other_run(out, finetune_run(self.backbones, self.split.datasets).setup)
        costs = [cost(each.job, each.opened, out) for each in self.finetunings]
        most, free = max(left.bytes for left in costs), free_disk(out)
        lacking = f"{out}: {byte_size(most)} of decoded images are to be written, but {byte_size(free)} are free."
        lacking = lacking if most > free else ""
        parts: list[dict[str, Cell]] = []
        for each, left in zip(self.finetunings, costs, strict=True):
            counts = Counter(each.opened.manifest.splits)
            images: dict[str, Cell] = {split: counts[split] for split in ("train", "val", "test")}
            named: dict[str, Cell] = {"data set": each.job.domain, "backbone": each.job.backbone}
            todo: dict[str, Cell] = {"trainings left": left.trainings, "steps left": left.steps}
            todo["decoded images"] = left.bytes
            parts.append({**named, **images, "metric": each.job.metric, **todo})
        return Plan(
            "Fine-tuning",
            parts,
            sum(len(each.trainings(out)) for each in self.finetunings),
            sum(left.trainings for left in costs),
            units={"decoded images": "bytes"},
            probing=self._seconds(out),
            notices=[*self.split.absent, *map(told, filter(None, [self.grid.short, lacking]))],
        )

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared[TrainingJob]:
        """The trainings as jobs; images are decoded as they are needed."""
        jobs = [job for each in self.finetunings for job in each.trainings(out)]
        run = finetune_run(self.backbones, self.split.datasets, self.split.missed)
        return Prepared(
            run,
            jobs,
            lambda _, __, means: self._train(out, means.workers, watch),
            lambda _, __, ___: self._seconds(out),
            recorded="work",
        )

    def _seconds(self, out: Path) -> float:
        """Of the trainings that are left, beside decoding."""
        todo = [
            Steps(each.backbone, self.grid.batch, cost(each.job, each.opened, out).steps) for each in self.finetunings
        ]
        return training_seconds(todo, self.device)

    def _train(self, out: Path, workers: int, watch: Watch) -> Iterator[TrainingJob]:
        """Train what is left, data set by data set; what fails does not stop the others.

        A fine-tuning is written into the run when it is done. Decoded images are there until all of a data set is.
        """
        failures: list[str] = []
        for data in self.split.datasets:
            here = [each for each in self.finetunings if each.opened is data]
            before, pixels = len(failures), out / PIXELS / data.dataset.name
            with shared_use(out / f".{PIXELS}-{pixels.name}.lock") as alone:
                for each in here:
                    try:
                        yield from self._train_one(each, out, workers, watch)
                    except UserError as error:
                        failures.append(f"{data.dataset.name}, {each.job.backbone}: {error}")
                        watch.tell(failures[-1])
                if len(failures) == before and alone():
                    shutil.rmtree(pixels, ignore_errors=True)
        if failures:
            raise TrainingError(failures, len(self.finetunings))

    def _train_one(self, each: Finetuning, out: Path, workers: int, watch: Watch) -> Iterator[TrainingJob]:
        """Fine-tune one backbone; its images leave the device's memory at the end."""
        job, data = each.job, each.opened
        if not is_done(job, out):
            task, folder = f"{job.domain}, {job.backbone}", out / PIXELS / job.domain
            decoding = Stepping(watch, f"{job.domain}, images decoded")
            images = load_task_images(
                data, job.spec.transform, folder, device=self.device, workers=workers, watch=decoding.of
            )
            training = partial(Stepping(watch, task).training, self.grid.steps)
            yield from run_finetuning(job, each.backbone, images, out, device=self.device, watch=training)
        record_finetunings(out, finetune_run([each.backbone], [data], self.split.missed), [job])


class Stepping:
    """Tells a watch of pieces of work that come one after the other, each from its first step on."""

    def __init__(self, watch: Watch, what: str) -> None:
        self._watch, self._what = watch, what
        self._steps: dict[str, Callable[[int], None]] = {}

    def of(self, done: int, total: int) -> None:
        """The whole work is at a step."""
        self.training(total, "", done)

    def training(self, total: int, name: str, step: int) -> None:
        """One of its pieces is at a step."""
        if name not in self._steps:
            self._steps[name] = self._watch.stepping(f"{self._what}, {name}" if name else self._what, total)
        self._steps[name](step)

"""The request for fine-tuning in the task study: whole backbones trained on its data sets."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.backbones.backbone import Backbone
from unseen.device import default_device
from unseen.errors import JobsError, OtherPartsError, UserError, argument
from unseen.features.disk import free_disk
from unseen.features.settings import Settings, checked_device
from unseen.files import byte_size
from unseen.images.open_dataset import OpenDataset
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.finetuning.grid import STEPS, FinetuneGrid, finetune_grid
from unseen.probes.job import Job
from unseen.runs.execute import Executor, even
from unseen.runs.executors import spread_or
from unseen.runs.executors.grouped import run_groups
from unseen.runs.lock import shared_use
from unseen.runs.machine import decoders_each
from unseen.runs.means import Means
from unseen.runs.notices import left_out, told
from unseen.runs.parts import loads
from unseen.runs.record import refuse_other_run
from unseen.runs.results import RESULTS, missing
from unseen.runs.sent_backbone import sent_backbones
from unseen.studies.finetuning import Steps, training_seconds
from unseen.studies.study import Cell, Plan, Prepared, Watch
from unseen.studies.tasks.finetune import (
    PIXELS,
    cost,
    finetune_run,
    is_done,
    plan_finetuning,
    record_finetunings,
)
from unseen.studies.tasks.finetune_trainer import Trainer
from unseen.studies.tasks.opened import Asked, Opened, open_datasets

if TYPE_CHECKING:
    import torch


def training_device(name: str | None) -> "torch.device":
    """The device with a name, or by default a GPU if there is one; a missing device is an error."""
    return checked_device(Settings(device=name or default_device().type))


@dataclass(frozen=True, eq=False)
class Finetuning:
    """The fine-tuning of a backbone on a data set: its final job, the backbone and the data set."""

    job: Job
    backbone: Backbone
    opened: OpenDataset

    def trainings(self, out: Path) -> list[Job]:
        """One training per setting of the grid and a final one; only the final one if the others were not kept."""
        trials = list(self.job.needs)
        lost = is_done(self.job, out) and missing(trials, out / RESULTS)
        return [self.job] if lost else [*trials, self.job]


@dataclass(frozen=True, eq=False)
class FinetuneRequest:
    """Fine-tuning of every backbone on every data set with a grid of settings.

    Attributes:
        opened: data sets; those without splits are skipped.
        seed: seed of the new layer, the order of images and their augmentation.
    """

    opened: Opened
    backbones: Sequence[Backbone]
    grid: FinetuneGrid
    device: "torch.device"
    seed: int = 0

    @cached_property
    def split(self) -> Opened:
        """The data sets with splits; it is an error if there are none."""
        parts = [each for each in self.opened.datasets if each.dataset.test is not None]
        others = [each.dataset.name for each in self.opened.datasets if each.dataset.test is None]
        if not parts:
            names = ", ".join(others)
            raise UserError(f"{names}: has no training split to fine-tune on; name another data set")
        why = "it has no training split, so it is used only for few-shot episodes"
        absent = [*self.opened.absent, *(left_out(name, f"{name}: {why}") for name in others)]
        return Opened(parts, absent, self.opened.named)

    @cached_property
    def finetunings(self) -> list[Finetuning]:
        """The fine-tunings by data set and backbone."""
        return [
            Finetuning(plan_finetuning(each, data, self.grid, device=self.device, seed=self.seed), each, data)
            for data in self.split.datasets
            for each in self.backbones
        ]

    @classmethod
    def of(
        cls,
        names: Sequence[Asked],
        root: Path | None,
        load: Callable[[], Sequence[Backbone]],
        device: str | None,
        *,
        trials: int,
        steps: int | None,
        seed: int,
    ) -> "FinetuneRequest":
        """A request whose backbones are loaded after the data sets were found; `steps` is the protocol's if None."""
        grid, place = finetune_grid(trials=trials, steps=STEPS if steps is None else steps), training_device(device)
        return cls(open_datasets(names, root), load(), grid, place, seed)

    def plan(self, out: Path, means: Means) -> Plan:
        """The missing trainings, and the disk space of decoded images during the training on a data set."""
        refuse_other_run(out, finetune_run(self.backbones, self.split.datasets).setup)
        costs = [cost(each.job, each.backbone, each.opened, out) for each in self.finetunings]
        most, free = max(left.bytes for left in costs), free_disk(out)
        lacking = f"{out}: {byte_size(most)} of decoded images are to be written, but {byte_size(free)} are free."
        lacking = lacking if most > free else ""
        parts: list[dict[str, Cell]] = []
        for each, left in zip(self.finetunings, costs, strict=True):
            counts = Counter(each.opened.manifest.splits)
            images: dict[str, Cell] = {split: counts[split] for split in ("train", "val", "test")}
            named: dict[str, Cell] = {"data set": each.job.dataset, "backbone": each.job.backbone}
            todo: dict[str, Cell] = {"trainings left": left.trainings, "steps left": left.steps}
            todo["decoded images"] = left.bytes
            parts.append({**named, **images, "metric": each.job.metric, **todo})
        trainings = self._trainings(out)
        undone = missing(trainings, out / RESULTS)
        return Plan(
            "Fine-tuning",
            parts,
            len(trainings),
            sum(left.trainings for left in costs),
            units={"decoded images": "bytes"},
            probing=self._seconds(undone, means),
            loads=loads(trainings, undone),
            notices=[*self.split.absent, *map(told, filter(None, [self.grid.short, lacking]))],
        )

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        """The trainings as jobs; images are decoded when they are needed."""
        return Prepared(
            finetune_run(self.backbones, self.split.datasets, self.split.missed),
            self._trainings(out),
            lambda jobs, _, means: self._train(jobs, out, means, watch),
            lambda jobs, results, means: self._seconds(missing(jobs, results), means),
            records_itself=True,
        )

    def _trainings(self, out: Path) -> list[Job]:
        return [job for each in self.finetunings for job in each.trainings(out)]

    def _seconds(self, jobs: Sequence[Job], means: Means) -> float:
        """Estimated seconds of trainings, without decoding."""
        counts = Counter(job.backbone for job in jobs)
        todo = [Steps(each, self.grid.batch, counts[each.label] * self.grid.steps) for each in self.backbones]
        return training_seconds(todo, self.device) / means.places

    def _train(self, jobs: Sequence[Job], out: Path, means: Means, watch: Watch) -> Iterator[Job]:
        """Run the missing trainings; a failure does not stop the others.

        In this process, backbones and data sets are trained one after another. Several devices try all settings first.
        """
        if means.spread and self.device.type != default_device().type:
            raise UserError(f"{argument('device')} selects one device, but these trainings use several; leave it out")
        own, executor, failures = {*jobs}, spread_or(means, run_groups), list[str]()
        trainer = Trainer(
            [each.job for each in self.finetunings],
            {each.dataset.name: each for each in self.split.datasets},
            sent_backbones(self.backbones),
            out,
            None if means.spread else str(self.device),
            decoders_each(means),
            watch,
        )
        for some in [self.finetunings] if means.spread else [[each] for each in self.finetunings]:
            with self._decoded_images(some, out):
                for of in (self._trials, self._tasks):
                    try:
                        for job in of(some, own, out, executor, trainer):
                            self._record(job, out)
                            yield job
                    except UserError as error:
                        failures += error.failures if isinstance(error, JobsError) else [str(error)]
                        watch.tell(str(error))
                trainer.forget()
        if failures:
            left = {*missing(jobs, out / RESULTS)}
            done = sum(not left & {*each.trainings(out)} for each in self.finetunings)
            raise JobsError(failures, done) if done else UserError("; ".join(failures))
        self._refuse_untried(own, out)

    def _trials(
        self, some: Sequence[Finetuning], own: set[Job], out: Path, executor: Executor, trainer: Trainer
    ) -> Iterator[Job]:
        """Try the settings of unfinished fine-tunings."""
        groups = [
            [trial for trial in missing(each.job.needs, out / RESULTS) if trial in own]
            for each in some
            if not is_done(each.job, out)
        ]
        if any(groups):
            yield from executor([group for group in groups if group], trainer, even)

    def _tasks(
        self, some: Sequence[Finetuning], own: set[Job], out: Path, executor: Executor, trainer: Trainer
    ) -> Iterator[Job]:
        """Train the best setting if all were tried; finished fine-tunings are recorded again, in case they were not."""
        wanted = [each.job for each in some if each.job in own]
        for job in wanted:
            if is_done(job, out):
                self._record(job, out)
        left = [job for job in missing(wanted, out / RESULTS) if not missing(job.needs, out / RESULTS)]
        if left:
            yield from executor([[job] for job in left], trainer, even)

    def _record(self, job: Job, out: Path) -> None:
        """Add a finished fine-tuning to the record of the run."""
        if job.probe == FineTuned.name:
            each = next(each for each in self.finetunings if each.job == job)
            record_finetunings(out, finetune_run([each.backbone], [each.opened], self.split.missed), [job])

    @contextmanager
    def _decoded_images(self, some: Sequence[Finetuning], out: Path) -> Iterator[None]:
        """Use the decoded images of data sets; at the end, remove those that no job and no other process needs."""
        with ExitStack() as uses:
            alone = {
                name: uses.enter_context(shared_use(out / f".{PIXELS}-{name}.lock"))
                for name in sorted({each.job.dataset for each in some})
            }
            yield
            for name, is_alone in alone.items():
                if all(is_done(each.job, out) for each in self.finetunings if each.job.dataset == name) and is_alone():
                    shutil.rmtree(out / PIXELS / name, ignore_errors=True)

    def _refuse_untried(self, own: set[Job], out: Path) -> None:
        """Refuse to go on if other parts of a job array have not tried all their settings."""
        mine = [each for each in self.finetunings if own & {*each.trainings(out)}]
        waiting = [each.job.dataset for each in mine if not is_done(each.job, out)]
        if waiting:
            raise OtherPartsError(
                f"this part has done its share of the trainings on {waiting[0]}, but other parts have not finished; "
                "run the same commands again after that to train the best settings"
            )

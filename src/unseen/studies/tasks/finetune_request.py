"""Fine-tuning as a part of the task study: backbones trained whole on its data sets, beside or without probes."""

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
from unseen.errors import OtherPartsError, UserError
from unseen.features.disk import free_disk
from unseen.features.settings import Settings, checked_device
from unseen.files import byte_size
from unseen.images.datasets.open_dataset import OpenDataset
from unseen.probes.finetuning.grid import STEPS, FinetuneGrid, finetune_grid
from unseen.probes.finetuning.jobs import FinetuneTaskJob, trial_jobs
from unseen.runs.execute import Executor, even
from unseen.runs.executors import spread_or
from unseen.runs.executors.grouped import run_groups
from unseen.runs.lock import shared_use
from unseen.runs.machine import decoders_each
from unseen.runs.means import Means
from unseen.runs.notices import left_out, told
from unseen.runs.record import refuse_other_run
from unseen.runs.results import RESULTS, missing
from unseen.runs.sent_backbone import sent_backbones
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
)
from unseen.studies.tasks.finetune_trainer import Trainer
from unseen.studies.tasks.opened import Asked, Opened, open_datasets

if TYPE_CHECKING:
    import torch


class TrainingError(UserError):
    """Some fine-tunings failed, and the others are done.

    Attributes:
        failures: lines on them, with the names of data sets and backbones.
        done: how many did not fail.
    """

    def __init__(self, failures: Sequence[str], failed: int, of: int) -> None:
        super().__init__(f"{failed} of {of} fine-tunings failed: {'; '.join(failures)}")
        self.failures, self.done = list(failures), of - failed


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
        """One for each setting of the grid and one more; the last alone where it is done and others were not kept."""
        trials = trial_jobs(self.job)
        lost = is_done(self.job, out) and missing(trials, out / RESULTS)
        return [self.job] if lost else [*trials, self.job]


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
        names: Sequence[Asked],
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
            len(self._trainings(out)),
            sum(left.trainings for left in costs),
            units={"decoded images": "bytes"},
            probing=self._seconds(missing(self._trainings(out), out / RESULTS), means),
            notices=[*self.split.absent, *map(told, filter(None, [self.grid.short, lacking]))],
        )

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared[TrainingJob]:
        """The trainings as jobs; images are decoded as they are needed."""
        return Prepared(
            finetune_run(self.backbones, self.split.datasets, self.split.missed),
            self._trainings(out),
            lambda jobs, _, means: self._train(jobs, out, means, watch),
            lambda jobs, results, means: self._seconds(missing(jobs, results), means),
            recorded="work",
        )

    def _trainings(self, out: Path) -> list[TrainingJob]:
        return [job for each in self.finetunings for job in each.trainings(out)]

    def _seconds(self, jobs: Sequence[TrainingJob], means: Means) -> float:
        """Of trainings, beside decoding."""
        counts = Counter(job.backbone for job in jobs)
        todo = [Steps(each, self.grid.batch, counts[each.label] * self.grid.steps) for each in self.backbones]
        return training_seconds(todo, self.device) / means.places

    def _train(self, jobs: Sequence[TrainingJob], out: Path, means: Means, watch: Watch) -> Iterator[TrainingJob]:
        """Train what is left of some jobs; what fails does not stop the others.

        Here, backbones and data sets come one after the other. Several devices try all settings first.
        """
        if means.spread and self.device.type != default_device().type:
            raise UserError("--device is for one device, and these trainings are spread over several; leave it out")
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
                        failures.append(str(error))
                        watch.tell(failures[-1])
                trainer.forget()
        if failures:
            left = {*missing(jobs, out / RESULTS)}
            failed = [each for each in self.finetunings if left & {*each.trainings(out)}]
            raise TrainingError(failures, len(failed), len(self.finetunings))
        self._refuse_untried(own, out)

    def _trials(
        self, some: Sequence[Finetuning], own: set[TrainingJob], out: Path, executor: Executor, trainer: Trainer
    ) -> Iterator[TrainingJob]:
        """Try settings for those that are not done."""
        groups = [
            [trial for trial in missing(trial_jobs(each.job), out / RESULTS) if trial in own]
            for each in some
            if not is_done(each.job, out)
        ]
        if any(groups):
            yield from executor([group for group in groups if group], trainer, even)

    def _tasks(
        self, some: Sequence[Finetuning], own: set[TrainingJob], out: Path, executor: Executor, trainer: Trainer
    ) -> Iterator[TrainingJob]:
        """Train the best setting where all were tried; what is done already is recorded, in case that it was not."""
        wanted = [each.job for each in some if each.job in own]
        for job in wanted:
            if is_done(job, out):
                self._record(job, out)
        left = [job for job in missing(wanted, out / RESULTS) if not missing(trial_jobs(job), out / RESULTS)]
        if left:
            yield from executor([[job] for job in left], trainer, even)

    def _record(self, job: TrainingJob, out: Path) -> None:
        """Write a fine-tuning that is done into the run."""
        if isinstance(job, FinetuneTaskJob):
            each = next(each for each in self.finetunings if each.job == job)
            record_finetunings(out, finetune_run([each.backbone], [each.opened], self.split.missed), [job])

    @contextmanager
    def _decoded_images(self, some: Sequence[Finetuning], out: Path) -> Iterator[None]:
        """Use the decoded images of data sets; at the end remove those on which all is done, by whichever part of a
        job array, and which no other process uses.
        """
        with ExitStack() as uses:
            alone = {
                name: uses.enter_context(shared_use(out / f".{PIXELS}-{name}.lock"))
                for name in sorted({each.job.domain for each in some})
            }
            yield
            for name, is_alone in alone.items():
                if all(is_done(each.job, out) for each in self.finetunings if each.job.domain == name) and is_alone():
                    shutil.rmtree(out / PIXELS / name, ignore_errors=True)

    def _refuse_untried(self, own: set[TrainingJob], out: Path) -> None:
        """End what a part of a job array does where others have still to try settings."""
        mine = [each for each in self.finetunings if own & {*each.trainings(out)}]
        waiting = [each.job.domain for each in mine if not is_done(each.job, out)]
        if waiting:
            raise OtherPartsError(
                f"this part has done its share of the trainings on {waiting[0]}, and others have not yet; when all "
                "have tried their settings, the same commands train the best of them"
            )

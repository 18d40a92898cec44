"""The request for the task study: backbones on data sets, or existing features."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError, argument
from unseen.features.disk import free_disk
from unseen.features.settings import Settings, checked_device
from unseen.probes.many_shot import ERICSSON_2021, ManyShotProtocol
from unseen.runs.data import RunData
from unseen.runs.extraction import refuse_unfinished
from unseen.runs.fit_progress import FitProgress
from unseen.runs.means import Means
from unseen.runs.notices import Notice
from unseen.runs.parts import loads
from unseen.runs.record import refuse_other_run
from unseen.runs.results import RESULTS
from unseen.runs.task_work import TaskJob
from unseen.studies.features import FEATURES, damaged_images
from unseen.studies.own_code import NO_CODE, OwnCode
from unseen.studies.study import Cell, Plan, Prepared, Watch
from unseen.studies.tasks.features import Found, TaskFeatures, extract_dataset
from unseen.studies.tasks.opened import Asked, Opened, open_datasets
from unseen.studies.tasks.plan import (
    DatasetPlan,
    job_flops,
    plan_dataset,
    probing_seconds,
    skipped,
    task_jobs,
    without_result,
)
from unseen.studies.tasks.study import TITLE, run_tasks, task_run, task_setup
from unseen.words import counted, duration

COUNTED = {"train": "train", "val": "val", "test": "test", "all": "no split"}
"""Split → its column in the plan; data sets without splits are for few-shot episodes only."""


@dataclass(frozen=True, eq=False)
class FromImages:
    """Features that are extracted into the folder of the run if they are missing."""

    opened: Opened
    backbones: Sequence[Backbone]
    settings: Settings


@dataclass(frozen=True)
class TaskRequest:
    """Probes of features on data sets.

    Attributes:
        source: images and extraction settings, or existing features.
        top1: known ImageNet accuracies of backbones, between 0 and 1.
        own: probes and metrics of the user's own.
    """

    source: FromImages | Found
    protocol: ManyShotProtocol = ERICSSON_2021
    top1: Mapping[str, float] = field(default_factory=dict)
    own: OwnCode = NO_CODE

    def plan(self, out: Path, means: Means) -> Plan:
        """Plan the work; see `unseen.studies.study.Request`."""
        source = self.source
        if isinstance(source, Found):
            refuse_other_run(out, self._run(source).setup)
            return self._planned([DatasetPlan(source.features, 1.0, 0, 0.0)], source.faults, out, means)
        checked_device(source.settings)
        datasets = source.opened.datasets
        # Checked before hours of extraction, not after them.
        refuse_other_run(out, task_setup(source.backbones, datasets, source.settings, self.protocol, self.own))
        extraction = (source.backbones, out / FEATURES, source.settings, means.places)
        plans = [plan_dataset(each, *extraction) for each in datasets]
        return self._planned(plans, source.opened.absent, out, means, free=free_disk(out))

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared[TaskJob]:
        """Extract missing features; see `unseen.studies.study.Request`."""
        found = self.source if isinstance(self.source, Found) else _extracted(self.source, out, watch, means)
        tell = partial(tell_fits, watch)

        def work(jobs: Sequence[TaskJob], results: Path, means: Means) -> Iterator[TaskJob]:
            return run_tasks(jobs, found.features, results, means, tell)

        def seconds(jobs: Sequence[TaskJob], results: Path, means: Means) -> float:
            return probing_seconds(jobs, found.features, results, means)

        cost = partial(job_flops, tasks=found.features)
        return Prepared(self._run(found), task_jobs(found.features, self.protocol, self.own), work, seconds, cost=cost)

    def _planned(
        self, plans: Sequence[DatasetPlan], notices: Sequence[Notice], out: Path, means: Means, free: int = 0
    ) -> Plan:
        counted = [split for split in COUNTED if any(each.rows.get(split) for plan in plans for each in plan.features)]
        features, results = [each for plan in plans for each in plan.features], out / RESULTS
        jobs = task_jobs(features, self.protocol, self.own)
        todo = without_result(jobs, results)
        return Plan(
            TITLE,
            [_part(each, plan.done, counted) for plan in plans for each in plan.features],
            len(jobs),
            len(todo),
            units={"extracted": "share"},
            extraction=sum(plan.seconds for plan in plans),
            probing=probing_seconds(jobs, features, results, means),
            disk=sum(plan.bytes for plan in plans),
            free=free,
            loads=loads(jobs, todo, partial(job_flops, tasks=features)),
            notices=[*notices, *skipped(features, self.own)],
        )

    def _run(self, found: Found) -> RunData:
        absent = [] if isinstance(self.source, Found) else self.source.opened.missed
        missing = [*absent, *found.faults, *skipped(found.features, self.own)]
        return task_run(found.features, self.protocol, top1=self.top1, missing=missing, own=self.own)


def request_of_images(
    names: Sequence[Asked],
    root: Path | None,
    load: Callable[[], Sequence[Backbone]],
    settings: Settings,
    protocol: ManyShotProtocol,
    *,
    limit: int | None = None,
    percents: Sequence[float] = (),
) -> TaskRequest:
    """Probes of features that are extracted from images; backbones are loaded after the data sets were found.

    Args:
        limit, percents: as in `open_datasets` and `top1_shares`.
    """
    opened = open_datasets(names, root, limit=limit)
    loaded = load()
    top1 = top1_shares([each.label for each in loaded], percents)
    return TaskRequest(FromImages(opened, loaded, settings), protocol, top1)


def _part(task: TaskFeatures, done: float, counted: Sequence[str]) -> dict[str, Cell]:
    """A row of the plan, with the numbers of images of the splits `counted`."""
    metric = task.dataset.metric if task.dataset.test else "few-shot only"
    counts: dict[str, Cell] = {COUNTED[split]: task.rows.get(split, 0) for split in counted}
    named: dict[str, Cell] = {"data set": task.dataset.name, "backbone": task.backbone, "classes": task.classes}
    return {**named, **counts, "metric": metric, "extracted": done}


def _extracted(source: FromImages, out: Path, watch: Watch, means: Means) -> Found:
    """Extract missing features, and return all features of the study and notices about unusable ones."""
    found, unfinished = Found([], []), list[Path]()
    for each in source.opened.datasets:
        part = extract_dataset(each, source.backbones, out / FEATURES, source.settings, watch.extracting, means)
        found.features.extend(part.features)
        found.faults.extend(part.faults)
        unfinished.extend(part.unfinished)
    refuse_unfinished(unfinished, source.settings.part)
    for fault in found.faults if found.features else found.faults[1:]:  # else the first is the error below
        watch.tell(fault.sentence)
    for task in found.features:
        for split, store in task.places.items():
            if sentence := damaged_images(f"{task.dataset.name}, {split}", Path(store)):
                watch.tell(sentence)
    if not found.features:
        raise UserError(found.faults[0].text)
    return found


def tell_fits(watch: Watch, progress: FitProgress) -> None:
    """Report the progress of a linear probe; worker processes call it too."""
    of = "constants" if progress.stage == "grid" else "fits to the optimum"
    left = duration(progress.left)
    watch.tell(f"{progress.what}: {progress.done} of at most {progress.total} {of}, {left} left at most")


def top1_shares(backbones: Sequence[str], percents: Sequence[float]) -> dict[str, float]:
    """ImageNet accuracy of each backbone between 0 and 1, from percents in the same order; empty if none are given."""
    if percents and len(percents) != len(backbones):
        raise UserError(
            f"{argument('imagenet-top1')} takes one number per {argument('backbone')}: "
            f"{counted(len(percents), 'number')} for {counted(len(backbones), 'backbone')}"
        )
    wrong = next((percent for percent in percents if not 1 < percent < 100), None)
    if wrong is not None:
        meant = f"; did you mean {100 * wrong:g}?" if 0 < wrong < 1 else ""
        raise UserError(f"{argument('imagenet-top1')} must be a percentage from 1 to 100, not {wrong:g}{meant}")
    return {name: percent / 100 for name, percent in zip(backbones, percents, strict=False)}

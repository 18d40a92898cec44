"""The request for the task study: backbones on data sets, or existing features."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError, argument
from unseen.features.disk import free_disk
from unseen.features.settings import Settings, checked_device
from unseen.images.dataset import Dataset
from unseen.images.rows import ALL
from unseen.runs.data import RunData
from unseen.runs.extraction import refuse_unfinished
from unseen.runs.fit_progress import FitProgress
from unseen.runs.means import Means
from unseen.runs.notices import Notice
from unseen.runs.parts import loads
from unseen.runs.record import refuse_other_run
from unseen.runs.results import RESULTS
from unseen.studies.features import FEATURES, damaged_images
from unseen.studies.prepared import prepared_probes
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.probing import estimate, job_cost, without_result
from unseen.studies.study import Cell, Plan, Prepared, Watch
from unseen.studies.tasks.features import Found, extract_dataset
from unseen.studies.tasks.opened import Asked, Opened, open_datasets
from unseen.studies.tasks.plan import DatasetPlan, TaskProbes, plan_dataset
from unseen.studies.tasks.study import TITLE, task_run, task_setup
from unseen.text.words import counted, duration

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
    """

    source: FromImages | Found
    probes: TaskProbes = field(default_factory=TaskProbes)
    top1: Mapping[str, float] = field(default_factory=dict)

    def plan(self, out: Path, means: Means) -> Plan:
        """Plan the work; see `unseen.studies.study.Request`."""
        source = self.source
        if isinstance(source, Found):
            refuse_other_run(out, self._run(source).setup)
            return self._planned([DatasetPlan(source.features, 1.0)], source.datasets, source.faults, out, means)
        checked_device(source.settings)
        opened = source.opened.datasets
        # Checked before hours of extraction, not after them.
        refuse_other_run(out, task_setup(source.backbones, opened, source.settings, self.probes))
        extraction = (source.backbones, out / FEATURES, source.settings, means.places)
        plans = [plan_dataset(each, *extraction) for each in opened]
        datasets = {each.dataset.name: each.dataset for each in opened}
        return self._planned(plans, datasets, source.opened.absent, out, means, free=free_disk(out))

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        """Extract missing features; see `unseen.studies.study.Request`."""
        found = self.source if isinstance(self.source, Found) else _extracted(self.source, out, watch, means)
        jobs = self.probes.jobs(found.features, found.datasets)
        return prepared_probes(self._run(found), jobs, found.features, tell=partial(tell_fits, watch))

    def _planned(
        self,
        plans: Sequence[DatasetPlan],
        datasets: Mapping[str, Dataset],
        notices: Sequence[Notice],
        out: Path,
        means: Means,
        free: int = 0,
    ) -> Plan:
        counted = [split for split in COUNTED if any(each.rows.get(split) for plan in plans for each in plan.features)]
        features, results = [each for plan in plans for each in plan.features], out / RESULTS
        jobs = self.probes.jobs(features, datasets)
        todo = without_result(jobs, results)
        return Plan(
            TITLE,
            [_part(each, plan.done, counted) for plan in plans for each in plan.features],
            len(jobs),
            len(todo),
            units={"extracted": "share"},
            extraction=sum(plan.seconds for plan in plans),
            probing=estimate(jobs, features, results, means),
            disk=sum(plan.bytes for plan in plans),
            free=free,
            loads=loads(jobs, todo, job_cost(features)),
            notices=[*notices, *self.probes.skipped(features, datasets)],
        )

    def _run(self, found: Found) -> RunData:
        absent = [] if isinstance(self.source, Found) else self.source.opened.missed
        missing = [*absent, *found.faults, *self.probes.skipped(found.features, found.datasets)]
        return task_run(found.features, found.datasets, self.probes, top1=self.top1, missing=missing)


def request_of_images(
    names: Sequence[Asked],
    root: Path | None,
    load: Callable[[], Sequence[Backbone]],
    settings: Settings,
    probes: TaskProbes,
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
    return TaskRequest(FromImages(opened, loaded, settings), probes, top1)


def _part(features: ProbedFeatures, done: float, counted: Sequence[str]) -> dict[str, Cell]:
    """A row of the plan, with the numbers of images of the splits `counted`."""
    metric = "few-shot only" if ALL in features.rows else features.metric
    counts: dict[str, Cell] = {COUNTED[split]: features.rows.get(split, 0) for split in counted}
    named: dict[str, Cell] = {"data set": features.dataset, "backbone": features.backbone, "classes": features.classes}
    return {**named, **counts, "metric": metric, "extracted": done}


def _extracted(source: FromImages, out: Path, watch: Watch, means: Means) -> Found:
    """Extract missing features, and return all features of the study and notices about unusable ones."""
    found, datasets, unfinished = Found([], [], {}), dict[str, Dataset](), list[Path]()
    for each in source.opened.datasets:
        part = extract_dataset(each, source.backbones, out / FEATURES, source.settings, watch.extracting, means)
        found.features.extend(part.features)
        found.faults.extend(part.faults)
        datasets |= part.datasets
        unfinished.extend(part.unfinished)
    refuse_unfinished(unfinished, source.settings.part)
    for fault in found.faults if found.features else found.faults[1:]:  # else the first is the error below
        watch.tell(fault.sentence)
    for features in found.features:
        for split, store in features.places.items():
            if sentence := damaged_images(f"{features.dataset}, {split}", Path(store)):
                watch.tell(sentence)
    if not found.features:
        raise UserError(found.faults[0].text)
    return found._replace(datasets=datasets)


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

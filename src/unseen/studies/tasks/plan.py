"""The plan of the task study: its work, and estimates of time and disk space."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from unseen.backbones.backbone import Backbone, Spec
from unseen.device import on_gpu
from unseen.features.disk import feature_bytes, remaining_rows
from unseen.features.settings import Settings
from unseen.features.speed import extraction_seconds, seconds_per_image
from unseen.images.open_dataset import OpenDataset
from unseen.probes.by_name.linear import ManyShotJob
from unseen.probes.many_shot import ManyShotProtocol
from unseen.probes.own import OwnProbe
from unseen.probes.own_task import OwnProbeTaskJob, own_task_jobs
from unseen.runs.means import Means
from unseen.runs.notices import Notice
from unseen.runs.own_metric import task_metric_jobs
from unseen.runs.parts import WHOLE
from unseen.runs.results import missing
from unseen.runs.shots import shot_notices
from unseen.runs.task_work import TaskJob
from unseen.studies.own_code import NO_CODE, OwnCode
from unseen.studies.rates import elapsed, product_rate, starting
from unseen.studies.tasks.features import STUDY, TaskFeatures, features_in, splits_of
from unseen.studies.tasks.kinds import kind_of

OTHER_WORK = 3.0
"""Factor for the work of a fit beside its products: softmax, line search, copies."""
WEIGHT_ON_GPU = 3.5e-6
"""Seconds per weight that the fits of a linear probe take on a GPU in addition to their products.

They are many short steps, limited by kernel launches and memory; their products alone would take a third of the time.
Measured on an H200 (benchmarks/README.md).
"""
LARGE = 5e11
"""Jobs with at least this many multiplications and additions, about a minute on a core, use all cores."""


@dataclass(frozen=True)
class DatasetPlan:
    """The features of a data set for all backbones, and the cost of the missing ones.

    Attributes:
        features: features by backbone, in order; with hashes and paths if all of them exist.
        done: share of the images with existing features.
        bytes, seconds: bytes that this part of the work has yet to write, and estimated seconds of the extraction.
    """

    features: Sequence[TaskFeatures]
    done: float
    bytes: int
    seconds: float


def task_jobs(tasks: Sequence[TaskFeatures], protocol: ManyShotProtocol, own: OwnCode = NO_CODE) -> list[TaskJob]:
    """All jobs of a study; the user's own code is applied to data sets with splits and one class per image."""
    jobs = [job for task in tasks for job in kind_of(task.dataset).jobs(task, protocol)]
    split = [task for task in tasks if task.dataset.test is not None and not task.dataset.multi_label]
    fitted = [job for task in split for each in own.probes for job in _own_jobs(each, task)]
    names = {task.dataset.name for task in split}
    linear = [job for job in jobs if isinstance(job, ManyShotJob) and job.domain in names]
    return [*jobs, *fitted, *task_metric_jobs(own.metrics, [*linear, *fitted])]


def _own_jobs(own: OwnProbe, task: TaskFeatures) -> list[OwnProbeTaskJob]:
    hashes = [task.hashes.get(split, "") for split in splits_of(task.dataset)]
    return own_task_jobs(own, STUDY, task.backbone, task.dataset.name, hashes, task.samples)


def skipped(tasks: Sequence[TaskFeatures], own: OwnCode = NO_CODE) -> list[Notice]:
    """Notices about settings for which a data set is too small, once for all backbones."""
    by_name = {task.dataset.name: task for task in tasks}
    ours = [notice for task in by_name.values() for notice in kind_of(task.dataset).skipped(task)]
    theirs = [
        notice
        for name, task in by_name.items()
        if task.samples
        for each in own.probes
        for notice in shot_notices(each.probe.default_shots, task.samples.total_shortage, name)
    ]
    return [*ours, *theirs]


def plan_dataset(
    opened: OpenDataset, backbones: Sequence[Backbone], folder: Path, settings: Settings, gpus: int = 1
) -> DatasetPlan:
    """The features of a data set, and the cost of those that are missing in `folder`."""
    kind, images, place = kind_of(opened.dataset), len(opened.manifest), folder / opened.dataset.name
    specs, settings = [backbone.spec for backbone in backbones], kind.settings(settings)
    left = of_all = _remaining(opened, specs, place, settings)
    if settings.part != WHOLE:  # which may have none left when other parts have
        of_all = _remaining(opened, specs, place, replace(settings, part=WHOLE))
    seconds = 0.0
    if not max(of_all) and (there := features_in(place, opened.dataset, [backbone.label for backbone in backbones])):
        return DatasetPlan(there, 1.0, 0, 0.0)
    if max(left):
        seconds = extraction_seconds(seconds_per_image(opened.source, backbones, settings), left, settings, gpus)
    features = [kind.expect(opened, backbone.spec, backbone.label) for backbone in backbones]
    size = sum(
        feature_bytes(rows, each.vectors * each.dimension, settings) for each, rows in zip(features, left, strict=True)
    )
    return DatasetPlan(features, 1 - max(of_all) / images, size, seconds)


def _remaining(opened: OpenDataset, specs: Sequence[Spec], place: Path, settings: Settings) -> list[int]:
    """Number of images of a data set without features, by backbone."""
    parts = [
        remaining_rows(opened.source, opened.manifest, split, specs, place, settings)
        for split in splits_of(opened.dataset)
    ]
    return [sum(of) for of in zip(*parts, strict=True)]


def without_result(jobs: Sequence[TaskJob], folder: Path) -> list[TaskJob]:
    """The jobs without a result, including those on missing features."""
    made = [job for job in jobs if job.features and all(job.features)]
    return [job for job in jobs if job not in made] + missing(made, folder)


def probing_seconds(jobs: Sequence[TaskJob], tasks: Sequence[TaskFeatures], folder: Path, means: Means) -> float:
    """Estimated seconds of the missing jobs, from the speed of matrix products on this machine."""
    todo = without_result(jobs, folder)
    if not todo:
        return 0.0
    small, large = ([_seconds(job, tasks) for job in part] for part in by_size(todo, tasks))
    overhead = 0.1 * len(todo) + starting(len(small), means.workers, gpu=on_gpu())
    if on_gpu():
        return (sum(small) + sum(large)) / means.places + overhead
    return elapsed(small, means.workers) + sum(large) / means.workers + overhead


def by_size(jobs: Sequence[TaskJob], tasks: Sequence[TaskFeatures]) -> tuple[list[TaskJob], list[TaskJob]]:
    """Small jobs, which run in parallel with one thread each, and large jobs, which use all threads."""
    large = [job for job in jobs if job_flops(job, tasks) > LARGE]
    return [job for job in jobs if job not in large], large


def job_flops(job: TaskJob, tasks: Sequence[TaskFeatures]) -> float:
    """Multiplications and additions of a job on the features of its backbone and data set."""
    task = _task_of(job, tasks)
    return kind_of(task.dataset).flops(job, task)


def _seconds(job: TaskJob, tasks: Sequence[TaskFeatures]) -> float:
    """Estimated seconds of a job on one thread, or on the GPU."""
    task = _task_of(job, tasks)
    products = job_flops(job, tasks) / _rate(kind_of(task.dataset).product(task))
    if not on_gpu():
        return products * OTHER_WORK
    waiting = WEIGHT_ON_GPU * task.classes * task.dimension if isinstance(job, ManyShotJob) else 0.0
    return products + waiting


@lru_cache
def _rate(product: tuple[int, int, int]) -> float:
    return product_rate(product)


def _task_of(job: TaskJob, tasks: Sequence[TaskFeatures]) -> TaskFeatures:
    return next(task for task in tasks if (task.backbone, task.dataset.name) == (job.backbone, job.domain))

"""What the task study will do, and what that will take, before it starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.device import on_gpu
from unseen.features.disk import feature_bytes, remaining_rows
from unseen.features.settings import Settings
from unseen.features.speed import seconds_per_image
from unseen.images.datasets.dataset import Dataset
from unseen.images.datasets.open_dataset import OpenDataset
from unseen.papers.transfer import SOURCE
from unseen.probes.by_name.centroids import QUERIES, WAYS, FewShotJob
from unseen.probes.by_name.linear import ManyShotJob
from unseen.probes.many_shot import ManyShotProtocol
from unseen.runs.comparability_words import listed
from unseen.runs.data import Study
from unseen.runs.notices import Notice, notice
from unseen.runs.results import missing
from unseen.runs.task_work import TaskJob
from unseen.studies.probing import product_rate
from unseen.studies.tasks.comparisons import dataset_title, scored_data
from unseen.studies.tasks.features import TaskFeatures, splits_of
from unseen.studies.tasks.page_data import SHOTS

STUDY: Study = "tasks"
FIT_PRODUCT = (16_384, 1024)
"""Samples and dimensions of a product that is timed: more than a processor keeps at hand, as in most fits."""
OTHER_WORK = 3.0
"""What a fit takes beside its products: softmax, line search, copies."""
LARGE = 5e12
"""Multiplications and additions, minutes on a core, from which on a job is worth all of them."""


@dataclass(frozen=True)
class DatasetCost:
    """What the features of a data set take, for all backbones: images, those of them that are done, and bytes."""

    dataset: Dataset
    images: int
    done: int
    bytes: int
    seconds: float


def task_jobs(tasks: Sequence[TaskFeatures], protocol: ManyShotProtocol) -> list[TaskJob]:
    """Every job of a study: for each data set a linear probe, where it is split, and episodes of each of `SHOTS`."""
    jobs: list[TaskJob] = []
    for task in tasks:
        shared = (task.backbone, task.dataset.name)
        if task.dataset.test is not None:
            train, val, test = (task.hashes.get(split, "") for split in splits_of(task.dataset))
            jobs.append(ManyShotJob(STUDY, protocol, *shared, train, val, test, task.dataset.metric))
        features = tuple(task.hashes.values())
        jobs += [FewShotJob(STUDY, protocol.name, *shared, features, shots) for shots in possible_shots(task)]
    return jobs


def possible_shots(task: TaskFeatures) -> tuple[int, ...]:
    """The numbers of shots that every class has images for, beside those that are classified."""
    if task.dataset.few_shot is None or task.classes < WAYS:
        return ()
    return tuple(shots for shots in SHOTS if task.fewest >= shots + QUERIES)


def left_out(tasks: Sequence[TaskFeatures]) -> list[Notice]:
    """A notice on each data set that some settings of few shots leave out."""
    found = []
    for task in {task.dataset.name: task for task in tasks}.values():
        short = [shots for shots in SHOTS if shots not in possible_shots(task)]
        if not short or task.dataset.few_shot is None:
            continue
        settings = listed([f"{shots}-shot" for shots in short])
        reason = (
            f"{task.classes} classes, and episodes have {WAYS}"
            if task.classes < WAYS
            else f"a class with {task.fewest} images, and {short[0] + QUERIES} are needed"
        )
        title = dataset_title(scored_data(task, SOURCE))
        found.append(notice("no-episodes", task.dataset.name, title=title, settings=settings, reason=reason))
    return found


def extraction_cost(
    opened: OpenDataset, backbones: Sequence[Backbone], folder: Path, settings: Settings
) -> DatasetCost:
    """What the features of a data set take that are not below `folder` yet."""
    images = len(opened.manifest)
    specs, place = [backbone.spec for backbone in backbones], folder / opened.dataset.name
    parts = [
        remaining_rows(opened.source, opened.manifest, split, specs, place, settings)
        for split in splits_of(opened.dataset)
    ]
    left, seconds = [sum(of) for of in zip(*parts, strict=True)], 0.0
    if max(left):
        decode, compute = seconds_per_image(opened.source, backbones, settings)
        reading = decode * max(left) / max(settings.workers, 1)
        computing = sum(each * rows for each, rows in zip(compute, left, strict=True))
        # A CPU decodes and computes with the same cores, a GPU computes while the CPU decodes.
        seconds = reading + computing if settings.device == "cpu" else max(reading, computing)
    size = sum(feature_bytes(rows, spec.dimension, settings) for spec, rows in zip(specs, left, strict=True))
    return DatasetCost(opened.dataset, images, images - max(left), size, seconds)


def probing_seconds(jobs: Sequence[TaskJob], tasks: Sequence[TaskFeatures], folder: Path, workers: int) -> float:
    """Seconds that the missing jobs should take, from how fast this machine multiplies matrices."""
    # Jobs on features that are still to be made have no hashes yet, so no results either.
    todo = [job for job in jobs if not all(job.features)] + missing([job for job in jobs if all(job.features)], folder)
    if not todo:
        return 0.0
    classes = {task.classes for task in tasks}  # with few of them, products wait for memory
    rates = {count: product_rate((*FIT_PRODUCT, count)) / OTHER_WORK for count in classes}
    small, large = (
        [job_flops(job, tasks) / rates[_task_of(job, tasks).classes] for job in part] for part in by_size(todo, tasks)
    )
    overhead = 0.1 * len(todo)
    if on_gpu():
        return sum(small) + sum(large) + overhead
    return max(sum(small) / max(workers, 1), *small, 0.0) + sum(large) / max(workers, 1) + overhead


def by_size(jobs: Sequence[TaskJob], tasks: Sequence[TaskFeatures]) -> tuple[list[TaskJob], list[TaskJob]]:
    """Jobs to run side by side, a thread each, and those so large that each gets all threads for itself."""
    large = [job for job in jobs if job_flops(job, tasks) > LARGE]
    return [job for job in jobs if job not in large], large


def job_flops(job: TaskJob, tasks: Sequence[TaskFeatures]) -> float:
    """Multiplications and additions of a job on the features of its backbone and data set."""
    task = _task_of(job, tasks)
    return job.flops(task.rows, task.dimension, task.classes)


def _task_of(job: TaskJob, tasks: Sequence[TaskFeatures]) -> TaskFeatures:
    return next(task for task in tasks if (task.backbone, task.dataset.name) == (job.backbone, job.domain))

"""The task study: a backbone on classification tasks it was not trained for (Ericsson et al. 2021).

This module runs its jobs and writes its record; `unseen.studies.tasks.results` makes a page of the results.
"""

import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from unseen.backbones.backbone import Backbone as LoadedBackbone
from unseen.device import on_gpu
from unseen.features.about import StoreAbout
from unseen.features.readers import read_features
from unseen.features.settings import Settings
from unseen.features.store import MANIFEST
from unseen.images.open_dataset import OpenDataset
from unseen.probes.many_shot import ManyShotProtocol
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import choose_executor
from unseen.runs.fit_progress import FitProgress
from unseen.runs.means import Means
from unseen.runs.notices import Notice, notice
from unseen.runs.own_metric import OwnMetricTaskJob
from unseen.runs.setup import Extraction, FeatureKey, ProtocolUsed, Setup
from unseen.runs.task_work import TaskJob, kept_folder, run_task_job
from unseen.studies.concepts.features import Place
from unseen.studies.concepts.study import extraction_of, random_notices, training_data
from unseen.studies.features import read_about
from unseen.studies.own_code import NO_CODE, OwnCode
from unseen.studies.tasks.comparisons import dataset_title, is_of_dataset, scored_data
from unseen.studies.tasks.features import STUDY, TaskFeatures
from unseen.studies.tasks.own_record import own_citations, own_images, own_notices
from unseen.studies.tasks.plan import by_size, job_flops

TITLE = "Transfer to other tasks"
PROBE = "many-shot"
PUBLISHED_SIZE = 224
"""Side of the images in pixels in the paper."""
UNFINISHED = "unfinished"
"""Name of the folder of checkpoints of unfinished jobs, in the folder of results."""


def run_tasks(
    jobs: Sequence[TaskJob],
    tasks: Sequence[TaskFeatures],
    folder: Path,
    means: Means,
    tell: Callable[[FitProgress], None] | None = None,
) -> Generator[TaskJob, None, None]:
    """Run the jobs that have no result in `folder`, and yield each when it is done.

    Args:
        means: small jobs use its processes, large jobs its threads. One process uses a GPU.
        tell: called with the progress of a linear probe every few seconds, also in other processes.
    """
    places = {task.hashes[split]: place for task in tasks for split, place in task.places.items()}
    kept = folder / UNFINISHED
    work = OneByOne[TaskJob](partial(run_task_job, places=places, load=read_features, kept=kept, tell=tell))
    measuring = [replace(job, results=str(folder)) for job in jobs if isinstance(job, OwnMetricTaskJob)]
    fitting = [job for job in jobs if not isinstance(job, OwnMetricTaskJob)]
    small, large = (fitting, list[TaskJob]()) if on_gpu() else by_size(fitting, tasks)
    cost = partial(job_flops, tasks=tasks)
    running = chain(
        execute(
            small, folder, work, choose_executor(replace(means, workers=1 if on_gpu() else means.workers)), cost=cost
        ),
        execute(large, folder, work, choose_executor(replace(means, workers=1, threads=means.workers)), cost=cost),
        execute(measuring, folder, work, choose_executor(replace(means, workers=1 if on_gpu() else means.workers))),
    )
    for job in running:
        shutil.rmtree(kept_folder(job, kept), ignore_errors=True)
        yield job


def task_run(
    tasks: Sequence[TaskFeatures],
    protocol: ManyShotProtocol,
    *,
    top1: Mapping[str, float],
    missing: Sequence[Notice] = (),
    own: OwnCode = NO_CODE,
) -> RunData:
    """The record of a study, without its scores.

    Args:
        top1: known ImageNet accuracies of backbones, between 0 and 1.
        missing: notices about missing data sets, and about settings for which data sets have too few images.
    """
    scored = [scored_data(task, protocol.name) for task in tasks]
    datasets = {task.dataset.name: task.dataset for task in tasks}
    titles = {each.domain: dataset_title(each, datasets[each.domain]) for each in scored}
    licences = {each.domain: datasets[each.domain].licence for each in scored if is_of_dataset(each)}
    limits = {each.domain: each.limit for each in scored}
    backbones = {task.backbone: task for task in tasks}
    records = [_backbone(task, top1.get(name)) for name, task in backbones.items()]
    said = random_notices(records)
    said += [notice("temperature-on-test-data")] if protocol.temperature == "test-folds" else []
    said += [
        notice("other-size", backbone=name, size=task.size, published=PUBLISHED_SIZE)
        for name, task in backbones.items()
        if task.size is not None and task.size != PUBLISHED_SIZE
    ]
    return RunData(
        title=TITLE,
        scores=(),
        domains=[
            Domain(name, title, limit=limits[name], licence=licences.get(name, "")) for name, title in titles.items()
        ],
        backbones=records,
        baseline=next(iter(backbones)),
        told=[*said, *missing, *own_notices(datasets.values())],
        protocols=[ProtocolUsed.of(PROBE, protocol), *own.protocols()],
        images=own_images(datasets.values()),
        remarks=own_citations(datasets.values()),
        features=[FeatureKey(task.backbone, task.dataset.name, task.keys) for task in tasks],
        scored=scored,
        flaws=[flaw for task in tasks for flaw in task.flaws],
        study=STUDY,
    )


def task_setup(
    backbones: Sequence[LoadedBackbone],
    opened: Sequence[OpenDataset],
    settings: Settings,
    protocol: ManyShotProtocol,
    own: OwnCode = NO_CODE,
) -> Setup:
    """Everything that determines a study, known before its features, to compare with the run in a folder."""
    return Setup(
        protocols=[ProtocolUsed.of(PROBE, protocol), *own.protocols()],
        extractions={each.label: Extraction.by(each.spec, settings) for each in backbones},
        limits={each.dataset.name: each.manifest.limit for each in opened},
        images=own_images(each.dataset for each in opened),
    )


def _backbone(task: TaskFeatures, top1: float | None) -> Backbone:
    path = Path(next(iter(task.places.values()), ""))
    known = Place(path, read_about(path)).known if (path / MANIFEST).is_file() else StoreAbout()
    return Backbone(
        task.backbone,
        "yours",
        f"{task.dimension} features",
        imagenet_top1=top1,
        training_data=training_data(known.backbone.id or task.backbone, known.backbone) if known.backbone else None,
        features=extraction_of(known),
    )

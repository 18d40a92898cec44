"""The task study: a backbone on classification tasks it was not trained for (Ericsson et al. 2021).

What is run, and what is written of it; `unseen.studies.tasks.results` makes a page of its results.
"""

import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from unseen.backbones.backbone import Backbone as LoadedBackbone
from unseen.device import on_gpu
from unseen.features.readers import read_features
from unseen.features.settings import Settings
from unseen.features.store import MANIFEST
from unseen.images.datasets.open_dataset import OpenDataset
from unseen.images.datasets.registry import DATASETS
from unseen.probes.many_shot import ManyShotProtocol
from unseen.runs.data import Backbone, Domain, FeatureKey, RunData
from unseen.runs.execute import Means, OneByOne, execute
from unseen.runs.executors import choose_executor
from unseen.runs.fit_progress import FitProgress
from unseen.runs.notices import Notice, notice
from unseen.runs.record import VERSION
from unseen.runs.task_work import TaskJob, kept_folder, run_task_job
from unseen.studies.concepts.features import Place
from unseen.studies.concepts.study import backbone_text
from unseen.studies.features import read_about
from unseen.studies.tasks.comparisons import dataset_title, is_of_dataset, limit_text, scored_data
from unseen.studies.tasks.features import STUDY, TaskFeatures
from unseen.studies.tasks.plan import by_size
from unseen.version import __version__

TITLE = "Transfer to other tasks"
PUBLISHED_SIZE = 224
"""Pixels of an image's side in the paper."""
LIMIT_OF = "images taken of "
"""How the label of provenance begins that says how much of a data set was taken."""
UNFINISHED = "unfinished"
"""The folder, among results, of what jobs have so far that are not finished."""


def run_tasks(
    jobs: Sequence[TaskJob],
    tasks: Sequence[TaskFeatures],
    folder: Path,
    workers: int,
    tell: Callable[[FitProgress], None] | None = None,
) -> Generator[TaskJob, None, None]:
    """Run the jobs that have no result in `folder` yet and pass on each as it is done.

    Args:
        workers: processes for small jobs, and threads for large ones. One process drives a GPU.
        tell: told every few seconds how far a linear probe is, in whatever process it runs.
    """
    places = {task.hashes[split]: place for task in tasks for split, place in task.places.items()}
    kept = folder / UNFINISHED
    work = OneByOne[TaskJob](partial(run_task_job, places=places, load=read_features, kept=kept, tell=tell))
    small, large = (jobs, []) if on_gpu() else by_size(jobs, tasks)
    running = chain(
        execute(small, folder, work, choose_executor(Means(1 if on_gpu() else workers))),
        execute(large, folder, work, choose_executor(Means(threads=workers))),
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
) -> RunData:
    """What is written of a study, without its scores.

    Args:
        top1: accuracy on ImageNet of backbones whose it is known, as shares.
        missing: on the data sets that were asked for and are not there, and on settings that some lack the images for.
    """
    scored = [scored_data(task, protocol.name) for task in tasks]
    titles = {each.domain: dataset_title(each) for each in scored}
    licences = {each.domain: DATASETS[each.domain].licence for each in scored if is_of_dataset(each)}
    limits = {each.domain: each.limit for each in scored}
    backbones = {task.backbone: task for task in tasks}
    made = {name: _made_by(task) for name, task in backbones.items()}
    said = [notice("temperature-on-test-data")] if protocol.temperature == "test-folds" else []
    said += [
        notice("other-size", backbone=name, size=task.size, published=PUBLISHED_SIZE)
        for name, task in backbones.items()
        if task.size is not None and task.size != PUBLISHED_SIZE
    ]
    return RunData(
        title=TITLE,
        scores=(),
        domains=[Domain(name, title, limit=limits[name]) for name, title in titles.items()],
        backbones=[
            Backbone(
                name,
                "yours",
                f"{task.dimension} features",
                imagenet_top1=top1.get(name),
                made={"features": made[name]} if made[name] else {},
            )
            for name, task in backbones.items()
        ],
        baseline=next(iter(backbones)),
        told=[*said, *missing],
        provenance={
            "protocol": _protocol_text(protocol),
            **{f"features by {name}": text for name, text in made.items() if text},
            **{f"features of {task.dataset.name} by {task.backbone}": task.made for task in tasks},
            **{f"{LIMIT_OF}{name}": limit_text(limit) for name, limit in limits.items()},
            **{f"licence of {name}": licence for name, licence in licences.items()},
            VERSION: __version__,
        },
        features=[FeatureKey(task.backbone, task.dataset.name, task.made) for task in tasks],
        scored=scored,
        flaws=[flaw for task in tasks for flaw in task.flaws],
        study=STUDY,
    )


def task_provenance(
    backbones: Sequence[LoadedBackbone],
    opened: Sequence[OpenDataset],
    settings: Settings,
    protocol: ManyShotProtocol,
) -> dict[str, str]:
    """What decides a study before any of its features are there, to compare with the run that a folder has."""
    made = {
        f"features by {each.label}": backbone_text(Place(Path(), settings.decides(each.spec, "", "")))
        for each in backbones
    }
    limits = {f"{LIMIT_OF}{each.dataset.name}": limit_text(each.manifest.limit) for each in opened}
    return {"protocol": _protocol_text(protocol), **made, **limits}


def _made_by(task: TaskFeatures) -> str:
    """What decides features, as runs of concepts say it; empty where features do not tell."""
    path = Path(next(iter(task.places.values()), ""))
    about = read_about(path) if (path / MANIFEST).is_file() else {}
    spec = about.get("backbone")
    return backbone_text(Place(path, about)) if isinstance(spec, dict) and "transform" in spec else ""


def _protocol_text(protocol: ManyShotProtocol) -> str:
    where = "validation data" if protocol.temperature == "validation" else f"{protocol.folds} folds of the test data"
    return (
        f"{protocol.name}: {protocol.steps} constants from {protocol.weakest:g} to {protocol.strongest:g}, at most "
        f"{protocol.max_iterations} iterations each, temperature from {where}"
    )

"""The steps of `unseen tasks`: the data sets, the plan, the features, the probes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.extract import say_damaged
from unseen.cli.output import console, duration, note, print_table, track
from unseen.cli.watching import CommandWatch
from unseen.errors import UserError
from unseen.files import byte_size

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Settings
    from unseen.images.datasets.open_dataset import OpenDataset
    from unseen.jobs.fit_progress import FitProgress
    from unseen.probes.many_shot import ManyShotProtocol
    from unseen.runs.notices import Notice
    from unseen.studies.tasks.features import Found, TaskFeatures

FEATURES = "features"


def open_datasets(names: Sequence[str], images: Path | None) -> "tuple[list[OpenDataset], list[Notice]]":
    """The data sets that are there, and a notice on each of those asked for that is not, which is printed too."""
    from unseen.images.datasets.open_dataset import open_dataset
    from unseen.images.datasets.registry import DATASETS
    from unseen.runs.notices import left_out

    if images is not None and not images.is_dir():
        raise UserError(f"{images}: no such folder; give the one that all data sets are below")
    opened, faults = [], []
    for name in names or DATASETS:
        try:
            opened.append(open_dataset(DATASETS[name], images))
        except UserError as error:
            faults.append(left_out(name, str(error)))
    missing = leave_out(faults)
    if not opened:
        raise UserError("none of the data sets is there; unseen doctor --images FOLDER says how to get them")
    # Of data sets that nobody asked for by name, the page need not say that they are not there.
    return opened, missing if names else []


def leave_out(faults: "Sequence[Notice]") -> "list[Notice]":
    """Print a line on each data set that is passed over; the same for the page."""
    for fault in faults:
        note(f"left out: {fault.clause}")
    return list(faults)


def show_plan(
    opened: "Sequence[OpenDataset]",
    backbones: "Sequence[Backbone]",
    settings: "Settings",
    protocol: "ManyShotProtocol",
    out: Path,
    workers: int,
) -> int:
    """Print what a study will do, and what that takes; the bytes of features that are still to be written."""
    from unseen.features.disk import free_disk
    from unseen.features.settings import checked_device
    from unseen.runs.results import RESULTS
    from unseen.studies.tasks.features import expected_features
    from unseen.studies.tasks.plan import extraction_cost, left_out, probing_seconds, task_jobs

    checked_device(settings)
    costs = [extraction_cost(each, backbones, out / FEATURES, settings) for each in opened]
    expected = [expected_features(each, backbone.spec, backbone.label) for each in opened for backbone in backbones]
    _show_sizes(expected, [f"{cost.done / cost.images:.0%}" for cost in costs for _ in backbones])
    jobs = task_jobs(expected, protocol)
    disk, free = sum(cost.bytes for cost in costs), free_disk(out)
    probing = probing_seconds(jobs, expected, out / RESULTS, workers)
    console().print(
        f"\nFeatures: about {duration(sum(cost.seconds for cost in costs))} to extract those that are missing, "
        f"{byte_size(disk)} of disk, of which {byte_size(free)} are free."
        f"\nProbes: {len(jobs)} jobs, about {duration(probing)} for all of them."
    )
    for each in left_out(expected):
        note(each.sentence)
    return disk


def extract_features(
    opened: "Sequence[OpenDataset]", backbones: "Sequence[Backbone]", settings: "Settings", out: Path
) -> "Found":
    """Extract what is missing; all features of the study, and what is wrong with those that cannot be used."""
    from unseen.studies.tasks.features import Found, extract_dataset

    parts = [extract_dataset(each, backbones, out / FEATURES, settings, CommandWatch().extracting) for each in opened]
    faults = [fault for part in parts for fault in part.faults]
    features = [each for part in parts for each in part.features]
    for each in features:
        for split, store in each.places.items():
            say_damaged(f"{each.dataset.name}, {split}", Path(store))
    if not features:
        raise UserError(faults[0].clause)
    return Found(features, faults)


def probe_tasks(
    found: "Sequence[TaskFeatures]",
    protocol: "ManyShotProtocol",
    top1: dict[str, float],
    missing: "Sequence[Notice]",
    out: Path,
    workers: int,
) -> None:
    """Write the run down and run the jobs that are missing."""
    from unseen.runs.job import job_key
    from unseen.runs.record import extend_run
    from unseen.runs.results import RESULTS
    from unseen.runs.results import missing as without_result
    from unseen.studies.tasks.plan import left_out, probing_seconds, task_jobs
    from unseen.studies.tasks.study import run_tasks, task_run

    jobs = task_jobs(found, protocol)
    run = task_run(found, protocol, top1=top1, missing=[*missing, *left_out(found)])
    extend_run(out, run, list(map(job_key, jobs)))
    left = len(without_result(jobs, out / RESULTS))
    if left:
        seconds = duration(probing_seconds(jobs, found, out / RESULTS, workers))
        note(f"{left} of {len(jobs)} jobs to do, about {seconds}; stopped, the same command goes on.")
    for _ in track(run_tasks(jobs, found, out / RESULTS, workers, say_fits), "jobs done", left):
        pass


def say_fits(progress: "FitProgress") -> None:
    """Print how far a linear probe is; processes that run jobs call it too."""
    of = "fits" if progress.stage == "grid" else "fits of the refit"
    note(f"{progress.what}: {progress.done} of {progress.total} {of}, about {duration(progress.left)} left")


def show_features(found: "Sequence[TaskFeatures]", protocol: "ManyShotProtocol") -> None:
    from unseen.studies.tasks.plan import left_out, task_jobs

    _show_sizes(found, ["there"] * len(found))
    console().print(f"\nProbes: {len(task_jobs(found, protocol))} jobs.")
    for each in left_out(found):
        note(each.sentence)


def _show_sizes(found: "Sequence[TaskFeatures]", states: Sequence[str]) -> None:
    columns = ("data set", "backbone", "classes", "train", "val", "test", "all", "metric", "extracted")
    rows = [
        (
            each.dataset.name,
            each.backbone,
            f"{each.classes:,}",
            *(f"{each.rows[split]:,}" if split in each.rows else "–" for split in ("train", "val", "test", "all")),
            each.dataset.metric if each.dataset.test else "few-shot only",
            state,
        )
        for each, state in zip(found, states, strict=True)
    ]
    print_table("Transfer to other tasks", columns, rows, (*columns[2:7], columns[8]))

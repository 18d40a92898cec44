"""Runs of the task study and fits of shifts in the true format, with results that were made up instead of measured."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from unseen.backbones.backbone import Spec
from unseen.images.registry import DATASETS
from unseen.images.transform import Transform
from unseen.probes.by_name.centroids import Centroids
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.by_name.linear import Linear
from unseen.probes.finetuning.grid import FinetuneGrid
from unseen.probes.finetuning.jobs import grid_job, grid_of
from unseen.probes.job import Fit, Job, Pairs, fits_kept
from unseen.probes.many_shot import ERICSSON_2021, ManyShotProtocol, Metric
from unseen.report.shifts.files import write_study
from unseen.runs.executors.here import run_here
from unseen.runs.record import write_run
from unseen.runs.results import RESULTS
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.shifts.study import ShiftSettings, study_shifts
from unseen.studies.shifts.table import shift_table
from unseen.studies.tasks.plan import TaskProbes
from unseen.studies.tasks.study import task_run

Score = Callable[[str, str, str], float]


def write_task_run(
    folder: Path,
    backbones: Sequence[str],
    score: Score,
    *,
    datasets: Sequence[str] = ("cifar10", "dtd"),
    shots: Sequence[int] = (5,),
    protocol: ManyShotProtocol = ERICSSON_2021,
    grid: FinetuneGrid | None = None,
    top1: Mapping[str, float] | None = None,
) -> Path:
    """A finished run; `score` gives what a backbone has on a data set in a setting: linear, ece, scaled-ece, 5-shot.

    With a grid it has been fine-tuned too, and `score` gives finetuned, finetuned-ece and finetuned-scaled-ece.
    """
    jobs: list[Job] = []
    for name in backbones:
        for dataset in datasets:
            jobs.append(linear_job(name, dataset, protocol))
            jobs += [
                Job(Centroids.name, 1, name, dataset, {"all": "all"}, Centroids().described, number) for number in shots
            ]
            if grid:
                jobs.append(finetune_job(name, dataset, grid))

    def work(job: Job) -> dict[str, Any]:
        of = (job.backbone, job.dataset)
        if job.probe == Centroids.name:
            return fits_kept([Fit(job.probe, job.shots, 0, [("top1", score(*of, f"{job.shots}-shot"))], {}, 0.01)])
        if job.probe == FineTuned.name:
            errors = [("ece", score(*of, "finetuned-ece")), ("scaled-ece", score(*of, "finetuned-scaled-ece"))]
            return search_kept(job, [("top1", score(*of, "finetuned")), *errors])
        values = [("top1", score(*of, "linear")), ("ece", score(*of, "ece")), ("scaled-ece", score(*of, "scaled-ece"))]
        details = {"penalty": 1.0, "edge": None, "converged": [True], "refit_converged": True, "temperatures": [1.0]}
        return fits_kept([Fit(job.probe, None, 0, values, details)])

    features = [
        ProbedFeatures(name, each, DATASETS[each].counts, DATASETS[each].classes, 8)
        for name in backbones
        for each in datasets
    ]
    data = task_run(features, DATASETS, TaskProbes(protocol), top1=top1 or {})
    keys = [job.key for job in jobs]
    write_run(folder, data, keys)
    list(run_here(jobs, folder / RESULTS, work))
    return folder


def search_kept(job: Job, values: Pairs) -> dict[str, Any]:
    """The result of a fine-tuning with these values, and a search of which the first setting was chosen."""
    details = {"validation": [0.5] * grid_of(job).trials, "chosen": 0, "edges": []}
    fit = Fit(FineTuned.name, None, job.seed, values, details)
    return fits_kept([fit]) | {"trial_seconds": 1.0, "device": "cpu"}


def linear_job(backbone: str, dataset: str, protocol: ManyShotProtocol = ERICSSON_2021, metric: Metric = "top1") -> Job:
    """A linear probe on features that do not exist."""
    probe, reads = Linear(metric, protocol), {split: split for split in ("train", "val", "test")}
    return Job(Linear.name, Linear.revision, backbone, dataset, reads, probe.described)


def finetune_job(backbone: str, dataset: str, grid: FinetuneGrid) -> Job:
    spec = Spec(backbone, "none", "output", "none", 8, 0, Transform())
    return grid_job(backbone, spec, dataset, "images", grid, "top1", "float32", 0)


def write_shift_fit(folder: Path, accuracy: Mapping[str, tuple[float, float, float]]) -> Path:
    """What `unseen shifts fit` writes for models with accuracies, in percent, on `val` and on two shifted test sets."""
    rows = [{"model": name, "val": a, "sketch": b, "rendition": c} for name, (a, b, c) in accuracy.items()]
    table = shift_table(pd.DataFrame(rows), ["val"], ["sketch", "rendition"], unit="percent")
    write_study(study_shifts(table, ShiftSettings(resamples=200)), folder, source="made up")
    return folder

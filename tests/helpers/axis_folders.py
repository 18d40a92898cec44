"""Runs of the task study and fits of shifts in the true format, with results that were made up instead of measured."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from unseen.backbones.backbone import Spec
from unseen.images.registry import DATASETS
from unseen.images.transform import Transform
from unseen.probes.by_name.centroids import FewShotJob
from unseen.probes.by_name.linear import ManyShotJob
from unseen.probes.finetuning.grid import FinetuneGrid
from unseen.probes.finetuning.jobs import FinetuneTaskJob
from unseen.probes.many_shot import ERICSSON_2021, ManyShotProtocol
from unseen.report.shifts.files import write_study
from unseen.runs.executors.here import run_here
from unseen.runs.job import job_key
from unseen.runs.record import write_run
from unseen.runs.results import RESULTS
from unseen.studies.shifts.study import ShiftSettings, study_shifts
from unseen.studies.shifts.table import shift_table
from unseen.studies.tasks.features import TaskFeatures
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
    jobs: list[Any] = []
    for name in backbones:
        for dataset in datasets:
            jobs.append(ManyShotJob("tasks", protocol, name, dataset, "train", "val", "test", "top1"))
            jobs += [FewShotJob("tasks", protocol.name, name, dataset, ("all",), number) for number in shots]
            if grid:
                jobs.append(finetune_job(name, dataset, grid))

    def work(job: Any) -> dict[str, Any]:
        of = (job.backbone, job.domain)
        if isinstance(job, FewShotJob):
            return {"top1": score(*of, f"{job.shots}-shot"), "interval": 0.01}
        if isinstance(job, FinetuneTaskJob):
            errors = {"ece": score(*of, "finetuned-ece"), "scaled_ece": score(*of, "finetuned-scaled-ece")}
            return {"top1": score(*of, "finetuned")} | found_by_search(job) | errors
        fit = {"penalty": 1.0, "edge": None, "converged": [True], "refit_converged": True, "temperatures": [1.0]}
        return fit | {"top1": score(*of, "linear"), "ece": score(*of, "ece"), "scaled_ece": score(*of, "scaled-ece")}

    features = [
        TaskFeatures(name, DATASETS[each], {}, {}, DATASETS[each].counts, DATASETS[each].classes, 100, 8)
        for name in backbones
        for each in datasets
    ]
    data = task_run(features, protocol, top1=top1 or {})
    keys = [job_key(job) for job in jobs]
    write_run(folder, data, keys)
    list(run_here(jobs, folder / RESULTS, work))
    return folder


def found_by_search(job: FinetuneTaskJob) -> dict[str, Any]:
    """What a result of fine-tuning says of its search, beside the scores."""
    search = {"validation": [0.5] * job.protocol.trials, "chosen": 0, "edges": []}
    return search | {"trial_seconds": 1.0, "device": "cpu"}


def finetune_job(backbone: str, dataset: str, grid: FinetuneGrid) -> FinetuneTaskJob:
    spec = Spec(backbone, "none", "output", "none", 8, 0, Transform())
    return FinetuneTaskJob("tasks", grid, backbone, spec, dataset, "images", "top1", "float32", 0)


def write_shift_fit(folder: Path, accuracy: Mapping[str, tuple[float, float, float]]) -> Path:
    """What `unseen shifts fit` writes for models with accuracies, in percent, on `val` and on two shifted test sets."""
    rows = [{"model": name, "val": a, "sketch": b, "rendition": c} for name, (a, b, c) in accuracy.items()]
    table = shift_table(pd.DataFrame(rows), ["val"], ["sketch", "rendition"], unit="percent")
    write_study(study_shifts(table, ShiftSettings(resamples=200)), folder, source="made up")
    return folder

"""Runs of the task study and fits of shifts in the true format, with results that were made up instead of measured."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from hit_runs import Hits, fit_with_hits

from unseen.analyses.robustness.fits import ShiftSettings, study_shifts
from unseen.analyses.robustness.table import shift_table
from unseen.data.registry import DATASETS
from unseen.papers.comparability import ScoredData
from unseen.probes.by_name.centroids import Centroids
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.by_name.linear import Linear
from unseen.probes.finetuning.grid import FinetuneGrid
from unseen.probes.finetuning.trial import TRIAL_REVISION, Trial
from unseen.probes.job import Fit, Job, Pairs, fits_kept
from unseen.probes.many_shot import ERICSSON_2021, ManyShotProtocol, Metric
from unseen.probes.probe import Probe
from unseen.probes.units import CORRECT
from unseen.report.shifts.files import write_study
from unseen.runs.executors.here import run_here
from unseen.runs.record import write_run
from unseen.runs.results import RESULTS
from unseen.runs.setup import ProtocolUsed
from unseen.studies.opened import OpenedData, StudyData
from unseen.studies.record import Described, Measured, run_record
from unseen.studies.study import Study

Score = Callable[[str, str, str], float]
SEED_STEP = 0.02


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
    seeds: Sequence[int] = (0,),
    hits: Hits | None = None,
) -> Path:
    """A finished run; `score` gives what a backbone has on a data set in a setting: linear, ece, scaled-ece, 5-shot.

    With a grid it has been fine-tuned too, and `score` gives finetuned, finetuned-ece and finetuned-scaled-ece. Scores
    of fine-tuning and of episodes grow by `SEED_STEP` with each seed. With `hits`, linear probes keep them, and their
    accuracy is the mean.
    """
    jobs: list[Job] = []
    for name in backbones:
        for dataset in datasets:
            jobs.append(linear_job(name, dataset, protocol))
            jobs += [
                Job(Centroids.name, 1, name, dataset, {"all": "all"}, Centroids().described, number, seed)
                for number in shots
                for seed in seeds
            ]
            if grid:
                jobs += [finetune_job(name, dataset, grid, seed) for seed in seeds]

    def work(job: Job) -> dict[str, Any]:
        of, more = (job.backbone, job.dataset), SEED_STEP * job.seed
        if job.probe == Centroids.name:
            value = score(*of, f"{job.shots}-shot") + more
            return fits_kept([Fit(job.probe, job.shots, job.seed, [("top1", value)], {}, 0.01)])
        if job.probe == FineTuned.name:
            tuned = {"top1": "finetuned", "ece": "finetuned-ece", "scaled-ece": "finetuned-scaled-ece"}
            return search_kept(job, [(metric, score(*of, setting) + more) for metric, setting in tuned.items()])
        units = fit_with_hits(job, hits(*of, 0)).units if hits else None
        linear = score(*of, "linear") if units is None else float(units.arrays[CORRECT].mean())
        values = [("top1", linear), ("ece", score(*of, "ece")), ("scaled-ece", score(*of, "scaled-ece"))]
        details = {"penalty": 1.0, "edge": None, "converged": [True], "refit_converged": True, "temperatures": [1.0]}
        return fits_kept([Fit(job.probe, None, 0, values, details, units=units)])

    used = [Linear(protocol=protocol), Centroids(), *([FineTuned(grid)] if grid else [])]
    data = run_record(
        Study(name="test"),
        OpenedData(),
        Measured(
            [StudyData(DATASETS[each]) for each in datasets],
            [Described(name, text="8 features") for name in backbones],
            [ProtocolUsed.by(probe) for probe in used],
            scored=[whole_scored(name, each, protocol.name) for name in backbones for each in datasets],
        ),
        top1 or {},
    )
    keys = [job.key for job in jobs]
    write_run(folder, data, keys)
    list(run_here(jobs, folder / RESULTS, work))
    return folder


def whole_scored(backbone: str, dataset: str, protocol: str) -> ScoredData:
    """All images of a data set, with its own splits."""
    facts = DATASETS[dataset]
    return ScoredData(backbone, dataset, protocol, facts.classes, facts.counts, "given")


def search_kept(job: Job, values: Pairs) -> dict[str, Any]:
    """The result of a fine-tuning with these values, and a search of which the first setting was chosen."""
    details = {"validation": [0.5] * len(job.needs), "chosen": 0, "edges": [], "trial_seconds": 1.0}
    fit = Fit(FineTuned.name, None, job.seed, values, details)
    return fits_kept([fit]) | {"device": "cpu"}


def linear_job(backbone: str, dataset: str, protocol: ManyShotProtocol = ERICSSON_2021, metric: Metric = "top1") -> Job:
    """A linear probe on features that do not exist."""
    probe, reads = Linear(metric, protocol), {split: split for split in ("train", "val", "test")}
    return Job(Linear.name, Linear.revision, backbone, dataset, reads, probe.described)


def finetune_job(backbone: str, dataset: str, grid: FinetuneGrid, seed: int = 0) -> Job:
    """The final training of a grid on images that do not exist, which needs its trials."""

    def job(probe: Probe, needs: tuple[Job, ...] = ()) -> Job:
        reads, settings = {"spec": backbone, "images": "images"}, probe.described
        return Job(
            probe.name, TRIAL_REVISION, backbone, dataset, reads, settings, None, seed, "top1", "float32", needs=needs
        )  # fmt: skip

    return job(FineTuned(grid), tuple(job(Trial(each)) for each in grid.settings))


def write_shift_fit(folder: Path, accuracy: Mapping[str, tuple[float, float, float]]) -> Path:
    """What `unseen shifts fit` writes for models with accuracies, in percent, on `val` and on two shifted test sets."""
    rows = [{"model": name, "val": a, "sketch": b, "rendition": c} for name, (a, b, c) in accuracy.items()]
    table = shift_table(pd.DataFrame(rows), ["val"], ["sketch", "rendition"], unit="percent")
    write_study(study_shifts(table, ShiftSettings(resamples=200)), folder, source="made up")
    return folder

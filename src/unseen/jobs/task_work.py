"""Computing jobs of the task study from the features they name."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from unseen.device import default_device
from unseen.jobs.feature_pair import Load
from unseen.jobs.few_shot_job import FewShotJob, few_shot_flops, run_few_shot
from unseen.jobs.fit_progress import FitProgress
from unseen.jobs.many_shot_job import ManyShotJob, many_shot_flops, run_many_shot
from unseen.jobs.task_features import load_splits
from unseen.jobs.zero_rows import zero_row_values
from unseen.runs.job import job_key

TaskJob = ManyShotJob | FewShotJob
"""Both have a study, a backbone, a domain, which is the data set, and the hashes of their `features`."""


def run_task_job(
    job: TaskJob,
    *,
    places: Mapping[str, str],
    load: Load,
    kept: Path | None = None,
    tell: Callable[[FitProgress], None] | None = None,
) -> dict[str, Any]:
    """The values of one job.

    Args:
        places, load: as in `load_splits`.
        kept: folder below which a long job keeps what it has so far, in a folder of its own (`kept_folder`).
        tell: told every few seconds how far a long job is; a function at module level, so that it can be sent.
    """
    parts = load_splits(job.features, places, load)
    device = default_device()
    if isinstance(job, ManyShotJob):
        values = run_many_shot(job, parts, device, kept=kept and kept_folder(job, kept), tell=tell)
    else:
        values = run_few_shot(job, parts, device)
    met = zero_row_values({places[each]: part for each, part in zip(job.features, parts, strict=True)})
    return values | {"device": device.type} | met


def kept_folder(job: TaskJob, kept: Path) -> Path:
    """Where a job keeps what it has so far."""
    return kept / job_key(job)


def task_flops(job: TaskJob, rows: int, dimension: int, classes: int) -> float:
    """Multiplications and additions of a job on so many rows of so many dimensions and classes."""
    if isinstance(job, ManyShotJob):
        return many_shot_flops(job, rows, dimension, classes)
    return few_shot_flops(job, rows, dimension, classes)

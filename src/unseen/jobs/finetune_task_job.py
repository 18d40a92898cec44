"""The jobs of fine-tuning a backbone on a data set of the task study, and the scores they give.

A trial trains with one setting of the grid on training images and is scored on validation images. The task trains again
with the best setting, on both, and is scored on test images; it is this job whose scores count.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unseen.backbones.backbone import Spec
from unseen.jobs.calibration_values import calibration_metrics, calibration_values
from unseen.jobs.measured import measured
from unseen.probes.finetuning.grid import FinetuneGrid, at_edges
from unseen.probes.finetuning.train import Finetuned, FinetuneProtocol
from unseen.probes.many_shot import Calibration, Metric
from unseen.runs.results import Result
from unseen.runs.score import Score

REVISION = 2
"""Raised when fine-tuning gives other numbers for the same input."""


@dataclass(frozen=True)
class FinetuneTrialJob:
    """Everything that decides the validation score of one setting; which others are tried does not.

    Attributes:
        spec: of the backbone: its weights, layer, pooling and preprocessing.
        images: content hash of the manifest of training, validation and test images, and their fingerprint.
        arithmetic: "float32", or "float16" on a GPU.
        seed: of the new layer, the order of images and their augmentation.
    """

    study: str
    protocol: FinetuneProtocol
    backbone: str
    spec: Spec
    domain: str
    images: str
    metric: Metric
    arithmetic: str
    seed: int
    revision: int = REVISION


@dataclass(frozen=True)
class FinetuneTaskJob:
    """Everything that decides the test score of a fine-tuned backbone; attributes as in `FinetuneTrialJob`."""

    study: str
    protocol: FinetuneGrid
    backbone: str
    spec: Spec
    domain: str
    images: str
    metric: Metric
    arithmetic: str
    seed: int
    revision: int = REVISION


def trial_jobs(job: FinetuneTaskJob) -> list[FinetuneTrialJob]:
    """The trials that a task chooses from, in the order of its grid."""
    return [
        FinetuneTrialJob(
            job.study, setting, job.backbone, job.spec, job.domain, job.images, job.metric, job.arithmetic, job.seed,
            job.revision,
        )
        for setting in job.protocol.settings
    ]  # fmt: skip


def task_values(
    job: FinetuneTaskJob,
    score: float,
    chosen: int,
    validation: Sequence[float | None],
    calibrated: Calibration | None,
    training: Finetuned,
    passed_over: Sequence[int],
) -> dict[str, Any]:
    """What is kept of a task, as JSON.

    Args:
        chosen: place of the setting that was trained again.
        validation: score of every setting; None where training diverged.
        calibrated: None where images have several classes.
        training: with that setting.
        passed_over: places of better settings that diverged when they were trained again, the best first.
    """
    setting = job.protocol.settings[chosen]
    values: dict[str, Any] = {
        job.metric: score,
        "chosen": chosen,
        "setting": asdict(setting),
        "edges": at_edges(setting),
        "validation": list(validation),
        "passed_over": list(passed_over),
        "losses": list(training.losses),
        "skipped": training.skipped,
    }
    return values | calibration_values(calibrated)


def finetune_task_scores(result: Result) -> Iterator[Score]:
    """The scores in a result of a task."""
    job = result.job
    metrics = (job["metric"], *calibration_metrics(result.values))
    return measured(result, probe="fine-tuned", protocol=job["protocol"]["name"], metrics=metrics, seed=job["seed"])


def short_notices(results: Iterable[Result]) -> list[str]:
    """A sentence on each shortened search that results of tasks are of."""
    grids = (FinetuneGrid(**result.job["protocol"]) for result in results)
    return [*dict.fromkeys(grid.short for grid in grids if grid.short)]

"""The jobs of fine-tuning a backbone, and the contents of their results.

On a domain of the concept study, a training is one job. On a data set of the task study, a trial trains with one
setting of the grid on training images and is scored on validation images. The task job trains again with the best
setting on both, and is scored on test images; its scores are the ones reported.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from unseen.probes.calibration_values import calibration_values, read_calibrated
from unseen.probes.finetuning.grid import FinetuneGrid, at_edges
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.job import Fit, Job, read_flat

if TYPE_CHECKING:
    from unseen.backbones.backbone import Spec
    from unseen.probes.finetuning.train import Finetuned
    from unseen.probes.many_shot import Calibration, Metric

NAME = "fine-tuned"
DOMAIN_REVISION, TASK_REVISION = 3, 2
"""Increased when fine-tuning on a domain, or on a data set, gives other numbers for the same input."""


@dataclass(frozen=True)
class FinetuneJob(Job):
    """Everything that determines the scores of one fine-tuned backbone on a domain.

    Attributes:
        spec: the backbone's weights, layer, pooling and preprocessing.
        images: content hash of the manifest of training and test images, and their fingerprint.
        arithmetic: "float32", or "float16" on a GPU.
    """

    study: str
    protocol: FinetuneProtocol
    backbone: str
    spec: "Spec"
    domain: str
    images: str
    seed: int
    arithmetic: str = "float32"
    revision: int = DOMAIN_REVISION

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        yield read_flat(NAME, ("top1", "top5"), job, values)


@dataclass(frozen=True)
class _OnDataset:
    """Common fields of trials and tasks.

    Attributes:
        spec: the backbone's weights, layer, pooling and preprocessing.
        images: content hash of the manifest of training, validation and test images, and their fingerprint.
        arithmetic: "float32", or "float16" on a GPU.
        seed: seed of the new layer, the order of images and their augmentation.
    """

    study: str
    protocol: Any
    backbone: str
    spec: "Spec"
    domain: str
    images: str
    metric: "Metric"
    arithmetic: str
    seed: int
    revision: int = TASK_REVISION


@dataclass(frozen=True)
class FinetuneTrialJob(_OnDataset):
    """Everything that determines the validation score of one setting, independent of the other settings."""

    protocol: FinetuneProtocol


@dataclass(frozen=True)
class FinetuneTaskJob(_OnDataset, Job):
    """Everything that determines the test score of a fine-tuned backbone."""

    protocol: FinetuneGrid

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        yield read_calibrated(NAME, job, values)


def trial_jobs(job: FinetuneTaskJob) -> list[FinetuneTrialJob]:
    """The trials that a task chooses from, in the order of its grid."""
    return [FinetuneTrialJob(**{**vars(job), "protocol": setting}) for setting in job.protocol.settings]


def task_values(
    job: FinetuneTaskJob,
    score: float,
    chosen: int,
    validation: Sequence[float | None],
    calibrated: "Calibration | None",
    training: "Finetuned",
    passed_over: Sequence[int],
) -> dict[str, Any]:
    """The stored values of a task, as JSON.

    Args:
        chosen: index of the setting that was trained again.
        validation: score of every setting; None if training diverged.
        calibrated: None if images have several classes.
        training: training with that setting.
        passed_over: indices of better settings that diverged when trained again, best first.
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


def short_notices(jobs: Iterable[Mapping[str, Any]]) -> list[str]:
    """A sentence on each shortened search among tasks, given by their fields as read from JSON."""
    grids = (FinetuneGrid(**job["protocol"]) for job in jobs)
    return [*dict.fromkeys(grid.short for grid in grids if grid.short)]

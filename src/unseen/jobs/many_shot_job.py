"""The job of a many-shot linear probe on a data set of the task study, and the scores it gives."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.features.features import Features
from unseen.images.datasets.listing import SPLITS
from unseen.images.datasets.multi_label import class_names, targets
from unseen.images.datasets.open_dataset import check_classes
from unseen.jobs.calibration_values import calibration_metrics, calibration_values
from unseen.jobs.feature_pair import on_device
from unseen.jobs.fit_progress import FitProgress
from unseen.jobs.measured import measured
from unseen.jobs.task_features import split_labels
from unseen.probes.many_shot import REVISION, Labels, ManyShot, ManyShotProtocol, Metric, many_shot
from unseen.runs.results import Result
from unseen.runs.score import Score

if TYPE_CHECKING:
    import torch

ITERATIONS = 60
"""How many iterations a fit of the path takes, for estimates of time; the refit takes as many as ten of these fits."""
REFIT_FITS = 10


@dataclass(frozen=True)
class ManyShotJob:
    """Everything that decides the scores of one probe.

    Attributes:
        train, val, test: content hashes of the features.
        metric: the data set's own.
    """

    study: str
    protocol: ManyShotProtocol
    backbone: str
    domain: str
    train: str
    val: str
    test: str
    metric: Metric
    revision: int = REVISION

    @property
    def features(self) -> tuple[str, ...]:
        return self.train, self.val, self.test


def run_many_shot(
    job: ManyShotJob,
    parts: Sequence[Features],
    device: "torch.device",
    *,
    kept: Path | None = None,
    tell: Callable[[FitProgress], None] | None = None,
) -> dict[str, Any]:
    """The values of a job.

    Args:
        parts: training, validation and test features with labels that are indices into one list of classes.
        kept: folder for what is solved so far, which a later call goes on from; None to keep nothing.
        tell: told every few seconds how far it is.
    """
    import torch

    from unseen.jobs.kept_fits import KeptFits

    several = job.metric == "map-11-point"
    words = split_labels(dict(zip(SPLITS, parts, strict=True)))
    check_classes(words, f"{job.domain} by {job.backbone}", "every class needs one", several=several)
    labels = _several_labels(parts) if several else [Labels(torch.from_numpy(part.y)) for part in parts]
    fits = KeptFits(kept, f"{job.domain} by {job.backbone}", tell)
    found = many_shot(
        [(on_device(part.X, device, copies=8), label) for part, label in zip(parts, labels, strict=True)],
        job.metric,
        job.protocol,
        solved=fits.solved,
        watch=fits.add,
    )
    return many_shot_values(found, job.metric)


def many_shot_values(found: ManyShot, metric: Metric) -> dict[str, Any]:
    """What is kept of a probe, as JSON; where bins are empty, their means are null."""
    values: dict[str, Any] = {
        metric: found.score,
        "penalty": found.penalty,
        "edge": found.edge,
        "validation": list(found.validation),
        "iterations": list(found.iterations),
        "converged": list(found.converged),
        "refit_converged": found.refit_converged,
    }
    return values | calibration_values(found.calibration)


def _several_labels(parts: Sequence[Features]) -> list[Labels]:
    """What images show, where that is several classes."""
    import torch

    words = parts[0].classes
    classes = class_names(words)
    found = [targets([words[index] for index in part.y.tolist()], classes) for part in parts]
    # In training, what is difficult to recognise counts as not shown; in scoring it counts neither way.
    return [Labels(torch.from_numpy(part.positives), torch.from_numpy(part.ignored)) for part in found]


def many_shot_flops(job: ManyShotJob, rows: int, dimension: int, classes: int) -> float:
    """Of the path on so many rows, and of the eigendecompositions of the two sets of features."""
    fits = 4.0 * rows * dimension * classes * ITERATIONS * (job.protocol.steps + REFIT_FITS)
    return fits + 2 * (4.0 * rows * dimension * min(rows, dimension) + 10.0 * min(rows, dimension) ** 3)


def many_shot_scores(result: Result) -> Iterator[Score]:
    """The scores in a result of such a job."""
    job = result.job
    metrics = (job["metric"], *calibration_metrics(result.values))
    return measured(result, probe="many-shot", protocol=job["protocol"]["name"], metrics=metrics, seed=0)

"""The jobs of fine-tuning a backbone, and the contents of their results.

With one setting (`FinetuneProtocol`), a training is one job. With a grid of settings, a trial trains with one of them
on training images and is scored on validation images; the final job needs all trials, trains again with the best
setting on both, and is scored on test images.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.calibration_values import calibration_details, calibration_scores
from unseen.probes.finetuning.grid import FinetuneGrid, at_edges
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.job import Fit, Held, Job, digest_of

if TYPE_CHECKING:
    from unseen.backbones.backbone import Spec
    from unseen.probes.finetuning.train import Finetuned
    from unseen.probes.many_shot import Calibration, Metric

TRIAL = "fine-tuned-trial"
"""The probe of jobs that train with one setting of a grid."""
REFERENCE_REVISION, GRID_REVISION = 3, 2
"""Increased when a training with one setting, or with a grid, gives other numbers for the same input."""


def reference_job(
    backbone: str, spec: "Spec", dataset: str, images: str, protocol: FinetuneProtocol, arithmetic: str, seed: int
) -> Job:
    """The job that trains with one setting on training images and is scored on test images.

    Args:
        images: content hash of the manifest of training and test images, and their fingerprint.
        arithmetic: "float32", or "float16" on a GPU.
    """
    return _job(FineTuned.name, REFERENCE_REVISION, backbone, spec, dataset, images, protocol, "", arithmetic, seed)


def grid_job(
    backbone: str,
    spec: "Spec",
    dataset: str,
    images: str,
    grid: FinetuneGrid,
    metric: "Metric",
    arithmetic: str,
    seed: int,
) -> Job:
    """The final job of a grid, which needs its trials, in the order of the grid; the arguments are as above."""
    trials = tuple(
        _job(TRIAL, GRID_REVISION, backbone, spec, dataset, images, setting, metric, arithmetic, seed)
        for setting in grid.settings
    )
    return _job(FineTuned.name, GRID_REVISION, backbone, spec, dataset, images, grid, metric, arithmetic, seed, trials)


def _job(
    name: str,
    revision: int,
    backbone: str,
    spec: "Spec",
    dataset: str,
    images: str,
    protocol: FinetuneProtocol | FinetuneGrid,
    metric: str,
    arithmetic: str,
    seed: int,
    needs: tuple[Job, ...] = (),
) -> Job:
    probe, reads = FineTuned(protocol), {"spec": digest_of(spec), "images": images}
    return Job(
        name, revision, backbone, dataset, reads, probe.described, None, seed, metric, arithmetic, needs=needs,
        make=Held(probe),
    )  # fmt: skip


def protocol_of_training(job: Job) -> FinetuneProtocol:
    """The setting of a training."""
    probe = job.fitted
    assert isinstance(probe, FineTuned)
    assert isinstance(probe.protocol, FinetuneProtocol)
    return probe.protocol


def grid_of(job: Job) -> FinetuneGrid:
    """The grid of a final job."""
    probe = job.fitted
    assert isinstance(probe, FineTuned)
    assert isinstance(probe.protocol, FinetuneGrid)
    return probe.protocol


def final_fit(
    job: Job,
    score: float,
    chosen: int,
    validation: Sequence[float | None],
    calibrated: "Calibration | None",
    training: "Finetuned",
    passed_over: Sequence[int],
) -> Fit:
    """The fit of a final job.

    Args:
        chosen: index of the setting that was trained again.
        validation: score of every setting; None if training diverged.
        calibrated: None if images have several classes.
        training: training with that setting.
        passed_over: indices of better settings that diverged when trained again, best first.
    """
    setting = grid_of(job).settings[chosen]
    details: dict[str, Any] = {
        "chosen": chosen,
        "setting": asdict(setting),
        "edges": at_edges(setting),
        "validation": list(validation),
        "passed_over": list(passed_over),
        "losses": list(training.losses),
        "skipped": training.skipped,
        **calibration_details(calibrated),
    }
    return Fit(FineTuned.name, None, job.seed, ((job.metric, score), *calibration_scores(calibrated)), details)


def short_notices(jobs: Iterable[Mapping[str, Any]]) -> list[str]:
    """A sentence on each shortened search among final jobs, given by their fields as read from JSON."""
    grids = (FinetuneGrid(**job["settings"]["protocol"]) for job in jobs)
    return [*dict.fromkeys(grid.short for grid in grids if grid.short)]

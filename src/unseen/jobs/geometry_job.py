"""The job of measuring how test features lie on the unit sphere, and the scores it gives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unseen.features.features import Features
from unseen.jobs.feature_pair import on_device
from unseen.jobs.measured import measured
from unseen.metrics.geometry import alignment, uniformity
from unseen.runs.results import Result
from unseen.runs.score import Score

if TYPE_CHECKING:
    import torch

REVISION = 1
"""Raised when a measure gives other numbers for the same input."""


@dataclass(frozen=True)
class GeometryJob:
    """Everything that decides alignment (α = 2) and uniformity (t = 2) of test features.

    Attributes:
        protocol: the name of the study's.
        train, test: content hashes of the features; those to train on only say what the classes are.
    """

    study: str
    protocol: str
    backbone: str
    domain: str
    train: str
    test: str
    revision: int = REVISION


def run_geometry_jobs(
    jobs: Sequence[GeometryJob], train: Features, test: Features, device: "torch.device"
) -> Iterator[tuple[GeometryJob, dict[str, Any]]]:
    """The values of jobs on the same features, each passed on as it is done."""
    import torch

    X, y = on_device(test.X, device, copies=3), torch.from_numpy(test.y)
    for job in jobs:
        yield job, {"alignment": alignment(X, y), "uniformity": uniformity(X)}


def geometry_flops(job: GeometryJob, rows: int, dimension: int, classes: int) -> float:
    """All pairs of test samples, which are taken to be a twentieth of the training samples, as in ImageNet-CoG."""
    return float(rows / 20) ** 2 * dimension


def geometry_scores(result: Result) -> Iterator[Score]:
    """The scores in a result of such a job."""
    return measured(
        result, probe="geometry", protocol=result.job["protocol"], metrics=("alignment", "uniformity"), seed=0
    )

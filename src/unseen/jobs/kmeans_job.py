"""The job of clustering features into as many clusters as there are concepts, and the scores it gives.

ImageNet-CoG's first version, section 3.4: k-means on the ℓ2-normalised training features from several seeds; the
clustering of least inertia is kept, and test samples go to its nearest centres and are compared with their concepts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from unseen.features.features import Features
from unseen.jobs.feature_pair import on_device
from unseen.jobs.measured import measured
from unseen.metrics.clustering import clustering_scores
from unseen.probes.kmeans import assign, kmeans
from unseen.runs.results import Result
from unseen.runs.score import Score

if TYPE_CHECKING:
    import torch

REVISION = 1
"""Raised when clustering or its scores give other numbers for the same input."""
ITERATIONS = 60
"""How many iterations a clustering takes, for estimates of time."""


@dataclass(frozen=True)
class KMeansJob:
    """Everything that decides the scores of one clustering.

    Attributes:
        protocol: the name of the study's.
        train, test: content hashes of the features.
        half: whether nearest centres are sought by 16-bit products first, as on a GPU.
    """

    study: str
    protocol: str
    backbone: str
    domain: str
    train: str
    test: str
    seeds: tuple[int, ...] = (0, 1, 2)
    half: bool = False
    revision: int = REVISION


def run_kmeans_jobs(
    jobs: Sequence[KMeansJob], train: Features, test: Features, device: "torch.device"
) -> Iterator[tuple[KMeansJob, dict[str, Any]]]:
    """The values of jobs on the same features, each passed on as it is done."""
    import torch

    X = on_device(train.X, device, unit=True, copies=3)
    X_test = on_device(test.X, device, unit=True)
    for job in jobs:
        found = kmeans(X, len(train.classes), seeds=job.seeds, half=job.half)
        scores = clustering_scores(torch.from_numpy(test.y), assign(X_test, found.centres).cpu())
        values = {"inertias": list(found.inertias), "iterations": found.iterations, "converged": found.converged}
        yield job, asdict(scores) | values


def kmeans_flops(job: KMeansJob, rows: int, dimension: int, classes: int) -> float:
    """Two a sample, dimension, cluster and iteration, of all seeds."""
    return 2.0 * rows * dimension * classes * ITERATIONS * len(job.seeds)


def kmeans_scores(result: Result) -> Iterator[Score]:
    """The scores in a result of such a job; their seed is the first of those that were tried."""
    job = result.job
    return measured(
        result,
        probe="k-means",
        protocol=job["protocol"],
        metrics=("purity", "ami", "nmi", "ari"),
        seed=job["seeds"][0],
    )

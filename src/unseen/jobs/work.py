"""Computing jobs of any kind from the features they name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unseen.device import default_device
from unseen.features.features import Features
from unseen.jobs.feature_pair import Load, load_pair
from unseen.jobs.geometry_job import GeometryJob, geometry_flops, run_geometry_jobs
from unseen.jobs.kmeans_job import KMeansJob, kmeans_flops, run_kmeans_jobs
from unseen.jobs.mlp_job import MlpJob, mlp_flops, run_mlp_jobs
from unseen.jobs.pca_job import PcaJob, pca_flops, run_pca_jobs
from unseen.jobs.probe_job import LogisticJob, logistic_flops, run_logistic_jobs
from unseen.jobs.zero_rows import zero_row_values
from unseen.runs.job import describe, description_key

if TYPE_CHECKING:
    import torch

Job = LogisticJob | PcaJob | MlpJob | KMeansJob | GeometryJob
"""What is done with a pair of features; all have a study, a backbone, a domain and the hashes `train` and `test`."""
Run = Callable[[Sequence[Any], Features, Features, "torch.device"], Iterator[tuple[Any, dict[str, Any]]]]

_RUN: dict[type, Run] = {
    LogisticJob: run_logistic_jobs,
    PcaJob: run_pca_jobs,
    MlpJob: run_mlp_jobs,
    KMeansJob: run_kmeans_jobs,
    GeometryJob: run_geometry_jobs,
}
_FLOPS: dict[type, Callable[[Any, int, int, int], float]] = {
    LogisticJob: logistic_flops,
    PcaJob: pca_flops,
    MlpJob: mlp_flops,
    KMeansJob: kmeans_flops,
    GeometryJob: geometry_flops,
}


def run_alike(jobs: Sequence[Job], *, places: Mapping[str, str], load: Load) -> Iterator[tuple[Job, dict[str, Any]]]:
    """The values of jobs that differ in shots and seed only, each passed on as it is done.

    Args:
        places, load: as in `load_pair`.
    """
    if not jobs:
        return
    train, test = load_pair(jobs[0].train, jobs[0].test, places, load)
    device = default_device()
    zeros = zero_row_values({places[jobs[0].train]: train, places[jobs[0].test]: test})
    for job, values in _RUN[type(jobs[0])](jobs, train, test, device):
        yield job, values | {"device": device.type} | zeros


def alike(jobs: Sequence[Job]) -> list[list[Job]]:
    """The jobs in groups that differ in shots and seed only, in order of the first of each."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        shared = {name: value for name, value in describe(job).items() if name not in {"shots", "seed"}}
        groups.setdefault(description_key(shared), []).append(job)
    return list(groups.values())


def flops(job: Job, rows: int, dimension: int, classes: int) -> float:
    """Multiplications and additions of a job on so many training rows of so many dimensions and classes."""
    return _FLOPS[type(job)](job, rows, dimension, classes)

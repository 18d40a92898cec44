"""The job of few-shot episodes on a data set of the task study, and the scores it gives.

Ericsson et al. 2021, appendix A.3: 600 episodes of 5 classes with 15 queries each, of the images of all splits
together, classified by the nearest centroid.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.features.features import Features
from unseen.jobs.feature_pair import all_on_device
from unseen.jobs.measured import measured
from unseen.probes.centroids import centroids
from unseen.runs.results import Result
from unseen.runs.score import Score

if TYPE_CHECKING:
    import torch

REVISION = 1
"""Raised when episodes give other numbers for the same input."""
WAYS, QUERIES, EPISODES = 5, 15, 600


@dataclass(frozen=True)
class FewShotJob:
    """Everything that decides the accuracy over episodes.

    Attributes:
        protocol: the name of the study's.
        features: content hashes of the features of all splits, in their order.
    """

    study: str
    protocol: str
    backbone: str
    domain: str
    features: tuple[str, ...]
    shots: int
    ways: int = WAYS
    queries: int = QUERIES
    episodes: int = EPISODES
    seed: int = 0
    revision: int = REVISION


def run_few_shot(job: FewShotJob, parts: Sequence[Features], device: "torch.device") -> dict[str, Any]:
    """The values of a job; the labels of `parts` are indices into one list of classes."""
    import torch

    found = centroids(
        all_on_device([part.X for part in parts], device, copies=2),
        torch.from_numpy(np.concatenate([part.y for part in parts])),
        shots=job.shots,
        ways=job.ways,
        queries=job.queries,
        episodes=job.episodes,
        seed=job.seed,
    )
    return {"top1": found.accuracy, "interval": found.interval}


def few_shot_flops(job: FewShotJob, rows: int, dimension: int, classes: int) -> float:
    """Distances of queries to centroids; reading all rows costs as much as some thirty products with each."""
    return 2.0 * job.episodes * job.ways**2 * job.queries * dimension + 30.0 * rows * dimension


def few_shot_scores(result: Result) -> Iterator[Score]:
    """The score in a result of such a job, with its interval over episodes."""
    job = result.job
    for score in measured(result, probe="centroids", protocol=job["protocol"], metrics=("top1",), seed=job["seed"]):
        half = result.values["interval"]
        yield replace(score, low=score.value - half, high=score.value + half)

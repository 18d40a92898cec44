"""The job of probing features with the logistic protocol, and the scores it gives."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import UserError
from unseen.features.features import Features, align
from unseen.jobs.runner import Result
from unseen.probes.logistic import REVISION, LogisticProtocol, probe_logistic
from unseen.results.score import Score


@dataclass(frozen=True)
class LogisticJob:
    """Everything that decides the scores of one probe.

    Attributes:
        train, test: content hashes of the features.
        revision: of the probe's code: raised when it gives other numbers than before.
    """

    study: str
    protocol: LogisticProtocol
    backbone: str
    domain: str
    train: str
    test: str
    shots: int | None
    seed: int
    revision: int = REVISION


Load = Callable[[Path], Features]


def run_logistic_job(job: LogisticJob, *, places: dict[str, str], load: Load) -> dict[str, Any]:
    """Load features by their hashes, probe, and return the values of the result.

    Args:
        places: content hash → file or folder.
        load: reads such a place.
    """
    import torch

    train, test = _pair((job.train, job.test), (places[job.train], places[job.test]), load)
    tensors = [torch.from_numpy(array) for array in (_rows(train), train.y, _rows(test), test.y)]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    found = probe_logistic(*tensors, protocol=job.protocol, shots=job.shots, seed=job.seed, device=device)
    return {
        "top1": found.top1,
        "top5": found.top5,
        "rate": found.rate,
        "decay": found.decay,
        "fewest_samples": found.fewest_samples,
        "trials": [[trial.rate, trial.decay, trial.score] for trial in found.trials],
        "device": device,
    }


@lru_cache(maxsize=2)
def _pair(hashes: tuple[str, str], places: tuple[str, str], load: Load) -> tuple[Features, Features]:
    """Training and test features, kept for the next job; their content must be what the job was planned with."""
    train, test = (load(Path(place)) for place in places)
    for features, expected, place in zip((train, test), hashes, places, strict=True):
        if features.provenance.get("content_hash") != expected:
            raise UserError(f"{place}: changed since this run was planned; run it again")
    return align(train, test, " and ".join(places))


def _rows(features: Features) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.asarray(features.X).astype(np.float32)


def result_scores(result: Result) -> Iterator[Score]:
    """The scores in a result of a logistic job."""
    job = result.job
    for metric in ("top1", "top5"):
        value = result.values.get(metric)
        if not isinstance(value, float) or not 0 <= value <= 1:
            raise UserError(f"the result {result.key}.json has no sound {metric}; delete the file and run again")
        yield Score(
            study=job["study"],
            protocol=job["protocol"]["name"],
            backbone=job["backbone"],
            domain=job["domain"],
            probe="logistic",
            shots=job["shots"],
            seed=job["seed"],
            metric=metric,
            value=value,
            seconds=result.seconds,
            versions=result.versions,
            key=result.key,
        )

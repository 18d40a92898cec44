"""The job of probing features with the logistic protocol, and the scores it gives."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from unseen.errors import UserError
from unseen.features.features import Features, align
from unseen.jobs.runner import Result
from unseen.probes.logistic import REVISION, LogisticResult, Setting, probe_settings
from unseen.probes.protocol import LogisticProtocol
from unseen.results.score import Score


@dataclass(frozen=True)
class LogisticJob:
    """Everything that decides the scores of one probe.

    Attributes:
        train, test: content hashes of the features.
        products: type of the numbers that are multiplied: float16 on a GPU, float32 on a CPU.
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
    products: str = "float32"
    revision: int = REVISION


Load = Callable[[Path], Features]


def run_logistic_job(job: LogisticJob, *, places: dict[str, str], load: Load) -> dict[str, Any]:
    """Load features by their hashes, probe, and return the values of the result.

    Args:
        places: content hash → file or folder.
        load: reads such a place.
    """
    return next(run_logistic_jobs([job], places=places, load=load))[1]


def run_logistic_jobs(
    jobs: Sequence[LogisticJob], *, places: dict[str, str], load: Load
) -> Iterator[tuple[LogisticJob, dict[str, Any]]]:
    """The same for several jobs that differ in shots and seed only, each passed on as it is done."""
    import torch

    if not jobs:
        return
    job = jobs[0]
    train, test = _pair((job.train, job.test), (places[job.train], places[job.test]), load)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    of_setting = {Setting(each.shots, each.seed): each for each in jobs}
    found = probe_settings(
        train.X,
        torch.from_numpy(train.y),
        test.X,
        torch.from_numpy(test.y),
        list(of_setting),
        protocol=job.protocol,
        device=device,
        products=getattr(torch, job.products),
    )
    for setting, result in found:
        yield of_setting[setting], _values(result) | {"device": device}


def _values(found: LogisticResult) -> dict[str, Any]:
    return {
        "top1": found.top1,
        "top5": found.top5,
        "rate": found.rate,
        "decay": found.decay,
        "fewest_samples": found.fewest_samples,
        "trials": [[trial.rate, trial.decay, trial.score] for trial in found.trials],
    }


@lru_cache(maxsize=2)
def _pair(hashes: tuple[str, str], places: tuple[str, str], load: Load) -> tuple[Features, Features]:
    """Training and test features, kept for the next job; their content must be what the job was planned with."""
    train, test = (load(Path(place)) for place in places)
    for features, expected, place in zip((train, test), hashes, places, strict=True):
        if features.provenance.get("content_hash") != expected:
            raise UserError(f"{place}: changed since this run was planned; run it again")
    return align(train, test, " and ".join(places))


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

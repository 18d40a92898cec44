"""The job of probing features with the logistic protocol, and the scores it gives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unseen.features.features import Features
from unseen.jobs.correctness import packed, top1_hits
from unseen.jobs.feature_pair import on_device
from unseen.jobs.measured import measured
from unseen.probes.logistic import REVISION, LogisticResult, Setting, probe_settings
from unseen.probes.protocol import LogisticProtocol
from unseen.runs.results import Result
from unseen.runs.score import Score

if TYPE_CHECKING:
    import torch


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


def run_logistic_jobs(
    jobs: Sequence[LogisticJob], train: Features, test: Features, device: "torch.device"
) -> Iterator[tuple[LogisticJob, dict[str, Any]]]:
    """The values of jobs that differ in shots and seed only, each passed on as it is done."""
    import torch

    of_setting = {Setting(job.shots, job.seed): job for job in jobs}
    products = getattr(torch, jobs[0].products)
    y_test = torch.from_numpy(test.y)
    found = probe_settings(
        train.X,
        torch.from_numpy(train.y),
        test.X,
        y_test,
        list(of_setting),
        protocol=jobs[0].protocol,
        device=device,
        products=products,
    )
    rows = on_device(test.X, device, unit=True).to(products)
    for setting, result in found:
        hits = top1_hits(rows, y_test, result.weights, result.bias)
        yield of_setting[setting], logistic_values(result) | packed(hits)


def logistic_values(found: LogisticResult) -> dict[str, Any]:
    """What is kept of a logistic regression, as JSON."""
    return {
        "top1": found.top1,
        "top5": found.top5,
        "rate": found.rate,
        "decay": found.decay,
        "fewest_samples": found.fewest_samples,
        "trials": [[trial.rate, trial.decay, trial.score] for trial in found.trials],
    }


def logistic_flops(job: LogisticJob, rows: int, dimension: int, classes: int) -> float:
    """Multiplications and additions of a job's products: trials on the larger part, then the final fit."""
    whole = rows if job.shots is None else min(job.shots * classes, rows)
    part = whole * (1 - job.protocol.validation) if job.shots is None else whole
    return 4 * (dimension + 1) * classes * job.protocol.epochs * (part * job.protocol.trials + whole)


def logistic_scores(result: Result) -> Iterator[Score]:
    """The scores in a result of a logistic job."""
    job = result.job
    return measured(
        result, probe="logistic", protocol=job["protocol"]["name"], metrics=("top1", "top5"), seed=job["seed"]
    )

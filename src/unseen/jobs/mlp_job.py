"""The job of training a perceptron on features, with activations or without, and the scores it gives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from unseen.features.features import Features
from unseen.jobs.feature_pair import on_device
from unseen.jobs.measured import measured
from unseen.probes.mlp import COG_V1_MLP, COG_V1_MLP_LINEAR, REVISION, MlpProtocol, probe_mlp
from unseen.probes.protocol import LogisticProtocol
from unseen.runs.results import Result
from unseen.runs.score import Score

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class MlpJob:
    """Everything that decides the scores of one perceptron; the rest as in `LogisticJob`.

    Attributes:
        arithmetic: "float32", or "tf32" on a GPU.
    """

    study: str
    protocol: MlpProtocol
    backbone: str
    domain: str
    train: str
    test: str
    seed: int
    arithmetic: str = "float32"
    revision: int = REVISION


def perceptrons_beside(protocol: LogisticProtocol) -> tuple[MlpProtocol, MlpProtocol]:
    """The perceptron and its twin without activations, as thorough as a study's logistic regressions.

    Epochs, trials, batches and the share for validation are the study's, as is the name; layers and the ranges that are
    searched are the perceptrons' own.
    """
    shared = {
        name: getattr(protocol, name)
        for name in ("name", "epochs", "trials", "round_size", "batch", "momentum", "validation", "starts")
    }
    return replace(COG_V1_MLP, **shared), replace(COG_V1_MLP_LINEAR, **shared)


def run_mlp_jobs(
    jobs: Sequence[MlpJob], train: Features, test: Features, device: "torch.device"
) -> Iterator[tuple[MlpJob, dict[str, Any]]]:
    """The values of jobs that differ in their seed only, each passed on as it is done."""
    import torch

    X_train, X_test = on_device(train.X, device, copies=2), on_device(test.X, device)
    for job in jobs:
        found = probe_mlp(
            X_train,
            torch.from_numpy(train.y),
            X_test,
            torch.from_numpy(test.y),
            protocol=job.protocol,
            seed=job.seed,
            device=device,
        )
        values = {
            "top1": found.top1,
            "top5": found.top5,
            "rate": found.rate,
            "decay": found.decay,
            "finished": found.finished,
            "trials": [[trial.rate, trial.decay, trial.score] for trial in found.trials],
        }
        yield job, values


def mlp_flops(job: MlpJob, rows: int, dimension: int, classes: int) -> float:
    """Six a weight, sample and epoch, for the trials on the larger part and the final training."""
    weights = sum(a * b for a, b in pairwise((dimension, *job.protocol.hidden, classes)))
    passes = job.protocol.epochs * ((1 - job.protocol.validation) * job.protocol.trials + 1)
    return 6 * weights * rows * passes


def mlp_scores(result: Result) -> Iterator[Score]:
    """The scores in a result of such a job."""
    job = result.job
    return measured(
        result,
        probe="mlp" if job["protocol"]["relu"] else "linear-twin",
        protocol=job["protocol"]["name"],
        metrics=("top1", "top5"),
        seed=job["seed"],
    )

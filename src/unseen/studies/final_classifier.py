"""The final classifier of a logistic job, fitted again with the hyper-parameters that its result stores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unseen.device import default_device
from unseen.errors import UserError
from unseen.features.features import Features
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.job import Job
from unseen.probes.protocol import LogisticProtocol, PrunedProtocol, Setting
from unseen.runs.results import Result, read_result

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class DomainClassifier:
    """The logistic regression of a domain.

    Attributes:
        classes: names by class index; `weights` (c, d) and `bias` (c,) are in that order.
        products: number type of the matrix products.
    """

    domain: str
    classes: tuple[str, ...]
    weights: "Tensor"
    bias: "Tensor"
    products: "torch.dtype"


def fit_again(result: Result, train: Features) -> DomainClassifier:
    """Fit the final classifier of a logistic job again, with the chosen learning rate and weight decay.

    Args:
        train: the training features of that job.
    """
    import torch

    from unseen.probes.logistic import final_fit

    job, details = result.job, result.details
    if not result.is_of(Logistic.name):
        raise UserError(f"{result.key}.json is not the result of a logistic regression, so it has no classifier")
    if train.provenance.get("content_hash") != job["reads"]["train"]:
        raise UserError(
            f"{result.key}.json is a result on other training features of {job['backbone']} on {job['dataset']}; give "
            "the features of the run"
        )
    there, labels = np.unique(train.y, return_inverse=True)
    y = torch.from_numpy(labels.astype(np.int64))
    products = getattr(torch, job["settings"]["products"])
    setting, pair = Setting(*result.setting), (details["rate"], details["decay"])
    weights, bias = final_fit(
        train.X, y, len(there), setting, pair, protocol=_protocol(job["settings"]["protocol"]), device=default_device(),
        products=products,
    )  # fmt: skip
    names = tuple(train.classes[index] for index in there)
    return DomainClassifier(job["dataset"], names, weights, bias, products)


def keep_probe(jobs: Sequence[Job], train: Features, results: Path, file: Path) -> None:
    """Write the classifier of the first job on all samples to a file for `unseen shifts run`.

    Args:
        jobs: finished jobs, at least one of them on all samples.
        train: their training features.
        results: folder of results.
    """
    from unseen.backbones.classifier import write_probe

    job = next(job for job in jobs if job.shots is None)
    result = read_result(results, job.key)
    if result is None:
        raise UserError(f"{results}: the result of the probe on all samples is missing; run the same command again")
    found = fit_again(result, train)
    write_probe(file, found.weights, found.bias, found.classes)


def _protocol(record: Mapping[str, object]) -> LogisticProtocol:
    """A protocol from JSON, with lists turned into tuples."""
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}
    kind = PrunedProtocol if "survivors" in values else LogisticProtocol
    return kind(**values)  # type: ignore[arg-type]

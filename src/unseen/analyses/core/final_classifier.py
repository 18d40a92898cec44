"""The final classifier of a logistic job, fitted again with the hyper-parameters that its result stores."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unseen.device import default_device
from unseen.errors import UserError
from unseen.features.features import Features
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.protocol import LogisticProtocol, PrunedProtocol, Setting
from unseen.probes.vectors import JoinedRows
from unseen.runs.results import Result

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


def fit_again(result: Result, train: Features, val: Features | None = None) -> DomainClassifier:
    """Fit the final classifier of a logistic job again, with the chosen learning rate and weight decay.

    Args:
        train, val: the training features of that job, and its validation features, if there are any; with the same list
            of classes.
    """
    import torch

    from unseen.probes.logistic import final_fit

    job, details = result.job, result.details
    if not result.is_of(Logistic.name):
        raise UserError(f"{result.key}.json is not the result of a logistic regression, so it has no classifier")
    parts = {"train": train} if val is None else {"train": train, "val": val}
    for split, words in (("train", "training"), ("val", "validation")):
        given = parts[split].provenance.get("content_hash") if split in parts else None
        if given != job["reads"].get(split):
            raise UserError(
                f"{result.key}.json is a result on other {words} features of {job['backbone']} on {job['dataset']}; "
                "give the features of the run"
            )
    there, labels = np.unique(np.concatenate([part.y for part in parts.values()]), return_inverse=True)
    y = torch.from_numpy(labels.astype(np.int64))
    X = train.X if val is None else JoinedRows([train.X, val.X])
    products = getattr(torch, job["settings"]["products"])
    setting, pair = Setting(*result.setting), (details["rate"], details["decay"])
    weights, bias = final_fit(
        X, y, len(there), setting, pair, protocol=_protocol(job["settings"]["protocol"]), device=default_device(),
        products=products,
    )  # fmt: skip
    names = tuple(train.classes[index] for index in there)
    return DomainClassifier(job["dataset"], names, weights, bias, products)


def _protocol(record: Mapping[str, object]) -> LogisticProtocol:
    """A protocol from JSON, with lists turned into tuples."""
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}
    kind = PrunedProtocol if "survivors" in values else LogisticProtocol
    return kind(**values)  # type: ignore[arg-type]

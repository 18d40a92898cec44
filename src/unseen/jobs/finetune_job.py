"""The job of fine-tuning a backbone on a domain, and the scores it gives."""

from collections.abc import Iterator
from dataclasses import dataclass

from unseen.backbones.backbone import Spec
from unseen.jobs.measured import measured
from unseen.probes.finetuning.train import FinetuneProtocol
from unseen.runs.results import Result
from unseen.runs.score import Score

REVISION = 3
"""Raised when fine-tuning gives other numbers for the same input."""


@dataclass(frozen=True)
class FinetuneJob:
    """Everything that decides the scores of one fine-tuned backbone.

    Attributes:
        spec: of the backbone: its weights, layer, pooling and preprocessing.
        images: content hash of the manifest of training and test images, and their fingerprint.
        arithmetic: "float32", or "float16" on a GPU.
    """

    study: str
    protocol: FinetuneProtocol
    backbone: str
    spec: Spec
    domain: str
    images: str
    seed: int
    arithmetic: str = "float32"
    revision: int = REVISION


def finetune_scores(result: Result) -> Iterator[Score]:
    """The scores in a result of such a job."""
    job = result.job
    return measured(
        result, probe="fine-tuned", protocol=job["protocol"]["name"], metrics=("top1", "top5"), seed=job["seed"]
    )

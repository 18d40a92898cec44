"""The job of scoring a classifier on a test set under a choice of classes, and the score it gives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unseen.runs.flaws import Flaw
from unseen.runs.results import Result
from unseen.runs.score import Score

CLASSIFIER, TOP1 = "classifier", "top1"
REVISION = 1
"""Raised when the same logits come to give another accuracy."""


@dataclass(frozen=True)
class ShiftJob:
    """Everything that decides a top-1 accuracy; its values are `correct` and `images`, `classes` and `damaged`.

    Attributes:
        backbone: the model, by its name in the study.
        domain: the column of the table of accuracies: the test set on some classes.
        classifier: digest of what decides the model's outputs.
        logits: key of what decides the logits: the classifier, the images, and how they were read.
        classes: digest of the classes that compete.
        on_error: whether damaged images were left out.
    """

    study: str
    protocol: str
    backbone: str
    domain: str
    test_set: str
    classifier: str
    logits: str
    classes: str
    on_error: str
    revision: int = REVISION


def shift_scores(result: Result) -> Iterator[Score]:
    """The score in a result of such a job."""
    job, values = result.job, result.values
    yield Score(
        job["study"], job["protocol"], job["backbone"], job["domain"], CLASSIFIER, None, 0, TOP1,
        values["correct"] / values["images"], seconds=result.seconds, versions=result.versions, key=result.key,
    )  # fmt: skip


def images_left_out(results: Sequence[Result]) -> list[Flaw]:
    """The damaged images that were left out of test sets, once for each."""
    found = [
        Flaw(
            "damaged-images", result.job["backbone"], result.job["test_set"], "test images",
            result.values["damaged"], result.values["of"], tuple(result.values["examples"]),
        )
        for result in results
        if result.job["job"] == ShiftJob.__name__ and result.values["damaged"]
    ]  # fmt: skip
    return list(dict.fromkeys(found))

"""The probe `classifier`: a network's own classifier on a test set; nothing is fitted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from unseen.probes.job import Fit, Job
from unseen.probes.probe import Input, Probe


@dataclass(frozen=True)
class Classifier(Probe):
    """The share of a test set's images that a classifier gets right among some classes."""

    name: ClassVar[str] = "classifier"
    title: ClassVar[str] = "the classifier that a network came with or was given, on other test sets"
    input: ClassVar[Input] = "images"
    commands: ClassVar[tuple[str, ...]] = ("unseen shifts run",)


@dataclass(frozen=True)
class ShiftJob(Job):
    """Everything that determines a top-1 accuracy; its values are `correct` and `images`, `classes` and `damaged`.

    Attributes:
        backbone: the model, by its name in the study.
        domain: the column in the table of accuracies: the test set restricted to some classes.
        classifier: digest of everything that determines the model's outputs.
        logits: key of everything that determines the logits: the classifier, the images, and how they were read.
        classes: digest of the candidate classes.
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
    revision: int = Classifier.revision

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        yield Fit(Classifier.name, None, 0, [("top1", values["correct"] / values["images"])])


PROBE = Classifier

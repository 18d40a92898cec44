"""The probe `classifier`: a network's own classifier on a test set; nothing is fitted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from unseen.probes.job import Fit, Held, Job
from unseen.probes.probe import Input, Probe


@dataclass(frozen=True)
class Classifier(Probe):
    """The share of a test set's images that a classifier gets right among some classes."""

    name: ClassVar[str] = "classifier"
    title: ClassVar[str] = "the classifier that a network came with or was given, on other test sets"
    input: ClassVar[Input] = "outputs"
    commands: ClassVar[tuple[str, ...]] = ("unseen shifts run",)

    def job(self, backbone: str, column: str, reads: Mapping[str, str], settings: Mapping[str, Any]) -> Job:
        """The job of a model on a column of the table of accuracies: a test set restricted to some classes.

        Args:
            reads: digests of everything that determines the model's outputs (`classifier`), of everything that
                determines the logits (`outputs`: the classifier, the images, and how they were read), and of the
                candidate classes (`classes`).
            settings: the protocol, the test set, and whether damaged images were left out.
        """
        return Job(self.name, self.revision, backbone, column, reads, settings, make=Held(self))

    def accuracy(self, right: int, images: int, details: Mapping[str, Any]) -> Fit:
        """The share of images that are classified correctly."""
        values = [("top1", right / images)]
        return Fit(self.name, None, 0, values, {"right": right, "tested": images, **details})


PROBE = Classifier

"""The probe `classifier`: a network's own classifier on a test set; nothing is fitted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.probes.job import Fit, Held, Job
from unseen.probes.probe import Input, Probe
from unseen.probes.protocol import Setting
from unseen.probes.units import ScoredImages, hit_units

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PROTOCOL = "shi-2023"


@dataclass(frozen=True, eq=False)
class Outputs:
    """The predictions of a classifier on a test set, restricted to some classes.

    Attributes:
        guess, truth: (n,) predicted and true classes.
        details: the test set, its number of classes, and the damaged images that were left out.
        images: these images; None if they are unknown.
    """

    guess: "NDArray[np.integer]"
    truth: "NDArray[np.integer]"
    details: Mapping[str, Any]
    images: ScoredImages | None = None


@dataclass(frozen=True)
class Classifier(Probe):
    """The share of a test set's images that a classifier gets right among some classes."""

    name: ClassVar[str] = "classifier"
    title: ClassVar[str] = "the classifier that a network came with or was given, on other test sets"
    purpose: ClassVar[str] = "a network's own classifier on shifted test sets"
    input: ClassVar[Input] = "outputs"
    keeps_units: ClassVar[bool] = True

    @property
    def needed_splits(self) -> tuple[str, ...]:
        return ("test",)

    def column_job(self, backbone: str, column: str, reads: Mapping[str, str], settings: Mapping[str, Any]) -> Job:
        """The job of a model on a column of the table of accuracies: a test set restricted to some classes.

        Args:
            reads: digests of everything that determines the model's outputs (`classifier`), of everything that
                determines the logits (`outputs`: the classifier, the images, and how they were read), and of the
                candidate classes (`classes`).
            settings: the protocol, the test set, and whether damaged images were left out.
        """
        return Job(self.name, self.revision, backbone, column, reads, settings, make=Held(self))

    def fit(self, outputs: Outputs, settings: Sequence[Setting]) -> Iterator[Fit]:  # type: ignore[override]
        hits = outputs.guess == outputs.truth
        right, tested = int(hits.sum()), len(outputs.truth)
        for setting in settings:
            details = {"right": right, "tested": tested, **outputs.details}
            values, units = [("top1", right / tested)], hit_units(hits, outputs.images)
            yield Fit(self.name, None, setting.seed, values, details, units=units)


PROBE = Classifier

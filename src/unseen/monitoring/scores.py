"""What a check gives: scores, and what failed."""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.paired.units import unpacked
from unseen.probes.units import CORRECT
from unseen.trackers.tracker import LoggedScore


@dataclass(frozen=True)
class Place:
    """What the scores of one curve have in common."""

    dataset: str
    probe: str
    shots: int | None
    metric: str


@dataclass(frozen=True)
class StepScore:
    """A score of a network in training.

    Attributes:
        step: the training step.
        probe: its name in tables, such as `knn` or `pca-32`.
        shots: training samples per class; None for all.
        low, high: ends of the 95% interval over test images (or episodes), of this network and these training images;
            None if unknown.
        seconds: that the fit took, with all its metrics.
        first: whether it is the first metric of its fit, which is the one that curves and `best` show.
        units: what is kept of each test image (`unseen.probes.units`), with the first metric of a fit.
    """

    step: int
    dataset: str
    probe: str
    metric: str
    value: float
    shots: int | None = None
    seed: int = 0
    low: float | None = None
    high: float | None = None
    seconds: float = 0.0
    first: bool = False
    units: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def place(self) -> Place:
        return Place(self.dataset, self.probe, self.shots, self.metric)

    @property
    def hits(self) -> NDArray[np.bool_] | None:
        """(n,) whether each test image is classified correctly, if that is kept."""
        if CORRECT not in self.units:
            return None
        return unpacked(np.frombuffer(b64decode(self.units[CORRECT]), np.uint8), int(self.units["images"]))


@dataclass(frozen=True)
class Failure:
    """A data set, or one probe of it, without scores at a step.

    Attributes:
        dataset, probe: empty if everything failed.
        failed: why, in a sentence without its full stop.
        of_disk: whether only writing failed, so that there are scores.
    """

    step: int
    failed: str
    dataset: str = ""
    probe: str = ""
    of_disk: bool = False

    @property
    def words(self) -> str:
        """What failed, and why; the same at every step."""
        of = " on ".join(filter(None, [self.probe, self.dataset]))
        return f"{of + ': ' if of else ''}{self.failed}"

    @property
    def sentence(self) -> str:
        """The warning about it."""
        return f"unseen.Monitor: {self.words}; the training goes on"


@dataclass(frozen=True)
class Check:
    """The scores of a network at one step.

    Attributes:
        extraction: seconds for the features, with decoding if images were not decoded before.
        seconds: all seconds.
    """

    step: int
    scores: Sequence[StepScore] = ()
    failures: Sequence[Failure] = ()
    extraction: float = 0.0
    seconds: float = 0.0

    @property
    def is_whole(self) -> bool:
        """Whether everything has its scores, be they written or not."""
        return all(each.of_disk for each in self.failures)

    @property
    def logged(self) -> list[LoggedScore]:
        """The scores as trackers receive them, with their means over the seeds so far."""
        values, found = dict[Place, list[float]](), list[LoggedScore]()
        for each in self.scores:
            known = values.setdefault(each.place, [])
            known.append(each.value)
            mean = float(np.mean(known)) if len(known) > 1 else None
            logged = LoggedScore(each.dataset, each.probe, each.metric, each.value, shots=each.shots, seed=each.seed)
            found.append(replace(logged, step=self.step, mean=mean, seeds=len(known), low=each.low, high=each.high))
        return found

    @property
    def means(self) -> dict[str, float]:
        """Name, as in all trackers, to mean over seeds: `{"dtd/knn/top1": 0.71}`."""
        return {each.name: each.plotted for each in self.logged}

"""Probes that train networks on the images of data sets."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from unseen.probes.job import Fit, Job
from unseen.probes.probe import Input, Probe
from unseen.probes.protocol import Setting

if TYPE_CHECKING:
    from unseen.probes.image_cell import ImageCell, ImageInputs


@dataclass(frozen=True)
class TrainingProbe(Probe, ABC):
    """A probe that trains a network on images: the backbone, a part on top of it, or both."""

    input: ClassVar[Input] = "images"
    random: ClassVar[bool] = True

    @property
    def variant(self) -> str:
        """The name of its scores."""
        return self.name

    @property
    def decodes(self) -> bool:
        """Whether its images are decoded once and kept on disk until its jobs are done."""
        return False

    @property
    def is_reference(self) -> bool:
        """Whether it is compared with probes of features, which must be of the same images and weights."""
        return False

    def on(self, inputs: "ImageInputs") -> Self:
        """The probe with everything that the backbone and the images decide."""
        return self

    @abstractmethod
    def used(self, inputs: "ImageInputs") -> Any:
        """Its protocol for a backbone and a data set, as a dataclass with a `name`: everything that is recorded."""

    def image_remarks(self, inputs: "ImageInputs") -> Iterator[tuple[str, dict[str, Any]]]:
        """What a reader must know of its protocol on this backbone: codes of notices with their arguments."""
        yield from ()

    @abstractmethod
    def job(self, inputs: "ImageInputs", seed: int) -> Job:
        """The job of a seed, whose settings have a `protocol` with a number of `steps`."""

    @abstractmethod
    def trained(self, cell: "ImageCell", job: Job) -> Fit:
        """Train and score what a job says."""

    def jobs(  # type: ignore[override]
        self,
        inputs: "ImageInputs",
        seeds: Sequence[int],
        shots: Sequence[int | None] | None = None,
        *,
        gpu: bool = False,
    ) -> Iterator[Job]:
        """Its jobs on a data set, one for each seed."""
        return (self.job(inputs, seed) for seed in seeds)

    def fit(self, cell: "ImageCell", settings: Sequence[Setting]) -> Iterator[Fit]:  # type: ignore[override]
        return (self.trained(cell, cell.jobs[setting]) for setting in settings)

    def timed(self, job: Job) -> Hashable:
        """What jobs share whose steps take the same time with the same backbone."""
        return job.dataset, job.probe

    @abstractmethod
    def step_seconds(self, cell: "ImageCell", job: Job) -> float:
        """Seconds of a training step, measured on this machine."""

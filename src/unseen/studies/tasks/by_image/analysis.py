"""What the study has to know of an analysis of single images: saliency is one, inversion another.

Everything else is the same for all: where images come from, planning, resuming, what is kept, the record of the run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.images.transform import Transform
from unseen.probes.image_job import ImageJob
from unseen.runs.notices import Notice

if TYPE_CHECKING:  # they need PyTorch, which pages do without
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Settings
    from unseen.studies.study import Cell, Stepping

Pixels = NDArray[np.uint8]
"""(size, size, 3), an image as a backbone gets it."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found out about one image: numbers by metric, and arrays to be kept by their names."""

    values: Mapping[str, float]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class PlacedImageError(UserError):
    """What is wrong with one of the images that were given, by its place among them."""

    def __init__(self, place: int, sentence: str) -> None:
        super().__init__(sentence)
        self.place = place


class Analysis(Protocol):
    """An analysis and its settings; a frozen dataclass."""

    @property
    def name(self) -> str:
        """Of its probe, as scores have it."""

    @property
    def protocol(self) -> Any:
        """A frozen dataclass with a `name`; all that can change a number, beside what a job has."""

    def transform(self, own: Transform) -> Transform:
        """How images are prepared, from how the backbone wants them."""

    def check(self, backbone: "Backbone") -> None:
        """Refuse a backbone that this cannot be done with."""

    def job(self, backbone: "Backbone", domain: str, pictures: str, precision: str) -> ImageJob:
        """The job on a set of images."""

    def columns(self, backbone: "Backbone", images: int) -> "Mapping[str, Cell]":
        """What the plan says of a backbone on so many images."""

    def notices(self) -> Sequence[Notice]:
        """What a reader must know of the protocol."""

    def steps(self, backbone: "Backbone", images: int) -> int:
        """How many steps so many images take, for progress."""

    def seconds(self, backbone: "Backbone", images: int, settings: "Settings") -> float:
        """What so many images should take, measured on a few steps."""

    def measure(
        self,
        backbone: "Backbone",
        images: Sequence[Pixels],
        settings: "Settings",
        scratch: Path,
        step: "Stepping",
    ) -> Iterator[Measured]:
        """What is found out about each image, in order, each passed on as it is done.

        Args:
            images: all that are left for the backbone, of all sets.
            scratch: a folder for what is needed to go on after a kill; it is removed when all is done.
            step: told how many of these images' steps are done.
        """

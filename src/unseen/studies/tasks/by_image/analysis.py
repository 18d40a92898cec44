"""The interface of an analysis of single images, such as saliency or inversion.

Everything else is shared by all analyses: sources of images, planning, resuming, stored arrays, the record of the run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.images.transform import Transform
from unseen.probes.job import Job
from unseen.runs.notices import Notice

if TYPE_CHECKING:  # these modules need PyTorch, which pages do not
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Settings
    from unseen.studies.study import Cell, Stepping

Pixels = NDArray[np.uint8]
"""(size, size, 3), an image after preprocessing, before normalization."""


@dataclass(frozen=True, eq=False)
class Measured:
    """The result on one image: values by metric, and arrays to store, by name."""

    values: Mapping[str, float]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class PlacedImageError(UserError):
    """An error about one of several images, with its position among them."""

    def __init__(self, place: int, sentence: str) -> None:
        super().__init__(sentence)
        self.place = place


class Analysis(Protocol):
    """An analysis with its settings; a frozen dataclass."""

    @property
    def name(self) -> str:
        """Name of its probe in scores."""

    @property
    def protocol(self) -> Any:
        """A frozen dataclass with a `name` and everything that can change a number, beside the fields of a job."""

    def transform(self, own: Transform) -> Transform:
        """The preprocessing of images, from that of the backbone."""

    def check(self, backbone: "Backbone") -> None:
        """Refuse a backbone that the analysis cannot be applied to."""

    def job(self, backbone: "Backbone", domain: str, pictures: str, precision: str) -> Job:
        """The job on a set of images."""

    def columns(self, backbone: "Backbone", images: int) -> "Mapping[str, Cell]":
        """The columns of the plan for a backbone and a number of images."""

    def notices(self) -> Sequence[Notice]:
        """Notices about the protocol."""

    def steps(self, backbone: "Backbone", images: int) -> int:
        """The number of steps for a number of images, for progress."""

    def seconds(self, backbone: "Backbone", images: int, settings: "Settings") -> float:
        """Estimated seconds for a number of images, from timing a few steps."""

    def measure(
        self,
        backbone: "Backbone",
        images: Sequence[Pixels],
        settings: "Settings",
        scratch: Path,
        step: "Stepping",
    ) -> Iterator[Measured]:
        """The result on each image, in order; yields each when it is done.

        Args:
            images: all remaining images of the backbone, of all sets.
            scratch: a folder for checkpoints, which is removed when all images are done.
            step: called with the number of finished steps of these images.
        """

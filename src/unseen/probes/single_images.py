"""Probes that look at a backbone image by image, such as saliency and inversion."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Target
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.metrics.correlation import NORMAL_975
from unseen.probes.image_cell import Stepping
from unseen.probes.job import Fit, Held, Job, digest_of
from unseen.probes.probe import Input, Probe

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Settings

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


@dataclass(frozen=True)
class SingleImageProbe(Probe, ABC):
    """A probe of single images, which need no labels. One call examines all images of a backbone, of all data sets.

    Attributes:
        patches: whether it needs a backbone that gives the features of patches.
        half: whether it can compute in half precision on a GPU.
        reconstructs: whether it stores a `reconstruction` of each image, whose perceptual distance is measured too.
    """

    input: ClassVar[Input] = "images"
    targets: ClassVar[tuple[Target, ...]] = ("none",)
    patches: ClassVar[bool] = False
    half: ClassVar[bool] = True
    reconstructs: ClassVar[bool] = False

    @property
    @abstractmethod
    def used(self) -> Any:
        """The protocol as an object with a `name`."""

    @abstractmethod
    def transform(self, own: Transform) -> Transform:
        """The preprocessing of images, from that of the backbone."""

    @abstractmethod
    def check(self, backbone: "Backbone") -> None:
        """Refuse a backbone that it cannot be applied to."""

    @abstractmethod
    def columns(self, backbone: "Backbone", images: int) -> Mapping[str, str | int | float]:
        """The columns of the plan for a backbone and a number of images."""

    @abstractmethod
    def total_steps(self, backbone: "Backbone", images: int) -> int:
        """The number of steps for a number of images, for progress."""

    @abstractmethod
    def image_seconds(self, backbone: "Backbone", images: int, settings: "Settings") -> float:
        """Estimated seconds for a number of images, from timing a few steps."""

    @abstractmethod
    def measure(
        self,
        backbone: "Backbone",
        images: Sequence[Pixels],
        settings: "Settings",
        seed: int,
        scratch: Path,
        step: Stepping,
    ) -> Iterator[Measured]:
        """The result on each image, in order; yields each when it is done.

        Args:
            images: all remaining images of the backbone, of all data sets.
            scratch: a folder for checkpoints, which is removed when all images are done.
            step: called with the number of finished steps of these images.
        """

    def image_jobs(
        self, backbone: "Backbone", domain: str, pictures: str, precision: str, seeds: Sequence[int]
    ) -> Iterator[Job]:
        """The jobs on a set of images: one for each seed, if seeds change its numbers.

        Args:
            pictures: SHA-256 of the ids and the contents of all images, and of whether they are turned.
            precision: as in `unseen.features.settings.Settings`.
        """
        probe, reads = self.resolved, {"spec": digest_of(backbone.spec), "images": pictures}
        for seed in seeds if self.random else seeds[:1]:
            yield Job(
                self.name, self.revision, backbone.label, domain, reads, probe.described, None, seed,
                arithmetic=precision, make=Held(probe),
            )  # fmt: skip


def image_fits(
    variant: str, ids: Sequence[str], by_image: Mapping[str, Sequence[float]], seed: int = 0
) -> Iterator[Fit]:
    """One fit for each metric: the mean over images with its normal-distribution interval.

    Args:
        ids: ids of the images, in order.
        by_image: metric → one number per image.
    """
    for metric, numbers in by_image.items():
        if not numbers or len(numbers) != len(ids):
            raise ValueError("one number for each image is expected")
        half = NORMAL_975 * float(np.std(numbers, ddof=1)) / sqrt(len(ids)) if len(ids) > 1 else None
        details = {"images": list(ids), "by_image": list(numbers)}
        yield Fit(variant, None, seed, [(metric, float(np.mean(numbers)))], details, half)


def network_function(backbone: "Backbone", settings: "Settings") -> "Callable[[Any], Any]":
    """A function from normalized images to features, in the requested precision; errors name what the network did."""
    import torch

    from unseen.features.forward import AUTOCAST

    module, kind = backbone.module.eval().to(settings.device), AUTOCAST.get(settings.precision)
    place = torch.device(settings.device).type

    def run(images: torch.Tensor) -> torch.Tensor:
        try:
            with torch.autocast(place, dtype=kind, enabled=kind is not None):
                features: torch.Tensor = module(images)
        except (UserError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # a network can raise any exception
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise UserError(f"the network failed ({reason})") from None
        if features.shape != (len(images), backbone.spec.dimension):
            shape = " × ".join(map(str, features.shape))
            raise UserError(f"the network returned {shape} numbers, not {len(images)} × {backbone.spec.dimension}")
        return features

    return run

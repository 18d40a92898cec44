"""Common parts of the probes of patch features on data sets of classes, which use all patches of all images."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Target
from unseen.probes.job import Fit, Held, Job
from unseen.probes.patches.patch_probe import Demand, PatchSize, Sample
from unseen.probes.probe import Input, Probe, ProbeData
from unseen.probes.protocol import Setting
from unseen.probes.units import ScoredImages

if TYPE_CHECKING:
    import torch

    from unseen.probes.vectors import Vectors


@dataclass(frozen=True, eq=False)
class ClassPatches:
    """The patch features and the classes of a data set, as a probe is fitted to them.

    Attributes:
        data: X are (n, P·d) rows of the P patches of each image; validation samples are not among those for training.
        grid: rows and columns of patches.
        classes: names, in the order of class indices.
        tested: the test images; `ids` are their names.
        pixels: the (h, w, 3) pixels of a test image by its row.
        folder: returns the folder of the pictures of a fit.
        metric: the data set's own.
        budget: bytes of the device that may be used; by default those that are free.
    """

    data: ProbeData
    grid: tuple[int, int]
    classes: Sequence[str]
    tested: ScoredImages
    ids: Sequence[str]
    pixels: Callable[[int], NDArray[np.uint8]]
    folder: Callable[[Setting], Path]
    metric: str = "top1"
    budget: int | None = None

    @property
    def positions(self) -> int:
        """Number of patches of an image."""
        return self.grid[0] * self.grid[1]

    @property
    def size(self) -> PatchSize:
        """The amount of work of a probe that is trained on all images."""
        held = 0 if self.data.validation is None else len(self.data.validation.X)
        images, tested, channels = len(self.data.X_train) + held, len(self.data.X_test), self.data.X_test.shape[1]
        return PatchSize(
            images, self.positions, tested, self.positions, channels // self.positions, self.data.classes
        )  # fmt: skip

    def fits(self, demand: Demand) -> bool:
        """Whether the features can stay on the device; a CPU reads them from their files, which the system caches."""
        import torch

        from unseen.features.device_memory import free_bytes

        free = free_bytes(torch.device(self.data.device)) if self.data.device.startswith("cuda") else 0
        return demand.fits(free if self.budget is None else self.budget)


@dataclass(frozen=True)
class ClassPatchProbe(Probe, ABC):
    """A probe of the patch features of images with one or several classes.

    Its setting `protocol`, if it has one, is a frozen dataclass with everything that can change a number.
    """

    input: ClassVar[Input] = "patches"
    targets: ClassVar[tuple[Target, ...]] = ("class", "classes")
    validation: ClassVar[Literal["chooses", "joins"]] = "chooses"
    random: ClassVar[bool] = True
    keeps_units: ClassVar[bool] = True

    @abstractmethod
    def fit(self, data: ClassPatches, settings: Sequence[Setting]) -> Iterator[Fit]:  # type: ignore[override]
        """Fit and score every setting, each yielded when it is done."""

    @abstractmethod
    def demand(self, size: PatchSize, item: int) -> Demand:
        """Device memory, with features of `item` bytes per number."""

    @abstractmethod
    def samples_of_work(self, size: PatchSize, device: "torch.device") -> Iterator[Sample]:
        """Small pieces of the work, from which its time is estimated."""

    def refuse_width(self, channels: int, named: str) -> None:
        """Refuse a width of patches that it cannot be fitted to; by default it takes any.

        Args:
            named: name of the backbone.
        """
        return

    def jobs(
        self, vectors: "Vectors", seeds: Sequence[int], shots: Sequence[int | None] | None = None, *, gpu: bool = False
    ) -> Iterator[Job]:
        """Its jobs on some features: one for each number of shots and each seed.

        Seeds change initial values and the order of images, also where a data set has its own validation images.
        """
        usable = vectors.usable_shots(self, self.default_shots if shots is None else shots)
        for setting in self.settings(usable, seeds):
            yield Job(
                self.name, self.revision, vectors.backbone, vectors.dataset, vectors.reads, self.described,
                setting.shots, setting.seed, vectors.metric, self.arithmetic(gpu=gpu), make=Held(self),
            )  # fmt: skip

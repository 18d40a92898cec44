"""Common parts of the probes of patch features."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from unseen.data.core.dataset import Target
from unseen.data.core.dense.labels import Kind
from unseen.probes.job import Fit, Held, Job
from unseen.probes.probe import Input, Probe
from unseen.probes.protocol import Setting

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unseen.probes.patches.codes import Codes
    from unseen.probes.patches.task import PatchTask

METRICS: dict[Kind, tuple[str, ...]] = {
    "classes": ("miou", "pixel-accuracy"),
    "normals": ("angle-mean", "angle-median", "within-11.25", "within-22.5", "within-30"),
    "depth": ("depth-rmse", "delta1"),
    "boxes": ("ap", "ap50", "ap75", "coco-ap", "coco-ap50", "coco-ap75"),
}
"""Metrics for each kind of labels, the main one first."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """A fitted probe.

    Attributes:
        predict: (n, d) features of patches → (n, count) probabilities of codes.
        shown: rows of the test features, best and worst images, whose predictions are kept as pictures.
    """

    codes: "Codes"
    predict: "Callable[[Tensor], Tensor]"
    shown: Sequence[int]


@dataclass(frozen=True)
class PatchSize:
    """The amount of work of a job on patch features.

    Attributes:
        images, positions: number of training images, and of patches of each that are trained on.
        tested, queries: number of test images, and of patches of each.
        channels: dimensions of the features of a patch.
        codes: number of codes of a map's values.
    """

    images: int
    positions: int
    tested: int
    queries: int
    channels: int
    codes: int

    @property
    def patches(self) -> int:
        """Number of training patches."""
        return self.images * self.positions


@dataclass(frozen=True)
class Demand:
    """Device memory of a job in bytes.

    Attributes:
        kept: if the training features stay on the device.
        read: if they are read from the host in every pass instead.
    """

    kept: int
    read: int

    def fits(self, free: int) -> bool:
        """Whether the features can stay on a device with this many free bytes."""
        return self.kept <= free

    def peak(self, free: int) -> int:
        """The most memory that is used at a time on such a device."""
        return self.kept if self.fits(free) else self.read


@dataclass(frozen=True)
class PatchInputs:
    """The patch features of a backbone on a data set, as a probe is planned with them.

    Attributes:
        reads: content hashes of the features of "train" and "test", empty if they are still to be extracted, and the
            SHA-256 of the "labels".
        size: amount of work of a job.
        grid: rows and columns of patches.
    """

    backbone: str
    dataset: str
    kind: Kind
    reads: Mapping[str, str]
    size: PatchSize
    grid: tuple[int, int]


@dataclass(frozen=True, eq=False)
class PatchCell:
    """What a probe of patches is given.

    Attributes:
        folder: returns the folder of the pictures of a fit.
    """

    task: "PatchTask"
    folder: Callable[[Setting], Path]


Sample = tuple[Callable[[], object], float]
"""A piece of work, and how often a job does as much."""


@dataclass(frozen=True)
class PatchProbe(Probe, ABC):
    """A probe of patch features on a data set with maps.

    The field `protocol` of a subclass is a frozen dataclass with everything that can change a number, among it `name`
    and `patches`, the number of patches of each training image.

    Attributes:
        label: its name in tables and titles.
        least_images: the training images that it needs at least.
    """

    label: ClassVar[str]
    least_images: ClassVar[int] = 1
    input: ClassVar[Input] = "patches"
    keeps_units: ClassVar[bool] = True
    targets: ClassVar[tuple[Target, ...]] = ("map", "normals", "depth")
    metrics: ClassVar[tuple[str, ...]] = (*METRICS["classes"], *METRICS["normals"], *METRICS["depth"])

    @property
    @abstractmethod
    def protocol(self) -> Any:
        """How it is fitted: a frozen dataclass with a name."""

    @property
    def protocol_name(self) -> str:
        return str(self.protocol.name)

    def with_patches(self, patches: int | Literal["all"]) -> Self:
        """The same probe on that many patches of each training image."""
        protocol: dict[str, Any] = {"protocol": replace(self.protocol, patches=patches)}  # A field of the subclass.
        return replace(self, **protocol)

    @abstractmethod
    def predictor(self, task: "PatchTask", seed: int) -> "tuple[Fit, Predictor]":
        """The fit with its scores on the test images, and the function that predicts."""

    @abstractmethod
    def demand(self, size: PatchSize, item: int) -> Demand:
        """Device memory, with features of `item` bytes per number."""

    @abstractmethod
    def samples_of_work(self, size: PatchSize, device: "torch.device") -> Iterator[Sample]:
        """Small pieces of the work, from which its time is estimated."""

    @property
    def needed_splits(self) -> tuple[str, ...]:
        """The splits that a data set must have."""
        return ("train", "test")

    def jobs(  # type: ignore[override]
        self,
        inputs: "PatchInputs",
        seeds: Sequence[int],
        shots: Sequence[int | None] | None = None,
        *,
        gpu: bool = False,
    ) -> Iterator[Job]:
        """Its jobs on the patch features of a data set: one for each seed, if seeds change its numbers."""
        for seed in seeds if self.random else seeds[:1]:
            yield Job(
                self.name, self.revision, inputs.backbone, inputs.dataset, inputs.reads, self.described, None, seed,
                METRICS[inputs.kind][0], make=Held(self),
            )  # fmt: skip

    def fit(self, cell: PatchCell, settings: Sequence[Setting]) -> Iterator[Fit]:  # type: ignore[override]
        task = cell.task
        for setting in settings:
            fit, predictor = self.predictor(task, setting.seed)
            pictures = [asdict(each) for each in task.pictures(predictor, cell.folder(setting))]
            yield replace(fit, details={**fit.details, "classes": list(task.opened.classes), "pictures": pictures})


def kind_of_metric(metric: str) -> Kind:
    """The kind of labels that a metric is for."""
    return next(kind for kind, metrics in METRICS.items() if metric in metrics)

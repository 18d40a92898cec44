"""Common parts of the jobs of probes on patch features."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unseen.images.dense.labels import Kind
from unseen.probes.job import Fit, Job

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


Sample = tuple[Callable[[], object], float]
"""A piece of work, and how often a job does as much."""


@dataclass(frozen=True)
class PatchJob(Job):
    """Everything that determines the scores of a probe on a data set with maps, except for the probe's protocol.

    Attributes:
        kind: kind of the labels.
        train, test: content hashes of the features.
        labels: SHA-256 of the labels.
    """

    study: str
    protocol: Any
    backbone: str
    domain: str
    kind: Kind
    train: str
    test: str
    labels: str

    def run(self, task: "PatchTask") -> "tuple[dict[str, Any], Predictor]":
        """The measured values, as JSON, and the fitted probe."""
        raise NotImplementedError

    def demand(self, size: PatchSize, item: int) -> Demand:
        """Device memory, with features of `item` bytes per number."""
        raise NotImplementedError

    def samples(self, size: PatchSize, device: "torch.device") -> Iterator[Sample]:
        """Small pieces of the job's work, from which its time is estimated."""
        raise NotImplementedError


def read_maps(variant: str, job: Mapping[str, Any], values: Mapping[str, Any]) -> Fit:
    """The fit in a result."""
    return Fit(variant, None, job.get("seed", 0), [(metric, values[metric]) for metric in METRICS[job["kind"]]])

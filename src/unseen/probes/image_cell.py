"""A network and a data set's images: what probes on images are planned with, and what they are given.

Frozen features need neither; probes that train a network, or look into it, do.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from unseen.data.core.dataset import Dataset, Target
from unseen.probes.job import Job, digest_of
from unseen.probes.protocol import Setting

if TYPE_CHECKING:
    import torch

    from unseen.backbones.backbone import Backbone
    from unseen.data.core.open_dataset import OpenDataset

CHECKPOINTS, PICTURES, PIXELS = "checkpoints", "pictures", "pixels"
"""Folders in the folder of a run: of unfinished trainings, of pictures of predictions, and of decoded images."""


class Stepping(Protocol):
    """Called with the number of every step of a long computation, and a detail such as its loss."""

    def __call__(self, step: int, detail: str = "") -> None: ...


def unwatched(what: str, total: int) -> Stepping:
    """Progress that nobody sees."""
    return lambda step, detail="": None


@dataclass(frozen=True, eq=False)
class ImageInputs:
    """A backbone and a data set's images, as a probe on them is planned.

    Attributes:
        images: digest of the names, the pixels and, for classes, the labels of the images.
        labels: digest of boxes or maps; empty for classes.
        rows: number of images by split.
        arithmetic: dtype of the factors in products, "float32", or "float16" on a GPU.
    """

    backbone: "Backbone"
    dataset: Dataset
    images: str
    rows: Mapping[str, int]
    arithmetic: str
    labels: str = ""

    @property
    def target(self) -> Target:
        return self.dataset.target

    @property
    def reads(self) -> dict[str, str]:
        """The inputs of jobs."""
        return {
            "spec": digest_of(self.backbone.spec),
            "images": self.images,
            **({"labels": self.labels} if self.labels else {}),
        }


@dataclass(frozen=True, eq=False)
class ImageCell:
    """A backbone on a data set, for a probe that trains the network.

    Attributes:
        backbone: as it was loaded; `network` gives a copy that may be changed.
        jobs: what is computed for each setting.
        folder: folder of the run.
        workers: processes that decode images; 0 for this process.
        stepping: shows the steps of a training.
        needed: returns the details of the fits of the jobs that a job needs, in order, each with its `seconds`.
        lock: locks a folder while one process writes what others need too.
        shared: cache shared by the jobs of a cell.
    """

    backbone: "Backbone"
    opened: "OpenDataset"
    jobs: Mapping[Setting, Job]
    folder: Path
    device: "torch.device"
    workers: int = 0
    stepping: Callable[[str, int], Stepping] = unwatched
    needed: Callable[[Job], Sequence[Mapping[str, Any]]] = lambda _: ()
    lock: Callable[[Path], AbstractContextManager[Any]] = nullcontext
    shared: dict[str, Any] = field(default_factory=dict, repr=False)

    def network(self) -> "Backbone":
        """A copy of the backbone."""
        return replace(self.backbone, module=deepcopy(self.backbone.module))

    def checkpoint(self, job: Job) -> Path:
        """Path of the state of an unfinished training; further ones have names that begin alike."""
        place = self.folder / CHECKPOINTS / f"{job.key}.pt"
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def pictures(self, job: Job) -> Path:
        """Folder of the pictures that belong to a result."""
        return self.folder / PICTURES / job.key

    def steps(self, job: Job, name: str, total: int) -> Stepping:
        """Shows the steps of one of the trainings of a job."""
        what = f"{job.dataset}, {job.backbone}"
        return self.stepping(f"{what}, {name}" if name else what, total)


def checkpoints_of(folder: Path, job: Job) -> Iterator[Path]:
    """The checkpoints of a job in the folder of a run, which are removed when it has a result."""
    return (folder / CHECKPOINTS).glob(f"{job.key}*")

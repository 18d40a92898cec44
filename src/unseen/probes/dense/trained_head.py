"""Common parts of the probes that train a detector or a head for maps on a backbone (Ericsson et al. 2021, A.4–A.6)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.probes.dense.protocols import EXTENDED, SHORT, DenseProtocol, extended, shortened
from unseen.probes.job import Fit, Held, Job
from unseen.probes.patches.patch_probe import METRICS
from unseen.probes.trainings import TrainingProbe
from unseen.reading.keys import key

if TYPE_CHECKING:
    from unseen.backbones.backbone import Spec
    from unseen.data.core.dense.labels import Kind
    from unseen.probes.image_cell import ImageCell, ImageInputs

PADDED, WIDE = 2, 3
"""Revisions: labels of maps are padded and detectors take the channels of the backbone; boxes have 32 bits on a GPU."""
MEASURED_STEPS = {"cuda": (8, 16), "cpu": (1, 2)}
"""For estimates, by device: the number of warm-up steps and of timed steps.

The first steps include the setup of a GPU, and use batches that were prepared in the meantime. If preparing batches is
the bottleneck, they then arrive in bursts, so the mean over several bursts is used, not the median.
"""


@dataclass(frozen=True)
class TrainedHead(TrainingProbe):
    """A probe that trains a new part on the backbone, and perhaps the backbone too; see `unseen.probes.dense`.

    Attributes:
        paper: the protocol of the paper, which has only ResNets; other networks are trained in the same way as far as
            possible, under another name.
    """

    keeps_units: ClassVar[bool] = True
    paper: ClassVar[DenseProtocol]
    steps: int | None = key(None, "training steps; unset: the protocol's", least=1, identity=False)
    scale: float = key(1.0, "factor of the sides of images, for a quick look", above=0, most=1, identity=False)
    protocol: DenseProtocol | None = None

    def __post_init__(self) -> None:
        if self.protocol is None:
            _ = self._used  # refuses impossible numbers before any work

    @property
    def protocol_name(self) -> str:
        return self._used.name

    def usual(self, *, gpu: bool | None = None) -> Mapping[str, Any]:
        return {"steps": self._used.steps}

    @property
    def variant(self) -> str:
        """Name of its scores: networks that the paper does not cover are distinguished from the paper's."""
        return f"{self.name}{EXTENDED if EXTENDED in self._used.name else ''}"

    @property
    def needed_splits(self) -> tuple[str, ...]:
        """The splits that a data set must have."""
        return ("train", "test")

    @property
    def _used(self) -> DenseProtocol:
        if self.protocol is not None:
            return self.protocol
        return shortened(self.paper, self.paper.steps if self.steps is None else self.steps, self.scale)

    def on(self, inputs: "ImageInputs") -> "TrainedHead":
        """The protocol has another name for networks that the paper does not cover."""
        if self.protocol is not None:
            return self
        beyond = self.extension(inputs) is not None
        paper = extended(self.paper) if beyond else self.paper
        used = shortened(paper, paper.steps if self.steps is None else self.steps, self.scale)
        return replace(self, steps=None, scale=1.0, protocol=used)

    def used(self, inputs: "ImageInputs") -> DenseProtocol:
        return self.on(inputs)._used

    def extension(self, inputs: "ImageInputs") -> str | None:
        """The code of a notice on how the training goes beyond the paper, if it does."""
        from unseen.probes.dense.bodies import extension_of

        return extension_of(inputs.backbone, self.paper)

    def image_remarks(self, inputs: "ImageInputs") -> Iterator[tuple[str, dict[str, Any]]]:
        used, spec = self.used(inputs), inputs.backbone.spec
        if used.name.endswith(SHORT):
            yield "short-training", {"protocol": used.name, "steps": used.steps}
        beyond = self.extension(inputs)
        if beyond is not None:
            yield beyond, {"backbone": inputs.backbone.label, "size": spec.transform.size}

    def job(self, inputs: "ImageInputs", seed: int) -> Job:
        probe, backbone, kind = self.on(inputs), inputs.backbone, inputs.dataset.kind
        return Job(
            self.name, _revision(kind, backbone.spec, inputs.arithmetic), backbone.label, inputs.dataset.name,
            inputs.reads, probe.described, None, seed, METRICS[kind][0], inputs.arithmetic, make=Held(probe),
        )  # fmt: skip

    def trained(self, cell: "ImageCell", job: Job) -> Fit:
        from unseen.probes.dense.work import train_and_score

        values, details, units = train_and_score(
            job, self._used, cell.network(), cell.opened, cell.device, checkpoint=cell.checkpoint(job),
            pictures=cell.pictures(job), watch=cell.steps(job, self.variant, self._used.steps),
        )  # fmt: skip
        details |= {"classes": list(cell.opened.classes)}
        return Fit(self.variant, None, job.seed, values, details, units=units)

    def step_seconds(self, cell: "ImageCell", job: Job) -> float:
        """Seconds of a training step, from timing a few on the images."""
        import time

        from unseen.probes.dense.work import train_and_score

        (passed, timed), times = MEASURED_STEPS[cell.device.type], list[float]()
        few = replace(self._used, steps=passed + timed, warm_up=0, milestones=())
        train_and_score(
            job, few, cell.network(), cell.opened, cell.device, every=1,
            watch=lambda _: times.append(time.perf_counter()), test=False,
        )  # fmt: skip
        return (times[-1] - times[passed - 1]) / timed


def _revision(kind: "Kind", spec: "Spec", arithmetic: str) -> int:
    """The last revision that changed the numbers of a training."""
    if kind != "boxes":
        return PADDED
    return WIDE if arithmetic == "float16" else PADDED if spec.transform.channels == "BGR" else 1

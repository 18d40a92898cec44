"""The probe `dense-trained`: a backbone with a detector or a map head, trained on images with boxes or maps."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from unseen.images.dataset import Target
from unseen.images.dense.labels import Kind
from unseen.probes.dense.protocols import DETECTION_FROZEN, EXTENDED, DenseProtocol
from unseen.probes.job import Held, Job, digest_of
from unseen.probes.patches.patch_probe import METRICS
from unseen.probes.probe import Input, Probe

if TYPE_CHECKING:
    from unseen.backbones.backbone import Spec

NAMES = {"last-stage": "detector-frozen", "without-norms": "detector-finetuned", "frozen": "psp", "whole": "upernet"}
"""Name of scores, by which part of the backbone is trained."""


PADDED, WIDE = 2, 3
"""Revisions: labels of maps are padded and detectors take the channels of the backbone; boxes have 32 bits on a GPU."""


def score_name(backbone: str, protocol: str) -> str:
    """Name of scores: networks that the paper does not cover are distinguished from the paper's.

    Args:
        backbone: which part of it is trained.
        protocol: its name.
    """
    return f"{NAMES[backbone]}{EXTENDED if EXTENDED in protocol else ''}"


@dataclass(frozen=True)
class DenseTrained(Probe):
    """Faster R-CNN, PSP or UPerNet on the backbone, trained end to end; see `unseen.probes.dense`."""

    name: ClassVar[str] = "dense-trained"
    title: ClassVar[str] = "a detector or a head for maps, trained with the backbone (Ericsson et al.)"
    input: ClassVar[Input] = "images"
    targets: ClassVar[tuple[Target, ...]] = ("boxes", "map", "normals")
    random: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("ap", "coco-ap", "miou", "angle-mean")
    revision: ClassVar[int] = WIDE
    commands: ClassVar[tuple[str, ...]] = ("unseen tasks --dense --finetune",)
    protocol: DenseProtocol = DETECTION_FROZEN

    @property
    def protocol_name(self) -> str:
        return self.protocol.name

    def job(
        self,
        backbone: str,
        spec: "Spec",
        dataset: str,
        kind: Kind,
        images: str,
        labels: str,
        seed: int,
        arithmetic: str,
    ) -> Job:
        """The training on images with boxes or maps.

        Args:
            kind: kind of the labels, whose SHA-256 is `labels`.
            images: content hash of the manifest of training and test images, and their fingerprint.
            arithmetic: "float32", or "float16" on a GPU.
        """
        reads = {"spec": digest_of(spec), "images": images, "labels": labels}
        return Job(
            NAMES[self.protocol.backbone], _revision(kind, spec, arithmetic), backbone, dataset, reads, self.described,
            None, seed, METRICS[kind][0], arithmetic, make=Held(self),
        )  # fmt: skip


def protocol_of_training(job: Job) -> DenseProtocol:
    """The protocol of a training."""
    probe = job.fitted
    assert isinstance(probe, DenseTrained)
    return probe.protocol


def _revision(kind: Kind, spec: "Spec", arithmetic: str) -> int:
    """The last revision that changed the numbers of a training."""
    if kind != "boxes":
        return PADDED
    return WIDE if arithmetic == "float16" else PADDED if spec.transform.channels == "BGR" else 1


PROBE = DenseTrained

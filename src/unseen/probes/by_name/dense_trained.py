"""The probe `dense-trained`: a backbone with a detector or a map head, trained on images with boxes or maps."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.images.dense.labels import Kind
from unseen.probes.dense.protocols import EXTENDED, DenseProtocol
from unseen.probes.job import Fit, Job
from unseen.probes.patches.job import METRICS
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
    random: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("ap", "coco-ap", "miou", "angle-mean")
    revision: ClassVar[int] = WIDE
    commands: ClassVar[tuple[str, ...]] = ("unseen tasks --dense --finetune",)


@dataclass(frozen=True)
class DenseTrainingJob(Job):
    """Everything that determines the scores of one training on images with boxes or maps.

    Attributes:
        spec: the backbone's weights and normalisation.
        kind: kind of the labels, whose SHA-256 is `labels`.
        images: content hash of the manifest of training and test images, and their fingerprint.
        arithmetic: "float32", or "float16" on a GPU.
    """

    study: str
    protocol: DenseProtocol
    backbone: str
    spec: "Spec"
    domain: str
    kind: Kind
    images: str
    labels: str
    seed: int
    arithmetic: str = "float32"
    revision: int = DenseTrained.revision

    @staticmethod
    def revision_of(kind: Kind, spec: "Spec", arithmetic: str) -> int:
        """The last revision that changed the numbers of a training."""
        if kind != "boxes":
            return PADDED
        return WIDE if arithmetic == "float16" else PADDED if spec.transform.channels == "BGR" else 1

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        name = score_name(job["protocol"]["backbone"], job["protocol"]["name"])
        yield Fit(name, None, job["seed"], [(metric, values[metric]) for metric in METRICS[job["kind"]]])


PROBE = DenseTrained

"""The probe `saliency`: where a backbone looks in an image, found by hiding parts of it."""

from dataclasses import dataclass
from typing import ClassVar

from unseen.probes.image_job import ImageJob
from unseen.probes.probe import Input, Probe
from unseen.probes.saliency.protocol import SaliencyProtocol


@dataclass(frozen=True)
class Saliency(Probe):
    """Errors of features behind a sliding mask, and how diffuse they are; see `unseen.probes.saliency`."""

    name: ClassVar[str] = "saliency"
    title: ClassVar[str] = "attention maps by occlusion, and how diffuse they are (Ericsson et al.)"
    input: ClassVar[Input] = "images"
    metrics: ClassVar[tuple[str, ...]] = ("diffusion",)
    commands: ClassVar[tuple[str, ...]] = ("unseen tasks --saliency",)


@dataclass(frozen=True)
class SaliencyJob(ImageJob):
    """Everything that determines the attention maps of a backbone on a set of images."""

    variant: ClassVar[str] = Saliency.name
    protocol: SaliencyProtocol


PROBE = Saliency

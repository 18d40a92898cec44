"""The probe `saliency`: where a backbone looks in an image, found by hiding parts of it."""

from dataclasses import dataclass
from typing import ClassVar

from unseen.images.dataset import Target
from unseen.probes.probe import Input, Probe
from unseen.probes.saliency.protocol import ERICSSON_2021, SaliencyProtocol


@dataclass(frozen=True)
class Saliency(Probe):
    """Errors of features behind a sliding mask, and how diffuse they are; see `unseen.probes.saliency`."""

    name: ClassVar[str] = "saliency"
    title: ClassVar[str] = "attention maps by occlusion, and how diffuse they are (Ericsson et al.)"
    input: ClassVar[Input] = "images"
    targets: ClassVar[tuple[Target, ...]] = ("none",)
    metrics: ClassVar[tuple[str, ...]] = ("diffusion",)
    commands: ClassVar[tuple[str, ...]] = ("unseen tasks --saliency",)
    protocol: SaliencyProtocol = ERICSSON_2021

    @property
    def protocol_name(self) -> str:
        return self.protocol.name


PROBE = Saliency

"""The probe `inversion`: what a backbone's features retain of an image, shown by reconstructing it."""

from dataclasses import dataclass
from typing import ClassVar

from unseen.images.dataset import Target
from unseen.probes.inversion.protocol import ERICSSON_2021, InversionProtocol
from unseen.probes.probe import Input, Probe

COLOURS = ("colour-red", "colour-green", "colour-blue")
LPIPS = "lpips"
"""The probe of jobs that measure perceptual distances of reconstructions, by one network each.

They are separate, so that another network needs no new reconstructions.
"""


@dataclass(frozen=True)
class Inversion(Probe):
    """Images reconstructed by a deep image prior from the last spatial map, and their errors; see
    `unseen.probes.inversion`.
    """

    name: ClassVar[str] = "inversion"
    title: ClassVar[str] = "images reconstructed from features, and how near they come (Ericsson et al.)"
    input: ClassVar[Input] = "images"
    targets: ClassVar[tuple[Target, ...]] = ("none",)
    random: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("lpips-alexnet", "lpips-vgg", "lpips-squeezenet", *COLOURS)
    commands: ClassVar[tuple[str, ...]] = ("unseen tasks --invert",)
    protocol: InversionProtocol = ERICSSON_2021

    @property
    def protocol_name(self) -> str:
        return self.protocol.name


PROBE = Inversion

"""The probe `inversion`: what a backbone's features retain of an image, shown by reconstructing it."""

from dataclasses import dataclass
from typing import ClassVar

from unseen.probes.image_job import ImageJob
from unseen.probes.inversion.protocol import InversionProtocol
from unseen.probes.probe import Input, Probe

COLOURS = ("colour-red", "colour-green", "colour-blue")


@dataclass(frozen=True)
class Inversion(Probe):
    """Images reconstructed by a deep image prior from the last spatial map, and their errors; see
    `unseen.probes.inversion`.
    """

    name: ClassVar[str] = "inversion"
    title: ClassVar[str] = "images reconstructed from features, and how near they come (Ericsson et al.)"
    input: ClassVar[Input] = "images"
    random: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("lpips-alexnet", "lpips-vgg", "lpips-squeezenet", *COLOURS)
    commands: ClassVar[tuple[str, ...]] = ("unseen tasks --invert",)


@dataclass(frozen=True)
class InversionJob(ImageJob):
    """Everything that determines the reconstructions of a set of images; its metrics are colour errors.

    Attributes:
        seed: seed of the noise and the initial weights.
    """

    variant: ClassVar[str] = Inversion.name
    protocol: InversionProtocol
    seed: int = 0


@dataclass(frozen=True)
class LpipsJob(ImageJob):
    """Everything that determines the perceptual distances of reconstructions, by one network.

    This is a separate job, so that another LPIPS network needs no new reconstructions.

    Attributes:
        trunk: the network, and `weights` the SHA-256 of its weights.
        inversion: key of the job of the reconstructions.
    """

    variant: ClassVar[str] = Inversion.name
    protocol: InversionProtocol
    seed: int = 0
    trunk: str = ""
    weights: str = ""
    inversion: str = ""


PROBE = Inversion

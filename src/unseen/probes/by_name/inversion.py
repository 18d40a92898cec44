"""The probe `inversion`: what a backbone's features keep of an image, seen in its reconstruction from them."""

from dataclasses import dataclass
from typing import ClassVar

from unseen.probes.image_job import ImageJob
from unseen.probes.inversion.protocol import InversionProtocol
from unseen.probes.probe import Input, Probe

COLOURS = ("colour-red", "colour-green", "colour-blue")


@dataclass(frozen=True)
class Inversion(Probe):
    """Images by a deep image prior from the last spatial map, and their errors; see `unseen.probes.inversion`."""

    name: ClassVar[str] = "inversion"
    title: ClassVar[str] = "images reconstructed from features, and how near they come (Ericsson et al.)"
    input: ClassVar[Input] = "images"
    random: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("lpips-alexnet", "lpips-vgg", "lpips-squeezenet", *COLOURS)
    commands: ClassVar[tuple[str, ...]] = ("unseen tasks --invert",)


@dataclass(frozen=True)
class InversionJob(ImageJob):
    """Everything that decides the reconstructions of a set of images; its metrics are the errors of colours.

    Attributes:
        seed: of the noise and the first weights.
    """

    variant: ClassVar[str] = Inversion.name
    protocol: InversionProtocol
    seed: int = 0


@dataclass(frozen=True)
class LpipsJob(ImageJob):
    """Everything that decides the perceptual distances of reconstructions, by one network.

    They are a job of their own, so that another network's need no new reconstructions.

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

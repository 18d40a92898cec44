"""Requests for analyses of single images, from options of the command line or of Python."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError, option
from unseen.features.settings import Settings
from unseen.metrics.lpips import TRUNKS, Trunk
from unseen.metrics.lpips_trunks import TITLES, load_trunk
from unseen.probes.inversion.protocol import InversionProtocol
from unseen.probes.saliency.grid import parse_grid
from unseen.probes.saliency.protocol import SaliencyProtocol
from unseen.runs.notices import Notice, notice
from unseen.studies.tasks.by_image.analysis import Analysis
from unseen.studies.tasks.by_image.inversion import InversionAnalysis
from unseen.studies.tasks.by_image.perceptual import InversionRequest
from unseen.studies.tasks.by_image.request import ImageRequest
from unseen.studies.tasks.by_image.saliency import SaliencyAnalysis
from unseen.studies.tasks.by_image.sets import open_image_sets
from unseen.studies.tasks.opened import Asked
from unseen.studies.tasks.request import top1_shares

DEFAULT_GRID = "10/2"
"""A quarter of the paper's passes, for a diffusion within 0.2 points on average over photographs (docs/analyses.md)."""
METRICS = {"alex": "lpips-alexnet", "vgg": "lpips-vgg", "squeeze": "lpips-squeezenet"}
DOWNLOADS = {"alex": "alexnet", "vgg": "vgg16", "squeeze": "squeezenet1_1"}
"""Names of the networks of perceptual distances in torchvision."""


@dataclass(frozen=True, eq=False)
class AskedImages:
    """The images and the backbones of an analysis; the other attributes are the arguments of `open_image_sets`.

    Attributes:
        load: loads the backbones, after the images were found.
        percents: ImageNet accuracy of each backbone in percent, if known.
    """

    names: Sequence[Asked]
    place: Path | None
    examples: int | None
    load: Callable[[], Sequence[Backbone]]
    percents: Sequence[float] = ()

    def request(self, analysis: Analysis, settings: Settings) -> ImageRequest:
        """An analysis of these images."""
        images = open_image_sets(self.names, self.place, self.examples)
        backbones = self.load()
        if not backbones:
            raise UserError(f"no backbone was given; name one ({option('backbone')})")
        top1 = top1_shares([each.label for each in backbones], self.percents)
        return ImageRequest(analysis, images, backbones, settings, top1)


def saliency_request(
    asked: AskedImages, settings: Settings, *, grid: str | None = None, batch: int | None = None
) -> ImageRequest:
    """Attention maps by occlusion.

    Args:
        grid: as in `parse_grid`.
        batch: images per batch; None for a number that is fast on the device.
    """
    if batch is not None and batch < 1:
        raise UserError(f"the batch must have at least one image, not {batch}")
    protocol = SaliencyProtocol.of(parse_grid(grid or DEFAULT_GRID))
    return asked.request(SaliencyAnalysis(protocol, batch), settings)


def inversion_request(
    asked: AskedImages,
    settings: Settings,
    *,
    steps: int | None = None,
    sigmoid: bool = False,
    seed: int = 0,
    batch: int | None = None,
    lpips_weights: Path | None = None,
) -> InversionRequest:
    """Reconstructions from features, compared with the originals.

    Args:
        asked: its backbones must return patch features.
        settings: with "single" or "bfloat" precision.
        batch: images per batch; None for a number that is fast on the device.
        lpips_weights: a folder with the weights of networks for perceptual distances.
    """
    if batch is not None and batch < 1:
        raise UserError(f"the batch must have at least one image, not {batch}")
    if settings.precision == "half":
        raise UserError(f"images are reconstructed in single or bfloat precision; use {option('precision', 'single')}")
    protocol = InversionProtocol.of(steps, sigmoid=sigmoid)
    trunks, absent = dict[str, Trunk](), list[Notice]()
    for name in TRUNKS:
        trunk = load_trunk(name, lpips_weights, device=settings.device)
        if trunk is not None:
            trunks[METRICS[name]] = trunk
        else:
            advice = f"torchvision.models.{DOWNLOADS[name]}(weights='DEFAULT') in Python downloads them."
            absent.append(notice("no-lpips", network=TITLES[name], advice=advice))
    request = asked.request(InversionAnalysis(protocol, seed, batch), settings)
    return InversionRequest(request, trunks, absent)

"""From what a user asks of single images, on the command line or in Python, to a request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError
from unseen.features.settings import Settings
from unseen.probes.saliency.grid import parse_grid
from unseen.probes.saliency.protocol import SaliencyProtocol
from unseen.studies.tasks.by_image.analysis import Analysis
from unseen.studies.tasks.by_image.request import ImageRequest
from unseen.studies.tasks.by_image.saliency import SaliencyAnalysis
from unseen.studies.tasks.by_image.sets import open_image_sets
from unseen.studies.tasks.request import top1_shares

DEFAULT_GRID = "8/4"


@dataclass(frozen=True, eq=False)
class AskedImages:
    """Which images, and through which backbones; arguments as in `open_image_sets`.

    Attributes:
        load: gives the backbones, once the images are known to be there.
        percents: accuracy on ImageNet of each backbone, where that is known.
    """

    names: Sequence[str]
    place: Path | None
    examples: int | None
    load: Callable[[], Sequence[Backbone]]
    percents: Sequence[float] = ()

    def request(self, analysis: Analysis, settings: Settings) -> ImageRequest:
        """An analysis of these images."""
        images = open_image_sets(self.names, self.place, self.examples)
        backbones = self.load()
        if not backbones:
            raise UserError("say which backbone: --backbone")
        top1 = top1_shares([each.label for each in backbones], self.percents)
        return ImageRequest(analysis, images, backbones, settings, top1)


def saliency_request(
    asked: AskedImages, settings: Settings, *, grid: str | None = None, batch: int | None = None
) -> ImageRequest:
    """Attention maps by occlusion.

    Args:
        grid: as in `parse_grid`.
        batch: images at once; None for as many as the device is fast with.
    """
    if batch is not None and batch < 1:
        raise UserError(f"a batch has at least one image, not {batch}")
    protocol = SaliencyProtocol.of(parse_grid(grid or DEFAULT_GRID))
    return asked.request(SaliencyAnalysis(protocol, batch), settings)

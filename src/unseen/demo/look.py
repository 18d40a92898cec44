"""`unseen demo --look`: analyses of single drawings by the demo's networks, shortened to about a minute in total."""

from collections.abc import Sequence
from functools import partial

from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.features.settings import extraction_settings
from unseen.studies.study import Request
from unseen.studies.tasks.by_image.requested import AskedImages, inversion_request, saliency_request

NETWORKS = ("supervised", "simclr", "untrained")
DRAWINGS = 6
GRID = "4/2"
"""Drawings have 28 × 28 pixels: the paper's masks would hide an eighth of them."""


INVERTED, STEPS = 3, 120
"""Number of drawings to reconstruct, and steps for each, instead of the paper's 3000."""


def look_requests() -> list[Request]:
    """Where the networks look, and what their features retain."""
    settings = extraction_settings(None, "single", 1, 0, "fail")
    request = AskedImages((), None, DRAWINGS, partial(networks, settings.device))
    kept = AskedImages((), None, INVERTED, partial(networks, settings.device, patches=True))
    return [saliency_request(request, settings, grid=GRID), inversion_request(kept, settings, steps=STEPS)]


def networks(device: str, *, patches: bool = False) -> Sequence[Backbone]:
    """The demo's networks, with patch features if requested."""
    return [load_backbone(f"demo:{name}", device=device, patches=patches) for name in NETWORKS]

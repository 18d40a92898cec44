"""`unseen demo --look`: analyses of single drawings by the demo's networks, in short forms of a minute together."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.features.settings import extraction_settings
from unseen.studies.study import Request
from unseen.studies.tasks.by_image.requested import AskedImages, saliency_request

NETWORKS = ("supervised", "simclr", "untrained")
DRAWINGS = 6
GRID = "4/2"
"""Drawings have 28 × 28 pixels: masks as in the paper would hide an eighth of them."""


def look_requests() -> list[Request[Any]]:
    """Where the networks look."""
    settings = extraction_settings(None, "single", 1, 0, "fail")
    asked = AskedImages((), None, DRAWINGS, partial(networks, settings.device))
    return [saliency_request(asked, settings, grid=GRID)]


def networks(device: str, *, patches: bool = False) -> Sequence[Backbone]:
    """The demo's networks, with the features of patches where these are asked for."""
    return [load_backbone(f"demo:{name}", device=device, patches=patches) for name in NETWORKS]

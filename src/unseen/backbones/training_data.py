"""What data a backbone was trained on, as far as its source and the tag of its weights tell."""

import re

from unseen.backbones.catalogue import Published, catalogue
from unseen.backbones.network import RANDOM

IMAGENET_21K = "ImageNet-21K, which has the concepts of the levels"
WEB = "web data"
UNKNOWN = "unknown data: check that it saw IN-1K alone"
TAGGED = ("timm", "torchvision")
"""Sources whose tags name the training data."""
OTHER_DATA = {
    # SSLD distils on images that were picked from ImageNet-21K.
    IMAGENET_21K: re.compile(r"in21k|in22k|in12k|inw21k|ssld"),
    WEB: re.compile(
        r"yfcc|ig1b|swag|seer|laion|openai|datacomp|dfn|clip|webli|lvd|jft|merged2b|m30m|m38m|cc12m|sa1b|pali"
    ),
}
ALONE = re.compile(r"in1k|imagenet1k|^(fb_)?(dino|mae|fcmae)$")


def trained_on(name: str, weights: str) -> str:
    """What a backbone saw beside ImageNet-1K, in a few words; empty where that is nothing.

    Args:
        name: its id, `source:name`; a Python file has no source that is known, and neither have features from a file.
        weights: what identifies them (`Spec.weights`).
    """
    source = name.partition(":")[0]
    if weights == RANDOM or source == "registry":  # the packages of the registries have weights of IN-1K
        return ""
    if source == "openclip":
        return WEB
    if source not in TAGGED or weights.startswith("sha256:"):
        return UNKNOWN
    tag = weights.partition(".")[2].lower()
    found = [data for data, words in OTHER_DATA.items() if words.search(tag)]
    return " and ".join(reversed(found)) or ("" if ALONE.search(tag) else UNKNOWN)


def published_as(name: str, weights: str) -> Published | None:
    """The model of ImageNet-CoG that a backbone is: of the same source and with the same weights."""
    # What comes behind a comma is how the network was built for them.
    wanted = f"{name.partition(':')[0]}:{weights.partition(',')[0]}"
    return next((model for model in catalogue("cog-v2") if model.id == wanted), None)

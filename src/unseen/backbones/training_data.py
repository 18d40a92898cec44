"""What data a backbone was trained on, as far as its source and the tag of its weights tell."""

import re
from typing import Literal

from unseen.backbones.backbone import RANDOM
from unseen.backbones.catalogue import Published, catalogue

TrainingData = Literal["imagenet-21k", "web", "unknown"]
"""What was seen beside ImageNet-1K; ImageNet-21K has the concepts of the levels."""
TAGGED = ("timm", "torchvision")
"""Sources whose tags name the training data."""
OTHER_DATA: dict[TrainingData, re.Pattern[str]] = {
    "web": re.compile(
        r"yfcc|ig1b|swag|seer|laion|openai|datacomp|dfn|clip|webli|lvd|jft|merged2b|m30m|m38m|cc12m|sa1b|pali"
    ),
    # SSLD distils on images that were picked from ImageNet-21K.
    "imagenet-21k": re.compile(r"in21k|in22k|in12k|inw21k|ssld"),
}
ALONE = re.compile(r"in1k|imagenet1k|^(fb_)?(dino|mae|fcmae)$")


def trained_on(name: str, weights: str) -> tuple[TrainingData, ...]:
    """What a backbone saw beside ImageNet-1K; empty where that is nothing.

    Args:
        name: its id, `source:name`; a Python file has no source that is known, and neither have features from a file.
        weights: what identifies them (`Spec.weights`).
    """
    source = name.partition(":")[0]
    if weights == RANDOM or source == "registry":  # the packages of the registries have weights of IN-1K
        return ()
    if source == "openclip":
        return ("web",)
    if source not in TAGGED or weights.startswith("sha256:"):
        return ("unknown",)
    tag = weights.partition(".")[2].lower()
    found = tuple(data for data, words in OTHER_DATA.items() if words.search(tag))
    return found or (() if ALONE.search(tag) else ("unknown",))


def published_as(name: str, weights: str) -> Published | None:
    """The model of ImageNet-CoG that a backbone is: of the same source and with the same weights."""
    # What comes behind a comma is how the network was built for them.
    wanted = f"{name.partition(':')[0]}:{weights.partition(',')[0]}"
    return next((model for model in catalogue("cog-v2") if model.id == wanted), None)

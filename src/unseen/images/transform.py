"""What is done to an image before a backbone sees it; all of it decides the features."""

from dataclasses import dataclass
from typing import Literal

Interpolation = Literal["bicubic", "bilinear", "nearest", "lanczos"]
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
Channels = tuple[float, float, float]
NORMALISATIONS: dict[str, tuple[Channels, Channels]] = {
    "imagenet": (IMAGENET_MEAN, IMAGENET_STD),
    "none": ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
    "half": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    "clip": ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
}
"""Mean and deviation by name: none leaves pixels between 0 and 1, half brings them between −1 and 1."""


@dataclass(frozen=True)
class Transform:
    """Shortest side to `resize` pixels, centre crop of `size`, then (pixel / 255 − mean) / std by channel.

    With `squash`, both sides go to `resize` pixels whatever the image's proportions; the rest is the same.

    Attributes:
        size: side of the square that the backbone gets.
        resize: shortest side before the crop; None leaves the image as it is, so that it must have at least `size`.
        channels: "RGB", or "BGR" for backbones that were trained so.
    """

    size: int = 224
    resize: int | None = 224
    interpolation: Interpolation = "bicubic"
    mean: Channels = IMAGENET_MEAN
    std: Channels = IMAGENET_STD
    channels: Literal["RGB", "BGR"] = "RGB"
    squash: bool = False

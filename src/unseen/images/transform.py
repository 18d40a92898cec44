"""Preprocessing of an image before it enters a backbone; every setting affects the features."""

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
"""Mean and standard deviation by name: `none` leaves pixels in [0, 1], `half` maps them to [−1, 1]."""


@dataclass(frozen=True)
class Transform:
    """Shortest side to `resize` pixels, centre crop of `size`, then (pixel / 255 − mean) / std per channel.

    With `squash`, both sides are resized to `resize` pixels regardless of the aspect ratio; the rest is the same.

    Attributes:
        size: side of the square that the backbone receives.
        resize: shortest side before the crop; None skips resizing, so that both sides must have at least `size` pixels.
        channels: "RGB", or "BGR" for backbones trained with that order.
    """

    size: int = 224
    resize: int | None = 224
    interpolation: Interpolation = "bicubic"
    mean: Channels = IMAGENET_MEAN
    std: Channels = IMAGENET_STD
    channels: Literal["RGB", "BGR"] = "RGB"
    squash: bool = False

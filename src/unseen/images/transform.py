"""What is done to an image before a backbone sees it; all of it decides the features."""

from dataclasses import dataclass
from typing import Literal

Interpolation = Literal["bicubic", "bilinear", "nearest", "lanczos"]
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


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
    mean: tuple[float, float, float] = IMAGENET_MEAN
    std: tuple[float, float, float] = IMAGENET_STD
    channels: Literal["RGB", "BGR"] = "RGB"
    squash: bool = False

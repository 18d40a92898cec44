"""Preprocessing of an image before it enters a backbone; every setting affects the features."""

from dataclasses import dataclass
from typing import Annotated, Literal

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
    """Shortest side to `resize` pixels, centre crop of `size`, then (pixel / 255 − mean) / std per channel."""

    size: Annotated[int, "Side of the square input of the backbone, in pixels."] = 224
    resize: Annotated[int | None, "Shortest side before the crop; null for images that are not resized."] = 224
    interpolation: Interpolation = "bicubic"
    mean: Annotated[Channels, "Subtracted from pixels between 0 and 1, by channel."] = IMAGENET_MEAN
    std: Annotated[Channels, "Divisor of the pixels after that, by channel."] = IMAGENET_STD
    channels: Annotated[Literal["RGB", "BGR"], "The order that the backbone was trained with."] = "RGB"
    squash: Annotated[bool, "Whether both sides are resized to `resize`, regardless of the aspect ratio."] = False

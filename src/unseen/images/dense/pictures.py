"""Pictures of an image, its true labels and the predicted labels, side by side."""

import colorsys
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.files import atomic_write
from unseen.images.dense.labels import IGNORED, Kind, Map, Objects

HEIGHT, GAP = 160, 4
"""Side of a panel and gap between panels, in pixels."""


def label_picture(
    kind: Kind, pixels: NDArray[np.uint8], truth: Map | Objects, predicted: Map | Objects, path: Path
) -> None:
    """Write a PNG with three panels.

    Args:
        pixels: (h, w, 3) the image.
        truth, predicted: maps of the image's size, or objects in it.
    """
    from PIL import Image

    panels = [pixels, *(coloured(kind, pixels, labels, truth) for labels in (truth, predicted))]
    width = max(1, round(HEIGHT * pixels.shape[1] / pixels.shape[0]))
    sheet = Image.new("RGB", (3 * width + 2 * GAP, HEIGHT), "white")
    for place, panel in enumerate(panels):
        sheet.paste(Image.fromarray(panel).resize((width, HEIGHT)), (place * (width + GAP), 0))
    with atomic_write(path) as file:
        sheet.save(file, format="PNG", optimize=True)


def coloured(kind: Kind, pixels: NDArray[np.uint8], labels: Map | Objects, scale: Map | Objects) -> NDArray[np.uint8]:
    """(h, w, 3) labels as colours: classes from the palette, normals by direction, depths in grey, boxes as outlines.

    Args:
        scale: the true labels; both panels of depths are darkest at the greatest true depth.
    """
    if isinstance(labels, Objects):
        return _with_boxes(pixels, labels)
    if kind == "classes":
        return palette()[labels.astype(np.int64) % 256]
    if kind == "normals":
        shades: NDArray[np.uint8] = np.clip((labels + 1) * 127.5, 0, 255).astype(np.uint8)
        return shades
    assert not isinstance(scale, Objects)
    grey = 255 - np.clip(255 * labels / max(float(scale.max()), 1e-6), 0, 255)
    return np.repeat(grey.astype(np.uint8)[..., None], 3, axis=2)


@lru_cache(maxsize=1)
def palette() -> NDArray[np.uint8]:
    """(256, 3) class colours: the first is dark, successive ones differ strongly in hue, ignored pixels are white."""
    colours = [
        colorsys.hsv_to_rgb(number * 0.61803 % 1, 0.65, 0.95 - 0.25 * (number % 3 == 0)) for number in range(256)
    ]
    table = np.round(255 * np.array(colours)).astype(np.uint8)
    table[0], table[IGNORED] = (40, 44, 52), (255, 255, 255)
    return table


def _with_boxes(pixels: NDArray[np.uint8], objects: Objects) -> NDArray[np.uint8]:
    from PIL import Image, ImageDraw

    picture = Image.fromarray(pixels)
    draw, thick = ImageDraw.Draw(picture), max(1, round(min(pixels.shape[:2]) / 100))
    for box, kind in zip(objects.boxes.tolist(), objects.classes.tolist(), strict=True):
        draw.rectangle(box, outline=tuple(palette()[kind + 1].tolist()), width=thick)
    return np.array(picture)

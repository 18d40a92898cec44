"""Pictures of an image, its true labels and the predicted labels, side by side, and what their colours mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dense.labels import IGNORED, Kind, Map, Objects
from unseen.data.core.dense.palette import palette
from unseen.files import atomic_write

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

HEIGHT, GAP, LINE = 160, 4, 2
"""Side of a panel, gap between panels, and width of the outlines of boxes, in pixels."""
UNKNOWN_DEPTH = (204, 222, 242)
HEAT_COLOURS, HEAT = "inferno", 0.6
"""The colours of a map over its image in grey, and their opacity."""
DIRECTIONS = {
    "right": (1, 0, 0),
    "left": (-1, 0, 0),
    "up": (0, 1, 0),
    "down": (0, -1, 0),
    "towards the camera": (0, 0, 1),
    "not known": (0, 0, 0),
}
AXES = ("+x", "−x", "+y", "−y", "+z", "not known")
Colours = Sequence[tuple[str, str]]
"""(colour as `#rrggbb`, its meaning)."""


@dataclass(frozen=True)
class KeptPicture:
    """What a result says about a picture: its file, the main metric of its image, and the classes it shows."""

    file: str
    score: float
    classes: tuple[int, ...]


def label_picture(
    kind: Kind, pixels: NDArray[np.uint8], truth: Map | Objects, predicted: Map | Objects, path: Path, score: float
) -> "KeptPicture":
    """Write a PNG with three panels.

    Args:
        pixels: (h, w, 3) the image.
        truth, predicted: maps of the image's size, or objects in it.
        score: the main metric of this image alone; errors may be negative.
    """
    from PIL import Image

    size = (max(1, round(HEIGHT * pixels.shape[1] / pixels.shape[0])), HEIGHT)
    sheet = Image.new("RGB", (3 * size[0] + 2 * GAP, HEIGHT), "white")
    sheet.paste(Image.fromarray(pixels).resize(size), (0, 0))
    for place, labels in enumerate((truth, predicted), start=1):
        if isinstance(labels, Objects):
            panel = _with_boxes(pixels, labels, size)
        else:  # the nearest pixels, so that only colours of the legend occur
            panel = Image.fromarray(coloured(kind, labels, truth)).resize(size, Image.Resampling.NEAREST)
        sheet.paste(panel, (place * (size[0] + GAP), 0))
    with atomic_write(path) as file:
        sheet.save(file, format="PNG", optimize=True)
    return KeptPicture(path.name, abs(score), shown_classes(truth, predicted) if kind in ("classes", "boxes") else ())


def coloured(kind: Kind, labels: Map, scale: Map | Objects) -> NDArray[np.uint8]:
    """(h, w, 3) a map as colours: classes from the palette, normals by direction, depths in grey.

    Args:
        scale: the true labels; both panels of depths are darkest at the greatest true depth.
    """
    if kind == "classes":
        return palette()[labels.astype(np.int64) % 256]
    if kind == "normals":
        return _shades(labels)
    assert not isinstance(scale, Objects)
    grey = 255 - np.clip(255 * labels / max(float(scale.max()), 1e-6), 0, 255)
    panel = np.repeat(grey.astype(np.uint8)[..., None], 3, axis=2)
    panel[labels <= 0] = UNKNOWN_DEPTH
    return panel


def overlay(image: NDArray[np.uint8], attention: NDArray[Any]) -> NDArray[np.uint8]:
    """(h, w, 3): a map (h, w) in colours, from its lowest value to its highest, over an image (h, w, 3) in grey."""
    import matplotlib as mpl

    values = attention.astype(np.float64)
    spread = float(np.ptp(values))
    heat = mpl.colormaps[HEAT_COLOURS]((values - values.min()) / spread if spread else np.zeros_like(values))[..., :3]
    grey = image.mean(axis=2, keepdims=True) / 255
    mixed: NDArray[np.uint8] = (255 * (HEAT * heat + (1 - HEAT) * grey)).round().astype(np.uint8)
    return mixed


def shown_classes(truth: Map | Objects, predicted: Map | Objects) -> tuple[int, ...]:
    """The classes in a picture, in order; `IGNORED` for pixels without a class."""
    both = [labels.classes if isinstance(labels, Objects) else labels for labels in (truth, predicted)]
    return tuple(int(number) for number in np.unique(np.concatenate([each.ravel() for each in both])))


def legend(kind: Kind, classes: Sequence[str], shown: Sequence[int], *, other_axes: bool = False) -> Colours:
    """What the colours of pictures mean.

    Args:
        classes: names, in the order of their indices.
        shown: the classes in the pictures, as in `shown_classes`.
        other_axes: whether the axes of normals are not those of this package, so that they are only named.
    """
    if kind == "normals":
        named = dict(zip(AXES, DIRECTIONS.values(), strict=True)) if other_axes else DIRECTIONS
        return [(_hex(_shades(np.array(of, dtype=np.float32))), name) for name, of in named.items()]
    if kind == "depth":
        greys = {"0 m": (255, 255, 255), "the greatest true depth": (0, 0, 0), "not known": UNKNOWN_DEPTH}
        return [(_hex(np.array(colour)), name) for name, colour in greys.items()]
    first = 1 if kind == "boxes" else 0
    colours = [(_hex(palette()[number + first]), classes[number]) for number in shown if number < len(classes)]
    return [*colours, *([(_hex(palette()[IGNORED]), "no class")] if IGNORED in shown else [])]


def _shades(normals: Map) -> NDArray[np.uint8]:
    shades: NDArray[np.uint8] = np.clip((normals + 1) * 127.5, 0, 255).astype(np.uint8)
    return shades


def _hex(colour: NDArray[np.integer]) -> str:
    return "#" + "".join(f"{int(part):02x}" for part in colour)


def _with_boxes(pixels: NDArray[np.uint8], objects: Objects, size: tuple[int, int]) -> "Picture":
    from PIL import Image, ImageDraw

    picture = Image.fromarray(pixels).resize(size)
    draw, scale = ImageDraw.Draw(picture), np.array([*size, *size]) / [*pixels.shape[1::-1], *pixels.shape[1::-1]]
    for box, kind in zip((objects.boxes * scale).tolist(), objects.classes.tolist(), strict=True):
        left, top, right, bottom = box
        edges = (left, top, max(left, right - 1), max(top, bottom - 1))
        draw.rectangle(edges, outline=tuple(palette()[kind + 1].tolist()), width=LINE)
    return picture

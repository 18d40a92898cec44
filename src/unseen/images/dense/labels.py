"""Labels of an image other than one class: boxes of objects, and maps with one value per pixel."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError

Floats = NDArray[np.floating]
Kind = Literal["boxes", "classes", "normals", "depth"]
"""Boxes of objects; or, for each pixel, a class, a surface normal or a depth."""
IGNORED = 255
"""Value in class maps for pixels that are neither trained on nor scored, as in PASCAL VOC."""
MOST_CLASSES = 255
SLACK = 1.0
"""Pixels by which a box may extend beyond its image because of rounding; such boxes are clipped, larger ones are
errors.
"""


@dataclass(frozen=True, eq=False)
class Objects:
    """The ground-truth objects of an image.

    Attributes:
        boxes: (n, 4) left, top, right and bottom edges in pixels, so that right − left is the width. PASCAL VOC counts
            pixels from 1 and includes the last one: its (xmin, xmax) are the edges (xmin − 1, xmax).
        classes: (n,) class indices.
        ignored: (n,) objects that count neither as hits nor as misses in scoring: VOC's `difficult` objects, and crowds.
        crowd: (n,) regions of many objects (COCO's `iscrowd`), in which any number of detections is ignored.
    """

    boxes: Floats
    classes: NDArray[np.int64]
    ignored: NDArray[np.bool_]
    crowd: NDArray[np.bool_]

    @classmethod
    def of(cls, boxes: object, classes: object, ignored: object = None, crowd: object = None) -> "Objects":
        """Objects from anything NumPy can convert; by default none are ignored and none are crowds."""
        names = np.asarray(classes, dtype=np.int64).reshape(-1)
        none = np.zeros(len(names), dtype=bool)
        marks = [none if mark is None else np.asarray(mark, dtype=bool).reshape(-1) for mark in (ignored, crowd)]
        return cls(np.asarray(boxes, dtype=np.float64).reshape(-1, 4), names, marks[0] | marks[1], marks[1])

    def __len__(self) -> int:
        return len(self.classes)

    @cached_property
    def areas(self) -> Floats:
        """(n,) areas in square pixels."""
        areas: Floats = np.prod(self.boxes[:, 2:] - self.boxes[:, :2], axis=1)
        return areas


Map = NDArray[np.uint8] | NDArray[np.float32]
"""Classes (h, w) uint8 with `IGNORED`; normals (h, w, 3) or depths in metres (h, w) float32, with 0 for unknown."""
Labels = Objects | Map


def checked_objects(objects: Objects, size: tuple[int, int], where: str) -> Objects:
    """The objects, with boxes clipped to the image.

    Args:
        size: width and height of the image.
        where: the label file, for error messages.
    """
    width, height = size
    limits = np.array([width, height, width, height], dtype=np.float64)
    if not np.isfinite(objects.boxes).all():
        raise UserError(f"{where}: a box has a coordinate that is not a number")
    empty = np.flatnonzero((objects.boxes[:, 2:] <= objects.boxes[:, :2]).any(axis=1))
    if len(empty):
        raise UserError(f"{where}: box {empty[0] + 1} ({_text(objects.boxes[empty[0]])}) has no area")
    outside = np.flatnonzero(((objects.boxes < -SLACK) | (objects.boxes > limits + SLACK)).any(axis=1))
    if len(outside):
        box = _text(objects.boxes[outside[0]])
        raise UserError(f"{where}: box {outside[0] + 1} ({box}) lies outside the image of {width} × {height} pixels")
    boxes = np.clip(objects.boxes, 0, limits)
    return Objects(boxes, objects.classes, objects.ignored, objects.crowd)


def checked_map(kind: Kind, values: Map, size: tuple[int, int], classes: int, where: str) -> Map:
    """The map, if its size matches the image and its values are valid for its kind; arguments as above."""
    if values.shape[:2] != size[::-1]:
        height, width = values.shape[:2]
        raise UserError(f"{where}: a map of {width} × {height} pixels for an image of {size[0]} × {size[1]}")
    if kind == "classes":
        wrong = values[(values >= classes) & (values != IGNORED)]
        if len(wrong):
            raise UserError(f"{where}: the label {int(wrong.max())} is none of the {classes} classes, counted from 0")
    elif not np.isfinite(values).all() or (kind == "depth" and (values < 0).any()):
        raise UserError(f"{where}: a map of {kind} contains negative, infinite or NaN values")
    return values


def _text(box: Floats) -> str:
    return ", ".join(f"{edge:g}" for edge in box)

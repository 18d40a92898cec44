"""Labels of an image other than one class: boxes of objects, and maps with one value per pixel."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Literal, Protocol

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
"""Pixels by which a box may extend beyond its image because of rounding; such boxes are clipped, larger ones are left
out.
"""
TURNED = (
    "; it fits the image as turned by its EXIF orientation, but labels are for stored pixels: save the images turned"
)


@dataclass(frozen=True, eq=False)
class Objects:
    """The ground-truth objects of an image.

    Attributes:
        boxes: (n, 4) left, top, right and bottom edges in pixels, so that right − left is the width. PASCAL VOC counts
            pixels from 1 and includes the last one: its (xmin, xmax) are the edges (xmin − 1, xmax).
        classes: (n,) class indices.
        ignored: (n,) objects that count neither as hits nor as misses: VOC's `difficult` objects, and crowds.
        crowd: (n,) regions of many objects (COCO's `iscrowd`), in which any number of detections is ignored.
        left_out: why boxes of the image cannot be used and are not among these, one clause for each.
        drawn_on: width and height of the image according to the label file, if it says so.
    """

    boxes: Floats
    classes: NDArray[np.int64]
    ignored: NDArray[np.bool_]
    crowd: NDArray[np.bool_]
    left_out: tuple[str, ...] = ()
    drawn_on: tuple[int, int] | None = None

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


class LabelReader(Protocol):
    """Reads the labels of images by index; can be sent to other processes."""

    def place(self, number: int) -> str:
        """Where the labels of an image are stored, for error messages."""
        ...

    def read(self, number: int) -> Labels:
        """The labels as stored in the file; unreadable labels are a UserError that names the file."""
        ...


def checked_objects(objects: Objects, size: tuple[int, int], classes: int, where: str, *, sideways: bool) -> Objects:
    """The objects with boxes clipped to the image, without those that cannot be used, which are named in `left_out`.

    An image whose boxes are all unusable is an error: it would pass for one without objects.

    Args:
        size: width and height of the image.
        classes: number of classes.
        where: the label file, for error messages.
        sideways: whether EXIF's orientation of the image exchanges its width and height.
    """
    width, height = size
    if objects.drawn_on not in {None, size}:
        advice = TURNED if sideways and objects.drawn_on == size[::-1] else ""
        drawn = " × ".join(map(str, objects.drawn_on or ()))
        raise UserError(f"{where}: boxes in an image of {drawn} pixels, but it has {width} × {height}{advice}")
    reasons = [
        _fault(box, number, size, classes)
        for box, number in zip(objects.boxes.tolist(), objects.classes.tolist(), strict=True)
    ]
    named = zip(objects.boxes, reasons, strict=True)
    left_out = [*objects.left_out, *(f"the box ({_text(box)}) {reason}" for box, reason in named if reason)]
    kept = np.array([not reason for reason in reasons], dtype=bool)
    if left_out and not kept.any():
        raise UserError(f"{where}: {left_out[0]}")
    return Objects(
        np.clip(objects.boxes[kept], 0, [width, height, width, height]),
        objects.classes[kept],
        objects.ignored[kept],
        objects.crowd[kept],
        left_out=tuple(left_out),
    )


def _fault(box: Sequence[float], number: int, size: tuple[int, int], classes: int) -> str:
    """Why a box cannot be used, as the end of a clause; empty if it can."""
    left, top, right, bottom = box
    if not all(map(isfinite, box)):
        return "has a coordinate that is not a number"
    if right <= left or bottom <= top:
        return "has no area"
    if min(left, top) < -SLACK or right > size[0] + SLACK or bottom > size[1] + SLACK:
        return f"lies outside the image of {size[0]} × {size[1]} pixels"
    return "" if 0 <= number < classes else f"is of the class {number}, which is none of {classes}"


def checked_map(
    kind: Kind, values: Map, size: tuple[int, int], classes: int, where: str, *, sideways: bool = False
) -> Map:
    """The map, if its size matches the image and its values are valid for its kind; arguments as above."""
    if values.shape[:2] != size[::-1]:
        height, width = values.shape[:2]
        advice = TURNED if sideways and (width, height) == size[::-1] else ""
        raise UserError(f"{where}: a map of {width} × {height} pixels for an image of {size[0]} × {size[1]}{advice}")
    if kind == "classes":
        wrong = values[(values >= classes) & (values != IGNORED)]
        if len(wrong):
            raise UserError(f"{where}: the label {int(wrong.max())} is none of the {classes} classes, counted from 0")
    elif not np.isfinite(values).all() or (kind == "depth" and (values < 0).any()):
        raise UserError(f"{where}: a map of {kind} contains negative, infinite or NaN values")
    return values


def _text(box: Floats) -> str:
    return ", ".join(f"{edge:g}" for edge in box)

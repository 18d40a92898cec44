"""Boxes of objects, true and detected, and how much they overlap."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Objects:
    """The true objects of an image.

    Attributes:
        boxes: (n, 4) left, top, right, bottom, in pixels.
        classes: (n,) indices of classes.
        ignored: (n,) objects that are neither hits nor misses: PASCAL VOC's `difficult` ones.
        crowd: (n,) regions of many objects (COCO's `iscrowd`), in which any number of detections is ignored.
    """

    boxes: Floats
    classes: Ints
    ignored: Bools
    crowd: Bools

    @classmethod
    def of(cls, boxes: object, classes: object, ignored: object = None, crowd: object = None) -> "Objects":
        """Objects of anything that NumPy reads; none are ignored and none are crowds unless said."""
        names = np.asarray(classes, dtype=np.int64).reshape(-1)
        none = np.zeros(len(names), dtype=bool)
        marks = [none if mark is None else np.asarray(mark, dtype=bool).reshape(-1) for mark in (ignored, crowd)]
        return cls(np.asarray(boxes, dtype=np.float64).reshape(-1, 4), names, marks[0], marks[1])

    def __len__(self) -> int:
        return len(self.classes)

    @cached_property
    def areas(self) -> Floats:
        """(n,) in square pixels."""
        found: Floats = np.prod(self.boxes[:, 2:] - self.boxes[:, :2], axis=1)
        return found


@dataclass(frozen=True, eq=False)
class Detections:
    """The boxes that a detector found in an image, in any order; attributes as of `Objects`, and (n,) scores."""

    boxes: Floats
    classes: Ints
    scores: Floats

    @classmethod
    def of(cls, boxes: object, classes: object, scores: object) -> "Detections":
        """Detections of anything that NumPy reads."""
        return cls(
            np.asarray(boxes, dtype=np.float64).reshape(-1, 4),
            np.asarray(classes, dtype=np.int64).reshape(-1),
            np.asarray(scores, dtype=np.float64).reshape(-1),
        )

    def __len__(self) -> int:
        return len(self.classes)


def intersections(first: Floats, second: Floats, extra: float = 0.0) -> Floats:
    """(n, m) areas that boxes share.

    Args:
        first, second: (n, 4) and (m, 4).
        extra: added to widths and heights; 1 where coordinates are pixels that belong to the box (PASCAL VOC).
    """
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    found: Floats = np.prod(np.clip(high - low + extra, 0, None), axis=2)
    return found


def overlaps(first: Floats, second: Floats, extra: float = 0.0) -> Floats:
    """(n, m) intersection over union of boxes; arguments as in `intersections`."""
    shared = intersections(first, second, extra)
    areas = [np.prod(boxes[:, 2:] - boxes[:, :2] + extra, axis=1) for boxes in (first, second)]
    union = areas[0][:, None] + areas[1][None, :] - shared
    found: Floats = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    return found

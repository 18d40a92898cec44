"""Detected boxes, and the overlap of boxes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Detections:
    """The boxes detected in an image, in any order: boxes and classes as in
    `unseen.data.core.dense.labels.Objects`, and
    (n,) scores.
    """

    boxes: Floats
    classes: Ints
    scores: Floats

    @classmethod
    def of(cls, boxes: object, classes: object, scores: object) -> "Detections":
        """Detections from anything NumPy can convert."""
        return cls(
            np.asarray(boxes, dtype=np.float64).reshape(-1, 4),
            np.asarray(classes, dtype=np.int64).reshape(-1),
            np.asarray(scores, dtype=np.float64).reshape(-1),
        )

    def __len__(self) -> int:
        return len(self.classes)


def intersections(first: Floats, second: Floats) -> Floats:
    """(n, m) areas of intersection of boxes.

    Args:
        first, second: (n, 4) and (m, 4) edges, as in `unseen.data.core.dense.labels.Objects`.
    """
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    areas: Floats = np.prod(np.clip(high - low, 0, None), axis=2)
    return areas


def overlaps(first: Floats, second: Floats) -> Floats:
    """(n, m) intersection over union of boxes; arguments as in `intersections`."""
    shared = intersections(first, second)
    areas = [np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) for boxes in (first, second)]
    union = areas[0][:, None] + areas[1][None, :] - shared
    ratios: Floats = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    return ratios


def inside(first: Floats, second: Floats) -> Floats:
    """(n, m) share of the area of each first box that lies in each second one; arguments as in `intersections`."""
    areas = np.prod(first[:, 2:] - first[:, :2], axis=1)
    shares: Floats = intersections(first, second) / np.maximum(areas, 1e-300)[:, None]
    return shares

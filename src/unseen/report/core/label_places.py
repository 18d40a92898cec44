"""Where the labels of points are written, so that none lies on another label or point; labels.js does it on pages."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
RADII = (15, 24, 36, 50, 66, 86, 110)
ANGLES = (90, -90, 50, -50, 130, -130, 0, 180, 20, -20, 160, -160)
"""Distances in points and directions in degrees of the places that are tried, the nearest first."""
POINT = 9.0
"""Side of the square that a point takes, in points."""


def label_places(points: Array, labelled: Sequence[int], sizes: Array, bounds: Array) -> Array:
    """(k, 2) centres of the labels of some points: the first place that is free, or else the one that covers least.

    The area outside of the bounds costs as much as the area that covers something else.

    Args:
        points: (n, 2) all points of the figure.
        labelled: k rows of `points`.
        sizes: (k, 2) widths and heights of the labels.
        bounds: (4,) left, bottom, right and top of the axes.
    """
    taken = [*np.concatenate([points - POINT / 2, points + POINT / 2], axis=1)]
    places = np.empty((len(labelled), 2))
    for number, (row, size) in enumerate(zip(labelled, sizes, strict=True)):
        boxes = _boxes(points[row], size)
        costs = size.prod() - _overlap(boxes, bounds) + sum(_overlap(boxes, box) for box in taken)
        best = boxes[int(np.argmin(np.round(costs, 6)))]
        taken.append(best)
        places[number] = (best[:2] + best[2:]) / 2
    return places


def _boxes(point: Array, size: Array) -> Array:
    """(places, 4) the boxes that a label may have; one beside its point begins at the edge of the point."""
    angles = np.radians(np.tile(ANGLES, len(RADII)))
    offsets = np.repeat(RADII, len(ANGLES))[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    offsets[:, 0] += np.sign(np.round(offsets[:, 0])) * max(size[0] / 2 - 8, 0)
    return np.concatenate([point + offsets - size / 2, point + offsets + size / 2], axis=1)


def _overlap(boxes: Array, other: Array) -> Array:
    """(places,) areas that boxes have in common with another."""
    sides = np.minimum(boxes[:, 2:], other[2:]) - np.maximum(boxes[:, :2], other[:2])
    return np.asarray(np.clip(sides, 0, None).prod(axis=1))

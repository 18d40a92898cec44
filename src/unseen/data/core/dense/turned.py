"""Labels of an image that is mirrored or turned, as EXIF's orientation says or as in training."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dense.labels import Kind, Labels, Map, Objects

MIRRORED = 2
"""The EXIF orientation of an image that is mirrored from left to right."""
STEPS = {
    1: (False, False, False),
    MIRRORED: (False, True, False),
    3: (False, True, True),
    4: (False, False, True),
    5: (True, False, False),
    6: (True, True, False),
    7: (True, True, True),
    8: (True, False, True),
}
"""EXIF orientation → whether rows and columns change places, and then whether columns and rows are reversed."""


def turned_labels(labels: Labels, kind: Kind, orientation: int, size: tuple[int, int]) -> Labels:
    """The labels of an image after it is turned by an EXIF orientation.

    The vectors of normals turn too: their components are x to the right, y up and z towards the camera.

    Args:
        size: width and height of the image before.
    """
    swap, columns, rows = STEPS[orientation]
    if isinstance(labels, Objects):
        return _turned_objects(labels, orientation, size)
    values: NDArray[Any] = labels.swapaxes(0, 1) if swap else labels
    values = values[:: -1 if rows else 1, :: -1 if columns else 1]
    if kind == "normals":
        x, y, z = (values[..., axis] for axis in range(3))
        if swap:
            x, y = -y, -x
        values = np.stack((-x if columns else x, -y if rows else y, z), axis=2)
    turned: Map = np.ascontiguousarray(values)
    return turned


def _turned_objects(objects: Objects, orientation: int, size: tuple[int, int]) -> Objects:
    swap, columns, rows = STEPS[orientation]
    left, top, right, bottom = objects.boxes.T
    width, height = size
    if swap:
        left, top, right, bottom, width, height = top, left, bottom, right, height, width
    if columns:
        left, right = width - right, width - left
    if rows:
        top, bottom = height - bottom, height - top
    return replace(objects, boxes=np.stack((left, top, right, bottom), axis=1))

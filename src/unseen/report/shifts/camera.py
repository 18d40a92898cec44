"""Where the figure of a fitted plane is looked at from, so that the distances of points from the plane can be seen."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

TILT = 12.0
"""Degrees between the line of sight and the plane: edge-on enough to see residuals, open enough to see a plane."""
ASIDE, MOST_TURN, MOST_HEIGHT = 20.0, 60, 45.0
"""Degrees by which the line of sight passes the direction of each ID axis, whose ticks else cover each other; the
largest turn within the plane for that; and the largest height above the horizon, from which residuals look short."""
FLAT = 1e-9

Direction = tuple[float, float, float]
Array = NDArray[np.float64]


def plane_eye(weights: Sequence[float], points: ArrayLike) -> Direction:
    """The unit vector from the middle of the axes to the eye, `TILT` degrees above the plane.

    In a cube of axes that each take their whole range, the plane z = g₀x + g₁y has the gradient g = w·(span/span of z)
    and the normal n ∝ (−g₀, −g₁, 1). Within the plane, the eye looks across the direction p in which points are spread
    most, along p × n, so that p goes from left to right and upwards. It is then turned within the plane until it looks
    along neither ID axis and not steeply from above, and raised towards the normal.

    Args:
        weights: of the two ID test sets.
        points: (n, 3) accuracies on the scale of the fit: on both ID test sets, and on the OOD test set.
    """
    values = np.asarray(points, dtype=np.float64)
    spans = np.maximum(np.ptp(values, axis=0), FLAT)
    slopes = np.array(weights, dtype=np.float64) * spans[:2] / spans[2]
    normal = np.array([-slopes[0], -slopes[1], 1.0]) / np.sqrt(1 + slopes @ slopes)
    spread = _most_spread((values - values.mean(axis=0)) / spans, normal)
    across = np.cross(spread, normal)
    turns = np.radians(sorted(range(-MOST_TURN, MOST_TURN + 1), key=abs))[:, None]
    tilt = np.radians(TILT)
    level = np.cos(turns) * across + np.sin(turns) * spread
    eyes = np.cos(tilt) * np.concatenate([level, -level]) + np.sin(tilt) * normal
    low = (eyes[:, 2] >= 0) & (eyes[:, 2] <= np.sin(np.radians(MOST_HEIGHT)))
    # The best place has all; else the height comes first, and places are in order of their turn.
    x, y, z = eyes[int(np.argmax(2 * low + np.minimum(_degrees_aside(eyes) / ASIDE, 1)))].tolist()
    return x, y, z


def _most_spread(points: Array, normal: Array) -> Array:
    """The direction within the plane in which points are spread most, upwards; any if they are not spread."""
    within = points - np.outer(points @ normal, normal)
    _, values, directions = np.linalg.svd(within, full_matrices=False)
    if values[0] < FLAT:
        directions = np.cross(normal, [[1.0, -1.0, 0.0]])
    first: Array = directions[0] / np.linalg.norm(directions[0])
    return first if first[2] >= 0 else -first


def _degrees_aside(eyes: Array) -> Array:
    """(n,) degrees between directions, seen from above, and the nearest ID axis."""
    azimuth = np.degrees(np.arctan2(eyes[:, 1], eyes[:, 0])) % 90
    return np.asarray(np.minimum(azimuth, 90 - azimuth))

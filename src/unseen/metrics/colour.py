"""Colour errors of a reconstruction."""

import numpy as np
from numpy.typing import NDArray

CHANNELS = ("red", "green", "blue")
COLOURS = tuple(f"colour-{name}" for name in CHANNELS)
"""Names of the metrics."""


def colour_errors(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> NDArray[np.float64]:
    """(n, 3) mean squared differences of red, green and blue over the pixels of images (n, height, width, 3).

    In squared grey levels from 0 to 255, so at most 65,025.
    """
    errors: NDArray[np.float64] = np.square(first.astype(np.float64) - second).mean(axis=(1, 2))
    return errors

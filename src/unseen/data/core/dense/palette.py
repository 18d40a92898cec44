"""Colours of classes that can be told apart, also if there are many."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dense.labels import IGNORED

FIRST, WHITE = (40, 44, 52), (255, 255, 255)
LEVELS, LIGHTNESS = 9, (40, 90)
"""Levels of red, green and blue among which colours are chosen, and the range of their lightness (of 0 to 100)."""
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


@lru_cache(maxsize=1)
def palette() -> NDArray[np.uint8]:
    """(256, 3) class colours: the first is dark, and ignored pixels are white.

    Every other colour is the one that differs most from all before it, by the distance in CIELAB.
    """
    levels = np.linspace(0, 255, LEVELS).round()
    colours = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    places = cielab(colours)
    bright = (places[:, 0] >= LIGHTNESS[0]) & (places[:, 0] <= LIGHTNESS[1])
    colours, places = colours[bright], places[bright]
    given = cielab(np.array([FIRST, WHITE], dtype=np.float64))
    distance = np.linalg.norm(places[:, None] - given[None], axis=2).min(axis=1)
    table = np.zeros((256, 3), dtype=np.uint8)
    table[0], table[IGNORED] = FIRST, WHITE
    for number in range(1, IGNORED):
        chosen = int(distance.argmax())
        table[number] = colours[chosen]
        distance = np.minimum(distance, np.linalg.norm(places - places[chosen], axis=1))
    return table


def cielab(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 3) lightness, a and b of sRGB colours in 0 … 255 (CIE 1976, white point D65)."""
    linear = np.where(colours > 10.31, ((colours / 255 + 0.055) / 1.055) ** 2.4, colours / 255 / 12.92)
    x, y, z = np.cbrt(linear @ TO_XYZ.T / TO_XYZ.sum(axis=1)).T  # the linear part near black is not needed here
    return np.stack((116 * y - 16, 500 * (x - y), 200 * (y - z)), axis=1)

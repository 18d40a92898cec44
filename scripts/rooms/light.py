"""Light in a room: an area light below the ceiling with shadows, and ambient light with occlusion."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rooms.layout import Room

Floats = NDArray[np.floating]
Cast = Callable[[Floats, Floats], tuple[NDArray[np.int64], Floats]]
"""Origins and directions (n, 3) of rays → the triangle that each hits first (−1: none), and the distance."""
REACH = 0.8
"""Metres within which surfaces take ambient light from each other."""
BLUR = 3
GAMMA = 2.2


@dataclass(frozen=True)
class Lights:
    """The lights of a room.

    Attributes:
        corners: (4, 3) of the area light; each sample of a pixel is lit from one of them.
        colour: of the area light, (3,).
        side: a direction from which ambient light is stronger, as from a window.
    """

    corners: Floats
    colour: Floats
    side: Floats

    @classmethod
    def draw(cls, rng: Generator, room: Room) -> "Lights":
        """A light in the middle third of the ceiling, warm or cold, and ambient light from some side."""
        width, height, depth = room.size
        x, z = rng.uniform(0.35, 0.65, 2) * (width, depth)
        half = rng.uniform(0.15, 0.5)
        corners = np.array([[x + a * half, height - 0.25, z + b * half] for a in (-1, 1) for b in (-1, 1)])
        warm = rng.uniform(-0.1, 0.12)
        angle = rng.uniform(0, 2 * np.pi)
        colour = rng.uniform(0.7, 1.2) * np.array([1 + warm, 1, 1 - warm])
        return cls(corners, colour, np.array([np.cos(angle), 0.4, np.sin(angle)]))

    def direct(self, points: Floats, normals: Floats, cast: Cast, number: int) -> Floats:
        """(n, 3) light that arrives from a corner of the area light, by Lambert's law; 0 in shadow."""
        to = self.corners[number % len(self.corners)] - points
        away = np.linalg.norm(to, axis=1)
        directions = to / away[:, None]
        cosine = np.einsum("nd,nd->n", directions, normals).clip(0)
        lit = np.flatnonzero(cosine > 0)
        _, distance = cast(points[lit], directions[lit])
        strength = np.zeros(len(points))
        strength[lit] = cosine[lit] * (distance >= away[lit]) * 3 / (1.5 + away[lit] ** 2)
        return strength[:, None] * self.colour

    def ambient(self, normals: Floats) -> Floats:
        """(n, 1) light from all around, without occlusion."""
        found: Floats = 0.5 + 0.16 * normals @ self.side
        return found[:, None]


def open_share(points: Floats, normals: Floats, cast: Cast, rng: Generator) -> Floats:
    """(n,) 1 where a drawn direction (density by the cosine) is open up to `REACH`, the share of it where it is not."""
    drawn = rng.normal(size=points.shape)
    directions = normals + drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True) + 1e-9
    hit, distance = cast(points, directions)
    return np.where(hit < 0, 1, np.minimum(distance / REACH, 1))


def smoothed(values: Floats, normals: Floats, depth: Floats) -> Floats:
    """(s, s) means over neighbouring pixels on nearly the same surface."""
    size = len(values)
    total, weight = np.zeros_like(values), np.zeros_like(values)
    pad = ((BLUR, BLUR), (BLUR, BLUR))
    wide = np.pad(values, pad), np.pad(depth, pad), np.pad(normals, (*pad, (0, 0)))
    for row in range(2 * BLUR + 1):
        for column in range(2 * BLUR + 1):
            at = slice(row, row + size), slice(column, column + size)
            alike = (np.einsum("hwd,hwd->hw", wide[2][at], normals) > 0.8) & (abs(wide[1][at] - depth) < 0.1 * depth)
            total += alike * wide[0][at]
            weight += alike
    return np.divide(total, weight, out=values.copy(), where=weight > 0)


def exposed(linear: Floats) -> NDArray[np.uint8]:
    """Pixels of light: exposed so that the brightest twentieth is just below white, in sRGB."""
    level = np.percentile(linear.max(axis=-1), 97)
    scaled = linear / max(float(level), 1e-6) * 0.9
    soft = np.where(scaled < 0.8, scaled, 0.8 + 0.2 * np.tanh((scaled - 0.8) / 0.2))
    return (soft.clip(0, 1) ** (1 / GAMMA) * 255 + 0.5).astype(np.uint8)

"""All triangles of a room with their colours and classes: floor, walls and ceiling, and the pieces in place."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rooms.layout import Placed, Room
from rooms.models import Material, Model, load_piece
from unseen.data.sets.rooms import CLASSES

Floats = NDArray[np.floating]
SIDE, PATCH = 256, 2.0
"""Pixels and metres of the pictures that floors and walls are papered with."""
WOODS = ((0.62, 0.45, 0.29), (0.75, 0.6, 0.42), (0.42, 0.29, 0.2), (0.8, 0.72, 0.6), (0.5, 0.42, 0.36))
SHELL = ("floor", "ceiling", "wall", "wall", "wall", "wall")


@dataclass(frozen=True, eq=False)
class Scene:
    """The triangles of a room.

    Attributes:
        corners: (n, 3, 3).
        normals: (n, 3) of length 1, on either side; 0 for triangles without area.
        uv, material: as of models, with the materials of all of them.
        classes: (n,) numbers of classes.
        things: (n,) number of the placed piece; −1 for the room itself.
    """

    corners: Floats
    normals: Floats
    uv: Floats
    material: NDArray[np.int64]
    materials: tuple[Material, ...]
    classes: NDArray[np.uint8]
    things: NDArray[np.int64]

    def albedo(self, face: NDArray[np.int64], points: Floats) -> Floats:
        """(n, 4) colour and opacity, sRGB from 0 to 1, of points on triangles."""
        found = np.ones((len(face), 4))
        material = self.material[face]
        for number in np.unique(material):
            chosen = np.flatnonzero(material == number)
            own = self.materials[number]
            if own.texture is None:
                found[chosen, :3] = own.colour
                continue
            weights = _barycentric(self.corners[face[chosen]], points[chosen])
            at = np.einsum("nc,ncd->nd", weights, self.uv[face[chosen]]) % 1
            height, width = own.texture.shape[:2]
            rows = np.clip(((1 - at[:, 1]) * height).astype(int), 0, height - 1)
            columns = np.clip((at[:, 0] * width).astype(int), 0, width - 1)
            found[chosen] = own.texture[rows, columns]
        return found


def build_scene(room: Room) -> Scene:
    """The room's own surfaces first, then its pieces."""
    shell = _shell(room)
    models = [shell, *(_moved(load_piece(each.piece), each) for each in room.placed)]
    classes = [np.repeat([CLASSES.index(name) for name in SHELL], 2)]
    classes += [
        np.full(len(model.corners), CLASSES.index(each.piece.kind))
        for model, each in zip(models[1:], room.placed, strict=True)
    ]
    starts = np.cumsum([0, *(len(model.materials) for model in models)])
    corners = np.concatenate([model.corners for model in models]).astype(np.float64)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(across, axis=1, keepdims=True)
    return Scene(
        corners,
        np.divide(across, lengths, out=np.zeros_like(across), where=lengths > 0),
        np.concatenate([model.uv for model in models]),
        np.concatenate([model.material + start for model, start in zip(models, starts[:-1], strict=True)]),
        tuple(material for model in models for material in model.materials),
        np.concatenate(classes).astype(np.uint8),
        np.repeat(np.arange(-1, len(room.placed)), [len(model.corners) for model in models]),
    )


def _moved(model: Model, placed: Placed) -> Model:
    cos, sin = np.cos(placed.angle), np.sin(placed.angle)
    turn = np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])
    corners = model.corners @ turn.T + np.array([placed.x, placed.y, placed.z])
    return Model(corners.astype(np.float32), model.uv, model.material, model.materials)


def _shell(room: Room) -> Model:
    """Floor, ceiling and four walls, two triangles each, papered in patches of `PATCH` metres."""
    rng = np.random.default_rng((room.seed, 2))
    w, h, d = room.size
    quads = np.array(
        [
            [[0, 0, 0], [w, 0, 0], [w, 0, d], [0, 0, d]],
            [[0, h, 0], [w, h, 0], [w, h, d], [0, h, d]],
            [[0, 0, 0], [w, 0, 0], [w, h, 0], [0, h, 0]],
            [[0, 0, d], [w, 0, d], [w, h, d], [0, h, d]],
            [[0, 0, 0], [0, 0, d], [0, h, d], [0, h, 0]],
            [[w, 0, 0], [w, 0, d], [w, h, d], [w, h, 0]],
        ]
    )
    sides = (quads[:, 1] - quads[:, 0], quads[:, 3] - quads[:, 0])
    lengths = [np.linalg.norm(side, axis=1) / PATCH for side in sides]
    at_corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    uv = at_corners * np.stack(lengths, axis=1)[:, None]
    halves = [[0, 1, 2], [0, 2, 3]]
    wall = _wall(rng, room.theme)
    materials = (_floor(rng, room.theme), Material((0.93, 0.93, 0.91)), wall, Material(_tint(rng, 0.75, 0.95)))
    accent = 3 if rng.random() < 0.4 else 2
    numbers = np.array([0, 1, accent, 2, 2, 2])
    corners = quads[:, halves].reshape(-1, 3, 3).astype(np.float32)
    return Model(corners, uv[:, halves].reshape(-1, 3, 2), np.repeat(numbers, 2).astype(np.int32), materials)


def _tint(rng: Generator, low: float, high: float) -> tuple[float, ...]:
    """A pale colour."""
    bright = rng.uniform(low, high)
    return tuple(float(value) for value in np.clip(bright + rng.normal(0, 0.05, 3), 0.1, 1))


def _picture(values: Floats) -> Material:
    opaque = np.concatenate([np.clip(values, 0, 1), np.ones((*values.shape[:2], 1))], axis=2)
    return Material(texture=opaque.astype(np.float32))


def _floor(rng: Generator, theme: str) -> Material:
    """Planks, tiles or carpet."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    kind = "tiles" if theme in {"bathroom", "kitchen"} else rng.choice(["planks", "planks", "carpet", "tiles"])
    colour = np.array(WOODS[int(rng.integers(len(WOODS)))] if kind == "planks" else _tint(rng, 0.35, 0.85))
    values = np.tile(colour, (SIDE, SIDE, 1)) + rng.normal(0, 0.012, (SIDE, SIDE, 1))
    if kind == "planks":
        wide, long = int(rng.choice([16, 32])), 128
        row = rows // wide
        shifted = (columns + rng.integers(0, long, SIDE // wide + 1)[row]) % SIDE
        shade = rng.normal(0, 0.05, (SIDE // wide + 1, SIDE // long + 1))[row, shifted // long]
        joint = (rows % wide == 0) | (shifted % long == 0)
        values = values * (1 + shade + 0.03 * np.sin(rows * 0.9 + np.sin(columns * 0.05) * 3))[..., None]
        values[joint] *= 0.75
    elif kind == "tiles":
        side = int(rng.choice([32, 64]))
        other = _tint(rng, 0.35, 0.85) if rng.random() < 0.3 else colour
        checked = (rows // side + columns // side) % 2 == 1
        values[checked] += np.array(other) - colour
        values[(rows % side < 2) | (columns % side < 2)] *= 0.8
    return _picture(values)


def _wall(rng: Generator, theme: str) -> Material:
    """Plain paint, stripes, or tiles where there is water."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    values = np.tile(_tint(rng, 0.65, 0.95), (SIDE, SIDE, 1)) + rng.normal(0, 0.006, (SIDE, SIDE, 1))
    if theme == "bathroom":
        values[(rows % 32 < 1) | (columns % 32 < 1)] *= 0.85
    elif rng.random() < 0.25:
        wide = int(rng.choice([8, 16, 32]))
        values[(columns // wide) % 2 == 1] *= rng.uniform(0.88, 0.97)
    return _picture(values)


def _barycentric(corners: Floats, points: Floats) -> Floats:
    """(n, 3) barycentric weights of the points (n, 3) on triangles with corners (n, 3, 3)."""
    first, second, to = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], points - corners[:, 0]
    a, b, c = (np.einsum("nd,nd->n", *pair) for pair in ((first, first), (first, second), (second, second)))
    p, q = (np.einsum("nd,nd->n", to, side) for side in (first, second))
    area = np.maximum(a * c - b * b, 1e-20)
    v, w = (c * p - b * q) / area, (a * q - b * p) / area
    return np.stack([1 - v - w, v, w], axis=1)

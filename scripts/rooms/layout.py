"""Where things stand: rooms of a theme, their furniture, and the camera. Nothing here is rendered.

Coordinates are in metres: x and z along the walls from a corner, y up from the floor. Pieces face +z before they turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from rooms.catalogue import Piece

THEMES: Mapping[str, tuple[tuple[str, int], ...]] = {
    "living room": (("sofa", 1), ("table", 1), ("armchair", 2), ("cabinet", 1), ("shelves", 1), ("chair", 1)),
    "dining room": (("table", 1), ("chair", 4), ("cabinet", 1), ("shelves", 1), ("armchair", 1)),
    "bedroom": (("bed", 1), ("cabinet", 3), ("chair", 1), ("armchair", 1), ("shelves", 1)),
    "office": (("table", 2), ("chair", 3), ("shelves", 2), ("cabinet", 1), ("armchair", 1)),
    "kitchen": (("appliance", 3), ("cabinet", 4), ("table", 1), ("chair", 2)),
    "bathroom": (("bathroom fixture", 4), ("appliance", 1), ("cabinet", 1), ("chair", 1)),
}
"""Theme → kinds and the most pieces of each; every room may also have plants, lamps and people."""
ANYWHERE = (("plant", 2), ("lamp", 2), ("person", 1))
AT_WALLS = {"sofa", "cabinet", "shelves", "bed", "appliance", "bathroom fixture"}
TRIES = 40
MARGIN = 0.04
CAMERA_ROOM = 1.1
"""Metres around the camera without furniture."""
STANDS_ON = {"table", "cabinet"}
SMALL = 0.7
"""Metres of height below which plants and lamps stand on furniture where there is some."""


@dataclass(frozen=True)
class Placed:
    """A piece in a room: the middle of its feet, and the angle by which it is turned about the vertical axis."""

    piece: Piece
    x: float
    y: float
    z: float
    angle: float

    @property
    def extent(self) -> tuple[float, float]:
        """Half of its width and depth along x and z, as turned."""
        cos, sin = abs(np.cos(self.angle)), abs(np.sin(self.angle))
        width, depth = self.piece.width / 2, self.piece.depth / 2
        return float(cos * width + sin * depth), float(sin * width + cos * depth)


@dataclass(frozen=True)
class Camera:
    """A pinhole camera that is level from left to right.

    Attributes:
        position: x, y and z.
        heading: angle about the vertical axis; 0 looks along −z, positive turns to the left.
        pitch: angle by which it looks down.
        field: angle of view across the (square) image.
    """

    position: tuple[float, float, float]
    heading: float
    pitch: float
    field: float


@dataclass(frozen=True)
class Room:
    """A box of width (x), height (y) and depth (z) with furniture and a camera; the seed decides colours and lights."""

    theme: str
    size: tuple[float, float, float]
    placed: tuple[Placed, ...]
    camera: Camera
    seed: int


def furnish(seed: int, pieces: Sequence[Piece]) -> Room:
    """A room of a drawn theme with pieces of those given; the same for the same seed and pieces."""
    rng = np.random.default_rng(seed)
    theme = str(rng.choice(list(THEMES)))
    small = theme in {"bathroom", "kitchen"}
    width, depth = rng.uniform(2.6, 4.2, 2) if small else rng.uniform(3.4, 6.0, 2)
    size = (float(width), float(rng.uniform(2.4, 3.0)), float(depth))
    camera = _camera(rng, size)
    placed: list[Placed] = []
    for kind, most in (*THEMES[theme], *ANYWHERE):
        choice = [piece for piece in pieces if piece.kind == kind and (theme == "kitchen" or not _is_hung(piece))]
        for _ in range(int(rng.integers(kind not in dict(ANYWHERE), most + 1)) if choice else 0):
            found = _place(rng, choice[int(rng.integers(len(choice)))], placed, size, camera)
            if found is not None:
                placed.append(found)
    return Room(theme, size, tuple(placed), camera, seed)


def _is_hung(piece: Piece) -> bool:
    """Whether it is a cupboard or shelf that hangs above a worktop."""
    return piece.kind in {"cabinet", "shelves"} and piece.elevation > 1


def _camera(rng: Generator, size: tuple[float, float, float]) -> Camera:
    """Near a corner at the height of eyes, looking at the other half of the room and a little down."""
    width, height, depth = size
    x = rng.uniform(0.2, 0.3 * width)
    z = depth - rng.uniform(0.2, 0.25 * depth)
    target_x, target_z = rng.uniform(0.4, 0.8) * width, rng.uniform(0.15, 0.5) * depth
    y = min(float(rng.uniform(1.4, 1.75)), height - 0.4)
    heading = np.arctan2(x - target_x, z - target_z)
    if rng.random() < 0.5:  # the same from the other corner
        x, heading = width - x, -heading
    return Camera(
        (float(x), y, float(z)), float(heading), float(rng.uniform(0.1, 0.35)), float(rng.uniform(1.05, 1.35))
    )


def _place(
    rng: Generator, piece: Piece, placed: Sequence[Placed], size: tuple[float, float, float], camera: Camera
) -> Placed | None:
    """The piece at the first of some drawn places that is free, seen, and no higher than the room."""
    for _ in range(TRIES):
        if piece.kind == "lamp" and piece.elevation > 1.5:
            found = _free(rng, piece, size, camera)
            found = replace(found, y=size[1] - piece.height)
        elif piece.kind in {"plant", "lamp"} and piece.height < SMALL:
            stands = [each for each in placed if each.piece.kind in STANDS_ON and each.piece.top > 0 and each.y == 0]
            on_top = _on_top(rng, piece, stands)
            if on_top is None:
                return None
            found = on_top
        elif piece.kind in AT_WALLS or piece.elevation > 0 or "desk" in piece.name.lower():
            found = _at_wall(rng, piece, size)
        elif piece.kind == "chair" and any(each.piece.kind == "table" for each in placed):
            found = _at_table(rng, piece, [each for each in placed if each.piece.kind == "table"])
        else:
            found = _free(rng, piece, size, camera)
        if _fits(found, size) and _seen(found, camera) and not any(_collide(found, each) for each in placed):
            return found
    return None


def _at_wall(rng: Generator, piece: Piece, size: tuple[float, float, float]) -> Placed:
    """With its back to a wall other than the one behind the camera."""
    wall = int(rng.integers(3))
    angle = (0.0, np.pi / 2, -np.pi / 2)[wall]
    gap = piece.depth / 2 + rng.uniform(0.005, 0.04)
    if wall == 0:
        return Placed(piece, float(rng.uniform(0, size[0])), piece.elevation, gap, angle)
    return Placed(piece, gap if wall == 1 else size[0] - gap, piece.elevation, float(rng.uniform(0, size[2])), angle)


def _at_table(rng: Generator, piece: Piece, tables: Sequence[Placed]) -> Placed:
    """On a side of a table, facing it or nearly so."""
    table = tables[int(rng.integers(len(tables)))]
    side = int(rng.integers(4))
    half_x, half_z = table.extent
    out = (half_z, half_x)[side % 2] + piece.depth / 2 + rng.uniform(0.02, 0.2)
    along = rng.uniform(-0.7, 0.7) * (half_x, half_z)[side % 2]
    x, z = ((along, out), (out, along), (along, -out), (-out, along))[side]
    facing = (np.pi, -np.pi / 2, 0.0, np.pi / 2)[side]
    return Placed(piece, float(table.x + x), 0.0, float(table.z + z), float(facing + rng.normal(0, 0.15)))


def _free(rng: Generator, piece: Piece, size: tuple[float, float, float], camera: Camera) -> Placed:
    """Anywhere on the floor; people and armchairs turn somewhat towards the camera."""
    x, z = rng.uniform(0, size[0]), rng.uniform(0, size[2])
    angle = np.arctan2(camera.position[0] - x, camera.position[2] - z) + rng.normal(0, 0.8)
    if piece.kind == "table":
        angle = rng.integers(4) * np.pi / 2
    return Placed(piece, float(x), 0.0, float(z), float(angle))


def _on_top(rng: Generator, piece: Piece, stands: Sequence[Placed]) -> Placed | None:
    if not stands:
        return None
    under = stands[int(rng.integers(len(stands)))]
    free_x, free_z = (max(half - max(piece.width, piece.depth) / 2, 0) for half in under.extent)
    x, z = under.x + rng.uniform(-1, 1) * free_x * 0.8, under.z + rng.uniform(-1, 1) * free_z * 0.8
    return Placed(piece, float(x), under.piece.top, float(z), float(rng.uniform(0, 2 * np.pi)))


def _fits(found: Placed, size: tuple[float, float, float]) -> bool:
    half_x, half_z = found.extent
    return (
        half_x <= found.x <= size[0] - half_x
        and half_z <= found.z <= size[2] - half_z
        and 0 <= found.y <= size[1] - found.piece.height
    )


def _seen(found: Placed, camera: Camera) -> bool:
    """Whether its middle is in the camera's field of view, and none of it close to the camera."""
    x, _, z = camera.position
    half_x, half_z = found.extent
    outside = max(abs(found.x - x) - half_x, 0), max(abs(found.z - z) - half_z, 0)
    if np.hypot(*outside) < CAMERA_ROOM:
        return False
    turned = np.arctan2(x - found.x, z - found.z) - camera.heading
    return bool(abs((turned + np.pi) % (2 * np.pi) - np.pi) < camera.field / 2)


def _collide(first: Placed, second: Placed) -> bool:
    """Whether the boxes around two pieces, along the walls, overlap."""
    first_x, first_z = first.extent
    second_x, second_z = second.extent
    return (
        abs(first.x - second.x) < first_x + second_x + MARGIN
        and abs(first.z - second.z) < first_z + second_z + MARGIN
        and first.y < second.y + (second.piece.top or second.piece.height)
        and second.y < first.y + first.piece.height
    )

"""Triangles, colours and textures of Wavefront OBJ models with their MTL files, in archives."""

import io
import posixpath
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from rooms.catalogue import Piece
from unseen.errors import UserError

Floats = NDArray[np.float32]
TEXTURE_SIDE = 256
GREY = (0.6, 0.6, 0.6)
Reader = Callable[[str], bytes]
"""The bytes of a file by the name that an OBJ or MTL file gives it; KeyError where there is none."""


@dataclass(frozen=True, eq=False)
class Material:
    """The colour of a surface: one, or a texture (h, w, 4) with rows from the top and alpha; sRGB from 0 to 1."""

    colour: tuple[float, ...] = GREY
    texture: Floats | None = None


@dataclass(frozen=True, eq=False)
class Model:
    """Triangles with their materials.

    Attributes:
        corners: (n, 3, 3) the corners of each triangle.
        uv: (n, 3, 2) where each corner is in its texture; 0 where it has none.
        material: (n,) numbers of `materials`.
    """

    corners: Floats
    uv: Floats
    material: NDArray[np.int32]
    materials: tuple[Material, ...]


@lru_cache(maxsize=256)
def load_piece(piece: Piece) -> Model:
    """The model in metres, upright, at the size that the catalogue gives; the middle of its feet is the origin."""
    folder = posixpath.dirname(piece.model)
    with zipfile.ZipFile(piece.archive) as archive:

        def read(name: str) -> bytes:
            path = posixpath.normpath(posixpath.join(folder, name.replace("\\", "/")))
            return archive.read(path)

        model = parse_obj(archive.read(piece.model).decode("latin-1"), read, f"{piece.archive}, {piece.model}")
    corners = model.corners.astype(np.float64) @ np.array(piece.rotation).reshape(3, 3).T
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    size = np.array([piece.width, piece.height, piece.depth]) / np.maximum(high - low, 1e-9)
    centre = np.array([(low[0] + high[0]) / 2, low[1], (low[2] + high[2]) / 2])
    scaled = ((corners - centre) * size).astype(np.float32)
    return Model(scaled, model.uv, model.material, model.materials)


def parse_obj(text: str, read: Reader, where: str) -> Model:
    """The triangles of an OBJ file; polygons are cut into fans.

    Args:
        where: the file, for errors.
    """
    positions, textures = list[list[float]](), list[list[float]]()
    faces, face_uv, face_material = list[list[int]](), list[list[int]](), list[int]()
    named: dict[str, Material] = {}
    numbers: dict[str, int] = {"": 0}
    current = 0
    try:
        for line in text.replace("\\\n", " ").splitlines():
            word, _, rest = line.strip().partition(" ")
            if word == "v":
                positions.append([float(value) for value in rest.split()[:3]])
            elif word == "vt":
                textures.append([float(value) for value in rest.split()[:2]])
            elif word == "f":
                points = [corner.split("/") for corner in rest.split()]
                at = [_index(point[0], len(positions)) for point in points]
                uv = [_index(point[1], len(textures)) if len(point) > 1 and point[1] else -1 for point in points]
                for second in range(1, len(at) - 1):
                    faces.append([at[0], at[second], at[second + 1]])
                    face_uv.append([uv[0], uv[second], uv[second + 1]])
                    face_material.append(current)
            elif word == "usemtl":
                current = numbers.setdefault(rest.strip(), len(numbers))
            elif word == "mtllib":
                named |= _materials(rest.strip(), read)
        table = np.array([*textures, [0, 0]], dtype=np.float32)  # −1, no place in a texture, is the last row
        corners = np.array(positions, dtype=np.float32)[np.array(faces)]
    except (KeyError, ValueError, IndexError) as error:
        raise UserError(f"{where}: damaged model ({error})") from None
    if not len(corners) or not np.isfinite(corners).all():
        raise UserError(f"{where}: damaged model (no triangles, or infinite ones)")
    materials = tuple(named.get(name, Material()) for name in numbers)
    return Model(corners, table[np.array(face_uv)], np.array(face_material, dtype=np.int32), materials)


def _index(word: str, count: int) -> int:
    """OBJ counts from 1, and from the last one backwards where the number is negative."""
    number = int(word)
    return number - 1 if number > 0 else count + number


def _materials(file: str, read: Reader) -> dict[str, Material]:
    """The materials of an MTL file by name; none where the archive does not have the file."""
    found: dict[str, Material] = {}
    name = ""
    try:
        text = read(file).decode("latin-1")
    except KeyError:
        return found
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "newmtl":
            name = rest.strip()
            found[name] = Material()
        elif word == "Kd":
            found[name] = Material(tuple(float(value) for value in rest.split()[:3]), found[name].texture)
        elif word == "map_Kd":
            found[name] = Material(found[name].colour, _texture(read, rest.strip()))
    return found


def _texture(read: Reader, name: str) -> Floats | None:
    try:
        picture = Image.open(io.BytesIO(read(name))).convert("RGBA")
    except (KeyError, OSError):
        return None
    picture.thumbnail((TEXTURE_SIDE, TEXTURE_SIDE))
    return np.asarray(picture, dtype=np.float32) / np.float32(255)

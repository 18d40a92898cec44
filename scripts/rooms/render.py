"""Images and maps of a room by casting rays.

Labels are those of one ray through the middle of each pixel. The camera's coordinates are x to the right, y up and z
towards the camera (it looks along −z). Normals are in these coordinates and face the camera; they are those of the
triangles, not smoothed. Depth is the distance along the optical axis, −z, and not along the ray.

Colours: Lambert's law with the materials' diffuse colours and textures, from an area light below the ceiling with
shadows, and ambient light that is weaker in corners and below things (ambient occlusion). There are no reflections, no
glass, no light from surface to surface.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rooms.layout import Camera, Room
from rooms.light import GAMMA, Cast, Floats, Lights, exposed, open_share, smoothed
from rooms.scene import Scene, build_scene
from unseen.data.core.dense.labels import IGNORED

MakeCast = Callable[[Floats], Cast]
"""Corners (t, 3, 3) of triangles → what casts rays at them."""
SAMPLES = ((-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25))
"""Places within a pixel, from its middle, that its colour is the mean of."""
MOST_LAYERS = 8
"""Transparent parts of textures that a ray goes through at most."""
EPSILON = 1e-3


@dataclass(frozen=True, eq=False)
class View:
    """What the camera sees, of s × s pixels.

    Attributes:
        image: (s, s, 3) uint8.
        normals: (s, s, 3) of length 1, in camera coordinates; 0 where a ray hits nothing, as between two walls.
        depth: (s, s) in metres; 0 where a ray hits nothing.
        classes: (s, s) numbers of classes; `IGNORED` where a ray hits nothing.
        things: (s, s) numbers of the placed pieces; −1 for the room itself.
    """

    image: NDArray[np.uint8]
    normals: Floats
    depth: Floats
    classes: NDArray[np.uint8]
    things: NDArray[np.int64]


def embree(corners: Floats) -> Cast:
    """Intel's Embree, by the package `embreex`."""
    from embreex.mesh_construction import TriangleMesh
    from embreex.rtcore_scene import EmbreeScene

    scene = EmbreeScene()
    TriangleMesh(scene, np.ascontiguousarray(corners, dtype=np.float32))

    def cast(origins: Floats, directions: Floats) -> tuple[NDArray[np.int64], Floats]:
        rays = (np.ascontiguousarray(array, dtype=np.float32) for array in (origins, directions))
        hits = scene.run(*rays, output=True)
        return hits["primID"].astype(np.int64), hits["tfar"]

    return cast


def axes(camera: Camera) -> Floats:
    """(3, 3) the camera's x, y and z in the room's coordinates, as rows."""
    cos_h, sin_h, cos_p, sin_p = (f(angle) for angle in (camera.heading, camera.pitch) for f in (np.cos, np.sin))
    right = [cos_h, 0, -sin_h]
    back = [sin_h * cos_p, sin_p, cos_h * cos_p]
    return np.array([right, np.cross(back, right), back])


def focal_length(camera: Camera, size: int) -> float:
    """In pixels."""
    return float(size / 2 / np.tan(camera.field / 2))


def ray_directions(camera: Camera, size: int, shift: tuple[float, float] = (0, 0)) -> Floats:
    """(size², 3) in the room's coordinates, of length 1, through the middles of pixels or places `shift` from them."""
    across, down = np.meshgrid(np.arange(size) + 0.5 + shift[0], np.arange(size) + 0.5 + shift[1])
    local = np.stack([across - size / 2, size / 2 - down, np.full_like(across, -focal_length(camera, size))], axis=-1)
    rays = local.reshape(-1, 3) @ axes(camera)
    unit: Floats = rays / np.linalg.norm(rays, axis=1, keepdims=True)
    return unit


@dataclass(frozen=True, eq=False)
class Hits:
    """What rays see: triangles, distances, colours in linear light, and normals (room's coordinates) that face them."""

    face: NDArray[np.int64]
    distance: Floats
    albedo: Floats
    normals: Floats
    points: Floats


def render(room: Room, size: int, make_cast: MakeCast = embree) -> View:
    """The view of a room, the same for the same room and size."""
    scene = build_scene(room)
    cast = make_cast(scene.corners)
    rays = ray_directions(room.camera, size)
    seen = _visible(scene, cast, room.camera, rays)
    depth = seen.distance * (rays @ -axes(room.camera)[2])
    normals = (seen.normals @ axes(room.camera).T).reshape(size, size, 3)
    image = _coloured(room, scene, cast, normals, depth.reshape(size, size))
    known = seen.face >= 0
    classes = np.where(known, scene.classes[seen.face], IGNORED).astype(np.uint8).reshape(size, size)
    things = np.where(known, scene.things[seen.face], -1).reshape(size, size)
    return View(image, normals, depth.reshape(size, size), classes, things)


def _coloured(room: Room, scene: Scene, cast: Cast, normals: Floats, depth: Floats) -> NDArray[np.uint8]:
    """(s, s, 3) the colours of pixels, each the mean of several rays."""
    rng = np.random.default_rng((room.seed, 1))
    lights, size = Lights.draw(rng, room), len(depth)
    direct, ambient, open_part = np.zeros((size * size, 3)), np.zeros((size * size, 3)), np.zeros(size * size)
    for number, shift in enumerate(SAMPLES):
        seen = _visible(scene, cast, room.camera, ray_directions(room.camera, size, shift))
        above = seen.points + EPSILON * seen.normals
        direct += seen.albedo * lights.direct(above, seen.normals, cast, number)
        ambient += seen.albedo * lights.ambient(seen.normals)
        open_part += open_share(above, seen.normals, cast, rng)
    occlusion = smoothed(open_part.reshape(size, size) / len(SAMPLES), normals, depth)
    light = direct.reshape(size, size, 3) + ambient.reshape(size, size, 3) * occlusion[..., None]
    return exposed(light / len(SAMPLES))


def _visible(scene: Scene, cast: Cast, camera: Camera, rays: Floats) -> Hits:
    """What each ray from the camera sees first that is not a transparent part of a texture."""
    start = np.tile(np.array(camera.position), (len(rays), 1))
    face, distance = np.zeros(len(rays), dtype=np.int64), np.zeros(len(rays))
    albedo = np.ones((len(rays), 4))
    left = np.arange(len(rays))
    for _ in range(MOST_LAYERS):
        found, away = cast(start[left] + distance[left, None] * rays[left], rays[left])
        face[left], distance[left] = found, np.where(found >= 0, distance[left] + away, 0)
        albedo[left] = scene.albedo(face[left], start[left] + distance[left, None] * rays[left])
        left = left[albedo[left, 3] < 0.5]
        if not len(left):
            break
        distance[left] += EPSILON
    normals = scene.normals[face] * (face >= 0)[:, None]
    normals = normals * -np.sign(np.einsum("nd,nd->n", normals, rays))[:, None]
    return Hits(face, distance, albedo[:, :3] ** GAMMA, normals, start + distance[:, None] * rays)

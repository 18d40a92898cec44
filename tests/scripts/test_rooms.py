"""Rendered rooms against geometry worked out by hand; rays are cast by a plain loop over triangles, not by Embree."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from rooms.catalogue import KINDS, Piece, kind_of, read_catalogue, split_pieces
from rooms.layout import Camera, Placed, Room, furnish
from rooms.light import Cast
from rooms.models import load_piece, parse_obj
from rooms.render import axes, ray_directions, render
from rooms.write import boxes_of, write_attribution, write_boxes, write_view
from unseen.data.core.dense.labels import IGNORED, Objects
from unseen.data.core.open_dataset import open_dataset
from unseen.data.registry import get_dataset
from unseen.data.sets.rooms import CLASSES, FURNITURE
from unseen.errors import UserError

Floats = NDArray[np.floating]
SIZE = 20
CUBE = """mtllib cube.mtl
v 0 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 0\nv 0 0 2\nv 2 0 2\nv 2 2 2\nv 0 2 2
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
usemtl red
f 1/1 2/2 3/3 4/4\nf 5 6 7 8\nf 1 2 6 5\nf 4 3 7 8\nf 1 4 8 5\nf -7 -6 -2 -3
"""
LIST = """license=Creative Commons Attribution 3.0 license  Copyright (c) somebody
id#1=Made#box\nname#1=Wooden table\ncategory#1=Office\nmodel#1=/made/cube.obj
width#1=100\ndepth#1=50\nheight#1=80\ndropOnTopElevation#1=80\ncreator#1=Somebody
id#2=Made#tree\nname#2=Palm tree\ncategory#2=Exterior\nmodel#2=/made/cube.obj\nwidth#2=1\ndepth#2=1\nheight#2=100
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A library of furniture with a box that is a table, and a tree that is not used."""
    folder = tmp_path / "furniture"
    folder.mkdir()
    with zipfile.ZipFile(folder / "made.sh3f", "w") as file:
        file.writestr("PluginFurnitureCatalog.properties", LIST)
        file.writestr("made/cube.obj", CUBE)
        file.writestr("made/cube.mtl", "newmtl red\nKd 0.8 0.1 0.1\n")
    return folder


@pytest.fixture
def table(archive: Path) -> Piece:
    (found,) = read_catalogue(archive)
    return found


def plain_cast(corners: Floats) -> Cast:
    """Möller and Trumbore 1997, one triangle after the other."""

    def cast(origins: Floats, directions: Floats) -> tuple[NDArray[np.int64], Floats]:
        face, best = np.full(len(origins), -1, dtype=np.int64), np.full(len(origins), np.inf)
        for number, (first, second, third) in enumerate(corners):
            p = np.cross(directions, third - first)
            area = p @ (second - first)
            with np.errstate(divide="ignore", invalid="ignore"):
                to = origins - first
                u = np.einsum("nd,nd->n", to, p) / area
                q = np.cross(to, second - first)
                v, t = np.einsum("nd,nd->n", directions, q) / area, q @ (third - first) / area
                hit = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9) & (t > 1e-9) & (t < best)
            face[hit], best[hit] = number, t[hit]
        return face, best

    return cast


def empty_room(pitch: float = 0.0, heading: float = 0.0, placed: tuple[Placed, ...] = ()) -> Room:
    return Room("office", (4.0, 2.5, 5.0), placed, Camera((2.0, 1.5, 4.5), heading, pitch, np.pi / 2), seed=3)


def test_a_level_camera_sees_floor_wall_and_ceiling_as_derived() -> None:
    view = render(empty_room(), SIZE, plain_cast)
    names = np.array(CLASSES)[view.classes]
    # 90° of view: the far wall, 4.5 m away, spans 2 / 4.5 of half the image's width to either side.
    middle = SIZE // 2
    assert names[middle, middle] == "wall"
    assert view.depth[middle, middle] == pytest.approx(4.5)
    assert np.allclose(view.normals[middle, middle], [0, 0, 1])
    # Row 19 looks down by 9.5 pixels at a focal length of 10: the floor, 1.5 m below, is 1.5 · 10 / 9.5 m ahead.
    assert names[-1, middle] == "floor"
    assert view.depth[-1, middle] == pytest.approx(1.5 * 10 / 9.5)
    assert np.allclose(view.normals[-1, middle], [0, 1, 0])
    assert names[0, middle] == "ceiling"
    assert np.allclose(view.normals[0, middle], [0, -1, 0])
    assert view.depth[0, middle] == pytest.approx(1.0 * 10 / 9.5)
    # To the left is a wall that faces right, 2 m from the camera.
    assert np.allclose(view.normals[middle, 0], [1, 0, 0])
    assert view.depth[middle, 0] == pytest.approx(2.0 * 10 / 9.5)
    assert np.allclose(view.normals[middle, -1], [-1, 0, 0])


def test_a_camera_that_looks_down_turns_the_floor_towards_itself() -> None:
    view = render(empty_room(pitch=0.4), SIZE, plain_cast)
    assert np.allclose(view.normals[-1, SIZE // 2], [0, np.cos(0.4), np.sin(0.4)])
    # Depth is along the optical axis: all of a wall is at one depth only if the camera is level.
    level = render(empty_room(), SIZE, plain_cast)
    wall = (level.classes == CLASSES.index("wall")) & (level.normals[..., 2] > 0.99)
    assert np.allclose(level.depth[wall], 4.5)


def test_every_normal_faces_the_camera_and_depths_give_back_the_points(table: Piece) -> None:
    room = empty_room(0.3, 0.2, (Placed(table, 1.8, 0.0, 2.0, 0.7),))
    view = render(room, SIZE, plain_cast)
    rays = ray_directions(room.camera, SIZE)
    local = rays @ axes(room.camera).T
    assert (np.einsum("nd,nd->n", view.normals.reshape(-1, 3), local) < 0).all()
    assert np.allclose(np.linalg.norm(view.normals, axis=2), 1)
    points = np.array(room.camera.position) + rays * (view.depth.reshape(-1) / -local[:, 2])[:, None]
    floor = view.classes.reshape(-1) == CLASSES.index("floor")
    assert floor.any()
    assert np.allclose(points[floor, 1], 0, atol=1e-6)
    on_table = view.things.reshape(-1) == 0
    assert on_table.any()
    turned = points[on_table] - [1.8, 0, 2.0]
    cos, sin = np.cos(0.7), np.sin(0.7)
    across, along = cos * turned[:, 0] - sin * turned[:, 2], sin * turned[:, 0] + cos * turned[:, 2]
    reach = np.stack([abs(across) / 0.5, abs(along) / 0.25, abs(turned[:, 1] - 0.4) / 0.4], axis=1)
    assert np.allclose(reach.max(axis=1), 1, atol=1e-5)  # on the surface of a box of 1 × 0.8 × 0.5 m


def test_the_same_room_gives_the_same_image_and_shadow_darkens_it(table: Piece) -> None:
    room = empty_room(0.5, 0.0, (Placed(table, 2.0, 0.0, 2.4, 0.0),))
    first, second = (render(room, SIZE, plain_cast).image for _ in range(2))
    assert np.array_equal(first, second)
    assert first.std() > 10
    red = first[render(room, SIZE, plain_cast).things == 0].mean(axis=0)
    assert red[0] > 1.5 * red[1]


def test_boxes_are_tight_around_what_is_visible(table: Piece) -> None:
    room = empty_room(placed=(Placed(table, 2.0, 0.0, 2.0, 0.0), Placed(table, 2.0, 0.0, 0.5, 0.0)))
    things = np.full((40, 40), -1)
    things[10:15, 20:31], things[3, 4] = 0, 1
    (box,) = boxes_of(room, things)  # one pixel of 1,600 is too few
    assert box.edges == (20, 10, 11, 5)
    assert box.area == 55


def test_models_are_scaled_to_the_catalogue_and_keep_their_colours(table: Piece) -> None:
    model = load_piece(table)
    assert len(model.corners) == 12
    assert np.allclose(model.corners.min(axis=(0, 1)), [-0.5, 0, -0.25])
    assert np.allclose(model.corners.max(axis=(0, 1)), [0.5, 0.8, 0.25])
    assert model.materials[model.material[0]].colour == (0.8, 0.1, 0.1)
    assert model.uv[0].tolist() == [[0, 0], [1, 0], [1, 1]]


@pytest.mark.parametrize("text", ["v 0 0\nf 1 2 3", "v a b c", "f 1 2 3", "", "v 0 0 nan\nf 1 1 1"])
def test_a_damaged_model_is_named(text: str) -> None:
    with pytest.raises(UserError, match="there"):
        parse_obj(text, lambda name: b"", "there")


def test_kinds_are_what_a_piece_is_not_where_it_stands(table: Piece) -> None:
    assert (table.kind, table.licence) == ("table", "Creative Commons Attribution 3.0 license")
    assert sorted(kind for kind, _ in KINDS) == sorted(FURNITURE)
    assert kind_of("Chair", "Office") == kind_of("Folding chair", "Living room") == "chair"
    assert kind_of("Bedside table", "Bedroom") == "cabinet"
    assert kind_of("Armchair", "Office") == "armchair"
    assert kind_of("Sitting male", "Characters") is kind_of("Desk fan", "Lights") is kind_of("Lamp", "Kitchen") is None


def many(piece: Piece) -> list[Piece]:
    """Pieces of all kinds, of which two have the same model."""
    fields = {name: getattr(piece, name) for name in piece.__dataclass_fields__}
    return [
        Piece(**{**fields, "id": f"{kind} {number}", "kind": kind, "digest": f"{min(number, 6)}{kind}"})
        for kind in FURNITURE
        for number in range(8)
    ]


def test_no_model_is_in_rooms_of_both_splits(table: Piece) -> None:
    parts = split_pieces(many(table))
    digests = {split: {piece.digest for piece in pieces} for split, pieces in parts.items()}
    assert not digests["train"] & digests["test"]
    assert {piece.kind for piece in parts["test"]} == set(FURNITURE)
    assert sum(map(len, parts.values())) == 8 * len(FURNITURE)


def test_furniture_stands_in_the_room_and_not_in_other_furniture(table: Piece) -> None:
    pieces, placed = many(table), 0
    for seed in range(20):
        room = furnish(seed, pieces)
        assert room == furnish(seed, pieces)
        placed += len(room.placed)
        for number, each in enumerate(room.placed):
            half_x, half_z = each.extent
            assert half_x <= each.x <= room.size[0] - half_x
            assert half_z <= each.z <= room.size[2] - half_z
            for other in room.placed[:number]:
                apart = abs(each.x - other.x), abs(each.z - other.z)
                touch = (half_x + other.extent[0], half_z + other.extent[1])
                above = each.y >= other.y + other.piece.height or other.y >= each.y + each.piece.height
                assert above or apart[0] >= touch[0] or apart[1] >= touch[1]
    assert placed > 60


def test_desks_have_their_back_to_a_wall(table: Piece) -> None:
    rooms = [furnish(seed, [replace(table, name="Desk")]) for seed in range(20)]
    found = [(room, each) for room in rooms for each in room.placed]
    assert found
    for room, each in found:
        front = np.array([np.sin(each.angle), np.cos(each.angle)])
        back = np.array([each.x, each.z]) - front * each.piece.depth / 2
        assert min(abs(back[0]), abs(back[1]), abs(room.size[0] - back[0])) < 0.05


def test_what_is_written_is_what_is_read(table: Piece, tmp_path: Path) -> None:
    room = empty_room(0.3, 0.0, (Placed(table, 2.0, 0.0, 2.0, 0.4),))
    view = render(room, SIZE, plain_cast)
    view.normals[0, 0], view.depth[0, 0], view.classes[0, 0] = 0, 0, IGNORED
    folder = tmp_path / "rooms"
    for split in ("train", "test"):
        write_view(folder, f"{split}/0000.png", view)
        write_boxes(folder, split, SIZE, [(f"{split}/0000.png", room, boxes_of(room, view.things))])
    write_attribution(folder, {"train": [table], "test": [table]})
    opened = {kind: open_dataset(get_dataset(f"rooms-{kind}"), tmp_path)
              for kind in ("classes", "boxes", "normals", "depth")}  # fmt: skip
    assert np.array_equal(opened["classes"].labels(1), view.classes)
    assert np.abs(opened["depth"].labels(0) - view.depth).max() <= 0.00051
    normals = opened["normals"].labels(0)
    assert isinstance(normals, np.ndarray)
    assert not normals[0, 0].any()
    assert (np.einsum("hwd,hwd->hw", normals, view.normals)[1:] > np.cos(np.radians(0.5))).all()
    boxes = opened["boxes"].labels(0)
    assert isinstance(boxes, Objects)
    rows, columns = np.nonzero(view.things == 0)
    assert boxes.boxes.tolist() == [[columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]]
    assert opened["boxes"].classes[boxes.classes[0]] == "table"
    assert np.array_equal(np.array(Image.open(folder / "images/train/0000.png")), view.image)
    assert json.loads((folder / "boxes/train.json").read_text())["images"][0]["focal_length"] == SIZE / 2
    assert "| Made#box | Wooden table | table | Somebody |" in (folder / "ATTRIBUTION.md").read_text()


def test_embree_agrees_with_the_plain_loop(table: Piece) -> None:
    pytest.importorskip("embreex", reason="embreex is not installed")
    room = empty_room(0.3, 0.2, (Placed(table, 1.8, 0.0, 2.0, 0.7),))
    fast, plain = render(room, SIZE), render(room, SIZE, plain_cast)
    assert (fast.classes == plain.classes).mean() > 0.99
    assert np.median(np.abs(fast.depth - plain.depth)) < 1e-4

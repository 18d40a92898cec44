"""The reader of rendered rooms, on a small copy in its form on disk, whole and damaged."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dense_trees import class_map, photograph
from PIL import Image

from unseen.data.core.dense.labels import IGNORED, Objects
from unseen.data.core.open_dataset import OpenDataset, open_dataset
from unseen.data.registry import get_dataset
from unseen.data.sets.rooms import CLASSES, FURNITURE
from unseen.errors import UserError

IMAGES = {"train": ("train/0000.png", "train/0001.png"), "test": ("test/0000.png",)}
KINDS = ("classes", "boxes", "normals", "depth")


def rooms_tree(root: Path) -> Path:
    """Three rooms of 40 × 30 pixels: floor below, wall above, a sofa in front of both."""
    base = root / "rooms"
    classes = np.full((30, 40), CLASSES.index("wall"), dtype=np.uint8)
    classes[20:] = CLASSES.index("floor")
    classes[10:25, 5:25] = CLASSES.index("sofa")
    classes[0, 0] = IGNORED
    colours = np.full((30, 40, 3), (128, 128, 255), dtype=np.uint8)
    colours[20:] = (128, 255, 128)
    colours[0, 0] = 0
    millimetres = np.full((30, 40), 4321, dtype=np.uint16)
    millimetres[0, 0] = 0
    for split, names in IMAGES.items():
        for number, name in enumerate(names):
            photograph(base / "images" / name, number)
            class_map(base / "masks" / name, classes)
            save(base / "normals" / name, colours)
            save(base / "depth" / name, millimetres)
        write_record(base, split, record(names))
    return root


def save(path: Path, values: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(values).save(path)


def record(names: tuple[str, ...]) -> dict[str, Any]:
    """In COCO's form; the last image has no box."""
    return {
        "images": [{"id": number, "file_name": name} for number, name in enumerate(names)],
        "annotations": [{"image_id": 0, "category_id": 1 + FURNITURE.index("sofa"), "bbox": [5, 10, 20, 15]}],
        "categories": [{"id": number, "name": name} for number, name in enumerate(FURNITURE, start=1)],
    }


def write_record(base: Path, split: str, content: dict[str, Any]) -> None:
    (base / "boxes").mkdir(exist_ok=True)
    (base / f"boxes/{split}.json").write_text(json.dumps(content))


def opened(kind: str, root: Path) -> OpenDataset:
    return open_dataset(get_dataset(f"rooms-{kind}"), root)


def test_all_kinds_have_the_same_images(tmp_path: Path) -> None:
    rooms_tree(tmp_path)
    found = {kind: opened(kind, tmp_path) for kind in KINDS}
    for each in found.values():
        assert [*each.manifest.splits] == ["train", "train", "test"]
        assert [entry.id for entry in each.source.entries] == [
            f"images/{name}" for names in IMAGES.values() for name in names
        ]
    classes, normals, depth = (found[kind].labels(0) for kind in ("classes", "normals", "depth"))
    assert isinstance(classes, np.ndarray)
    assert [found["classes"].classes[classes[row, 6]] for row in (5, 15, 27)] == ["wall", "sofa", "floor"]
    assert classes[0, 0] == IGNORED
    assert isinstance(normals, np.ndarray)
    assert np.allclose(normals[5, 5], [0, 0, 1], atol=0.005)
    assert np.allclose(normals[25, 5], [0, 1, 0], atol=0.005)
    assert not normals[0, 0].any()
    assert isinstance(depth, np.ndarray)
    assert depth.dtype == np.float32
    assert depth[5, 5] == pytest.approx(4.321)
    boxes = found["boxes"].labels(0)
    assert isinstance(boxes, Objects)
    assert boxes.boxes.tolist() == [[5, 10, 25, 25]]
    assert found["boxes"].classes[boxes.classes[0]] == "sofa"
    assert len(found["boxes"].labels(1)) == 0


@pytest.mark.parametrize(
    ("kind", "folder", "values", "expected"),
    [
        ("classes", "masks", np.full((30, 40), 15, np.uint8), "15 is none of the 15"),
        ("classes", "masks", np.zeros((30, 39), np.uint8), "39 × 30"),
        ("classes", "masks", np.zeros((30, 40, 3), np.uint8), "mode RGB"),
        ("normals", "normals", np.zeros((30, 40), np.uint8), "mode L"),
        ("normals", "normals", np.zeros((20, 40, 3), np.uint8), "40 × 20"),
        ("depth", "depth", np.zeros((30, 40), np.uint8), "16 bits"),
        ("depth", "depth", np.zeros((31, 40), np.uint16), "40 × 31"),
    ],
)
def test_a_map_of_the_wrong_type_or_size_is_named_and_the_others_are_read(
    tmp_path: Path, kind: str, folder: str, values: Any, expected: str
) -> None:
    path = rooms_tree(tmp_path) / "rooms" / folder / "train/0001.png"
    save(path, values)
    found = opened(kind, tmp_path)
    with pytest.raises(UserError, match=expected) as error:
        found.labels(1)
    assert str(path) in str(error.value)
    found.labels(0)
    found.labels(2)


@pytest.mark.parametrize(("kind", "folder"), [("classes", "masks"), ("normals", "normals"), ("depth", "depth")])
def test_a_truncated_map_and_a_missing_one_are_named(tmp_path: Path, kind: str, folder: str) -> None:
    path = rooms_tree(tmp_path) / "rooms" / folder / "test/0000.png"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UserError, match="damaged image"):
        opened(kind, tmp_path).labels(2)
    path.unlink()
    with pytest.raises(UserError, match=rf"1 of 3 images are missing or empty; the first is {folder}/test/0000\.png"):
        opened(kind, tmp_path)


def test_boxes_of_missing_images_are_left_out_where_that_is_wanted(tmp_path: Path) -> None:
    (rooms_tree(tmp_path) / "rooms/images/train/0000.png").unlink()
    with pytest.raises(UserError, match=r"images/train/0000\.png"):
        opened("boxes", tmp_path)
    found = open_dataset(get_dataset("rooms-boxes"), tmp_path, partial=True)
    assert [len(found.labels(number)) for number in range(2)] == [0, 1]
    assert "train/0001.png" in found.place(0)


def _no_categories(content: dict[str, Any]) -> None:
    del content["categories"]


def _renamed(content: dict[str, Any]) -> None:
    content["categories"][0]["name"] = "unicorn"


@pytest.mark.parametrize(
    ("change", "expected"),
    [(_no_categories, "no list 'categories'"), (_renamed, "its categories are not")],
)
@pytest.mark.parametrize("kind", ["boxes", "depth"])
def test_wrong_boxes_are_named(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], expected: str, kind: str
) -> None:
    base = rooms_tree(tmp_path) / "rooms"
    for split, names in IMAGES.items():
        content = record(names)
        change(content)
        write_record(base, split, content)
    with pytest.raises(UserError, match=expected) as error:
        opened(kind, tmp_path)
    assert "boxes/train.json" in str(error.value)


def test_a_box_outside_its_image_is_named(tmp_path: Path) -> None:
    base = rooms_tree(tmp_path) / "rooms"
    content = record(IMAGES["train"])
    content["annotations"][0]["bbox"] = [30, 10, 20, 15]
    write_record(base, "train", content)
    with pytest.raises(UserError, match=r"train/0000\.png.*outside the image"):
        opened("boxes", tmp_path).labels(0)


def test_a_truncated_file_of_boxes_is_named(tmp_path: Path) -> None:
    path = rooms_tree(tmp_path) / "rooms/boxes/test.json"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(UserError, match=r"test\.json: damaged, or not JSON"):
        opened("boxes", tmp_path)


def test_without_the_rooms_it_is_said_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="render_rooms"):
        opened("normals", tmp_path)
    (tmp_path / "rooms/images").mkdir(parents=True)
    with pytest.raises(UserError, match="has no normals"):
        opened("normals", tmp_path)

"""A user's own boxes and masks."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dense_trees import class_map, photograph
from hypothesis import given, settings
from hypothesis import strategies as st

from unseen.errors import UserError
from unseen.images.dense.labels import Objects
from unseen.images.dense.own_data import open_coco, open_mask_folders

COCO: dict[str, Any] = {
    "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 9, "file_name": "b.jpg"}],
    "categories": [{"id": 3, "name": "cup"}, {"id": 1, "name": "fork"}],
    "annotations": [{"image_id": 9, "category_id": 1, "bbox": [1, 2, 10, 5], "iscrowd": 1}],
}


def coco_files(root: Path, record: object = COCO) -> dict[str, Path]:
    for number, name in enumerate(("a", "b")):
        photograph(root / "images" / f"{name}.jpg", number)
        photograph(root / "images" / f"t{name}.jpg", number)
    tests = COCO | {"images": [each | {"file_name": f"t{each['file_name']}"} for each in COCO["images"]]}
    files = {"train": root / "train.json", "test": root / "test.json"}
    files["train"].write_text(json.dumps(record))
    files["test"].write_text(json.dumps(tests))
    return files


def test_coco_boxes(tmp_path: Path) -> None:
    found = open_coco("mine", tmp_path / "images", coco_files(tmp_path))
    assert found.dataset.classes == ("cup", "fork")
    assert len(found.labels(0)) == 0
    objects = found.labels(1)
    assert isinstance(objects, Objects)
    assert objects.boxes.tolist() == [[1, 2, 11, 7]]
    assert objects.classes.tolist() == [1]
    assert objects.crowd.tolist() == [True]
    assert [*found.manifest.splits] == ["train", "train", "test", "test"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"images": None}, "no list 'images'"),
        ({"annotations": [{"image_id": 9}]}, "no 'category_id'"),
        ({"annotations": [{"image_id": 9, "category_id": 5, "bbox": [0, 0, 1, 1]}]}, "category 5"),
        ({"annotations": [{"image_id": 9, "category_id": 1, "bbox": [0, 0, 1]}]}, "not four numbers"),
        ({"images": [{"id": 9, "file_name": "../b.jpg"}]}, "no image below"),
        ({"images": [{"id": 9, "file_name": "z.jpg"}]}, r"not there, the first z\.jpg"),
        ({"categories": [{"id": 1, "name": "fork"}]}, "other categories"),
        ({"categories": [{"id": [1], "name": "fork"}]}, r"an id in its categories is \[1\]"),
        ({"images": [{"id": {}, "file_name": "a.jpg"}]}, "an id in its images"),
    ],
)
def test_wrong_coco_files_are_explained(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    files = coco_files(tmp_path, COCO | change)
    with pytest.raises(UserError, match=expected):
        open_coco("mine", tmp_path / "images", files)


@settings(max_examples=30, deadline=None)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["images", "annotations", "categories", "id", "bbox"]), inner)
        ),
    )
)
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, record: object) -> None:
    root = tmp_path_factory.mktemp("coco")
    with pytest.raises(UserError):
        open_coco("mine", root / "images", coco_files(root, record))


def test_mask_folders(tmp_path: Path) -> None:
    for split in ("train", "test"):
        photograph(tmp_path / f"images/{split}/x.jpg", 0)
        class_map(tmp_path / f"masks/{split}/x.png", np.ones((30, 40), dtype=np.uint8))
    found = open_mask_folders("mine", tmp_path, ["no", "yes"])
    values = found.labels(1)
    assert isinstance(values, np.ndarray)
    assert (values == 1).all()
    (tmp_path / "masks/test/x.png").unlink()
    with pytest.raises(UserError, match=r"masks/test/x\.png"):
        open_mask_folders("mine", tmp_path, ["no", "yes"])
    with pytest.raises(UserError, match="images/train"):
        open_mask_folders("mine", tmp_path / "masks", ["no", "yes"])

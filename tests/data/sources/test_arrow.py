"""Hugging Face data sets as `save_to_disk` writes them."""

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from picture_files import jpeg

from unseen.data.sources.arrow import arrow_images
from unseen.data.sources.open_source import open_images
from unseen.errors import UserError

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
FEATURES = {
    "image": {"mode": None, "decode": True, "_type": "Image"},
    "label": {"names": ["cat", "dog"], "_type": "ClassLabel"},
}


def save(folder: Path, labels: list[Any], *, features: dict[str, Any] = FEATURES, file_format: bool = False) -> Path:
    """Two data files, the second with one row."""
    folder.mkdir(parents=True)
    kind = pa.array(labels).type
    rows = [({"bytes": jpeg(i), "path": f"{i}.jpg"}, label) for i, label in enumerate(labels)]
    names = [f"data-0000{i}-of-00002.arrow" for i in range(2)]
    for name, part in zip(names, (rows[:-1], rows[-1:]), strict=True):
        images = pa.array([image for image, _ in part], IMAGE)
        table = pa.table({"image": images, "label": pa.array([label for _, label in part], kind)})
        new = pa.ipc.new_file if file_format else pa.ipc.new_stream
        with pa.OSFile(str(folder / name), "wb") as sink, new(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    (folder / "dataset_info.json").write_text(json.dumps({"features": features, "citation": ""}))
    state = {"_data_files": [{"filename": name} for name in names], "_indices": None, "_split": "train"}
    (folder / "state.json").write_text(json.dumps(state))
    return folder


@pytest.mark.parametrize("file_format", [False, True])
def test_rows_and_names_of_classes(tmp_path: Path, file_format: bool) -> None:
    source = open_images(save(tmp_path / "pets", [1, 0, 1, 1], file_format=file_format))
    assert [entry.label for entry in source.entries] == ["dog", "cat", "dog", "dog"]
    assert [entry.id for entry in source.entries] == [f"{i:08d}" for i in range(4)]
    assert [source.read(i) for i in range(4)] == [jpeg(i) for i in range(4)]
    again = pickle.loads(pickle.dumps(source))
    assert again.read(3) == jpeg(3)
    assert again.entries[0] == source.entries[0]
    assert len(pickle.dumps(source)) < 3000


def test_splits(tmp_path: Path) -> None:
    save(tmp_path / "both/train", [0, 1])
    save(tmp_path / "both/test", [1, 1, 1])
    (tmp_path / "both/dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert len(open_images(tmp_path / "both", split="test").entries) == 3
    with pytest.raises(UserError, match="has the splits train, test; choose one"):
        open_images(tmp_path / "both")
    with pytest.raises(UserError, match="no split 'tset'; did you mean test"):
        open_images(tmp_path / "both", split="tset")


def test_other_columns(tmp_path: Path) -> None:
    features = {"image": {"_type": "Image"}, "label": {"dtype": "string", "_type": "Value"}}
    source = arrow_images(save(tmp_path / "text", ["x", "y", "x"], features=features))
    assert [entry.label for entry in source.entries] == ["x", "y", "x"]
    two = {"image": {"_type": "Image"}, "depth": {"_type": "Image"}, "label": {"_type": "Value"}}
    folder = save(tmp_path / "two", [5, 6], features=two)
    with pytest.raises(UserError, match=r"several columns of type Image \(image, depth\); name the column to use"):
        arrow_images(folder)
    assert [entry.label for entry in arrow_images(folder, image="image").entries] == ["5", "6"]
    with pytest.raises(UserError, match="no column 'lable'; did you mean label"):
        arrow_images(folder, image="image", label="lable")
    with pytest.raises(UserError, match="no column of type ClassLabel; name the column to use"):
        arrow_images(save(tmp_path / "none", [1, 2], features={"image": {"_type": "Image"}}))


@pytest.mark.parametrize("labels", [[0, 2], [0, -1], [0, None]])
def test_rows_without_a_class_are_named(tmp_path: Path, labels: list[Any]) -> None:
    with pytest.raises(UserError, match="row 1 has no class in the column 'label'"):
        arrow_images(save(tmp_path / "pets", labels))


def test_images_that_are_elsewhere_are_not_followed(tmp_path: Path) -> None:
    folder = save(tmp_path / "pets", [0, 1])
    table = pa.table({"image": pa.array([{"bytes": None, "path": "/etc/passwd"}], IMAGE), "label": [0]})
    for file in folder.glob("*.arrow"):
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(UserError, match="image 1 is stored outside of the Arrow files; save the data set again"):
        arrow_images(folder).read(1)


def test_rows_without_an_image_are_empty_images(tmp_path: Path) -> None:
    folder = save(tmp_path / "pets", [0, 1])
    for file, row in zip(sorted(folder.glob("*.arrow")), (None, {"bytes": None, "path": None}), strict=True):
        table = pa.table({"image": pa.array([row], IMAGE), "label": [0]})
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    source = arrow_images(folder)
    assert [source.read(number) for number in range(2)] == [b"", b""]


def test_damage_is_named(tmp_path: Path) -> None:
    folder = save(tmp_path / "pets", [0, 1])
    file = folder / "data-00001-of-00002.arrow"
    file.write_bytes(b"no arrow at all")
    with pytest.raises(UserError, match=r"data-00001-of-00002\.arrow: damaged, or not a readable Arrow file"):
        arrow_images(folder)
    file.unlink()
    with pytest.raises(UserError, match=r"data-00001-of-00002\.arrow: no such file"):
        arrow_images(folder)
    table = pa.table({"picture": [1]})
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(UserError, match="its data files have different columns"):
        arrow_images(folder)
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps(state | {"_indices_data_files": [{"filename": "i.arrow"}]}))
    with pytest.raises(UserError, match="flatten_indices"):
        arrow_images(folder)
    (folder / "state.json").write_text("[")
    with pytest.raises(UserError, match=r"state\.json: damaged, or not JSON"):
        arrow_images(folder)


def test_a_file_that_is_cut_while_it_is_read_is_named(tmp_path: Path) -> None:
    """What is mapped and no longer there would end the process."""
    folder = save(tmp_path / "pets", [0, 1, 1])
    source = arrow_images(folder)
    file = folder / "data-00001-of-00002.arrow"
    file.write_bytes(file.read_bytes()[:-100])
    assert source.read(0) == jpeg(0)
    with pytest.raises(UserError, match=r"data-00001-of-00002\.arrow: changed since it was opened"):
        source.read(2)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("dataset_info.json", {"features": ["image"]}),
        ("dataset_info.json", {"features": {**FEATURES, "label": {"names": [["cat"]], "_type": "ClassLabel"}}}),
        ("state.json", {"_data_files": [7]}),
        ("state.json", {"_data_files": [{"filename": ["x"]}]}),
        ("state.json", {"_data_files": [{}]}),
    ],
)
def test_metadata_of_wrong_types_are_named(tmp_path: Path, file: str, content: dict[str, Any]) -> None:
    folder = save(tmp_path / "pets", [0, 1])
    (folder / file).write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"dataset_info\.json|state\.json"):
        arrow_images(folder)


@pytest.mark.parametrize(("image", "label"), [("label", "label"), ("image", "image")])
def test_columns_of_other_types_are_named(tmp_path: Path, image: str, label: str) -> None:
    with pytest.raises(UserError, match="has values of the type"):
        arrow_images(save(tmp_path / "pets", [0, 1]), image=image, label=label)


def test_several_classes_and_captions(tmp_path: Path) -> None:
    sky = {"feature": {"names": ["sun", "rain"], "_type": "ClassLabel"}, "_type": "Sequence"}
    features = {"image": {"_type": "Image"}, "label": sky}
    source = open_images(save(tmp_path / "sky", [[0], [], [1, 0]], features=features))
    assert [entry.label for entry in source.entries] == ["sun", "none", "rain+sun"]
    texts = {"image": {"_type": "Image"}, "label": {"dtype": "string", "_type": "Value"}}
    folder = save(tmp_path / "texts", ["a cat\nasleep", "a dog"], features=texts)
    assert [entry.label for entry in open_images(folder, label="label", captions=True).entries] == [
        "a cat asleep", "a dog",
    ]  # fmt: skip

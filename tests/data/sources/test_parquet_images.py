"""Images inside Parquet files."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_trees import IMAGE, PETS, SEVERAL, embedded, write_parquet, write_pets
from picture_files import jpeg

from unseen.data.sources import parquet_images as module
from unseen.data.sources.open_source import FOLDERS, LIST, PARQUET_FILES, kind_of, open_images
from unseen.data.sources.parquet_images import parquet_images
from unseen.errors import UserError

LABELS = [1, 0, 0, 1, 1, 0, 1, 0]


def labels_of(source: Any) -> list[str]:
    return [entry.label for entry in source.entries]


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(UserError) as error:
        open_images(path, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("options", [
    {}, {"compression": "none"}, {"use_dictionary": False, "row_group_size": 100}, {"data_page_version": "2.0"},
])  # fmt: skip
def test_rows_in_any_order_and_from_threads(tmp_path: Path, options: dict[str, Any]) -> None:
    source = open_images(write_pets(tmp_path / "train.parquet", LABELS, **options))
    assert labels_of(source) == [PETS["names"][number] for number in LABELS]
    assert [entry.id for entry in source.entries] == [f"{number:08d}" for number in range(8)]
    order = [0, 1, 7, 3, 2, 2, 6, 0, 5, 4]
    assert [source.read(number) for number in order] == [jpeg(number) for number in order]
    again = pickle.loads(pickle.dumps(source))
    with ThreadPoolExecutor(8) as pool:
        numbers = [*np.random.default_rng(0).permutation(8)] * 5
        assert [*pool.map(again.read, numbers)] == [jpeg(int(number)) for number in numbers]


def test_several_files_are_one_source(tmp_path: Path) -> None:
    for part in range(3):
        write_pets(tmp_path / f"train-0000{part}-of-00003.parquet", LABELS[: part + 1], 10 * part)
    source = open_images(tmp_path / "train-*.parquet")
    assert [source.read(number) for number in range(6)] == [jpeg(seed) for seed in (0, 10, 11, 20, 21, 22)]
    assert len(source.entries) == 6
    write_pets(tmp_path / "train-00003-of-00003.parquet", [[0]], 30, SEVERAL)
    assert "one class in some files" in refusal(tmp_path / "train-*.parquet")
    assert "no such files" in refusal(tmp_path / "text-*.parquet")


def test_kinds_of_labels(tmp_path: Path) -> None:
    texts = {"image": embedded(range(3)), "label": ["x", "y", "x"]}
    assert labels_of(open_images(write_parquet(tmp_path / "texts.parquet", texts))) == ["x", "y", "x"]
    numbers = {"image": embedded(range(3)), "class": [5, 6, 5]}
    assert labels_of(open_images(write_parquet(tmp_path / "numbers.parquet", numbers))) == ["5", "6", "5"]
    several = open_images(write_pets(tmp_path / "several.parquet", [[0, 2], [], None, [1]], feature=SEVERAL))
    assert labels_of(several) == ["snow+sun", "none", "none", "rain"]
    as_list = {"image": {"_type": "Image"}, "tags": [SEVERAL["feature"]]}
    tags = {"image": embedded(range(2)), "tags": pa.array([[2], [0, 1]], pa.list_(pa.int64()))}
    assert labels_of(open_images(write_parquet(tmp_path / "tags.parquet", tags, as_list))) == ["snow", "rain+sun"]
    captions = {"image": embedded(range(2)), "text": ["a  cat\nasleep", "a dog"]}
    source = open_images(write_parquet(tmp_path / "captions.parquet", captions), captions=True)
    assert labels_of(source) == ["a cat asleep", "a dog"]


def test_plain_bytes_and_columns_that_are_named(tmp_path: Path) -> None:
    plain = {"image": pa.array([jpeg(0), jpeg(1)]), "label": [0, 1]}
    assert open_images(write_parquet(tmp_path / "plain.parquet", plain)).read(1) == jpeg(1)
    columns = {"left": embedded([0, 1]), "right": embedded([2, 3]), "coarse": [0, 0], "fine": [0, 1]}
    features = {"left": {"_type": "Image"}, "right": {"_type": "Image"}, "coarse": PETS, "fine": PETS}
    path = write_parquet(tmp_path / "pairs.parquet", columns, features)
    assert "left, right" in refusal(path, label="fine")
    assert "coarse, fine" in refusal(path, image="left")
    source = open_images(path, image="right", label="fine")
    assert (labels_of(source), source.read(0)) == (["cat", "dog"], jpeg(2))
    assert "did you mean right" in refusal(path, image="rihgt", label="fine")


def test_a_list_of_paths_is_still_a_list(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/0.jpg").write_bytes(jpeg(0))
    path = write_parquet(tmp_path / "list.parquet", {"image": ["a/0.jpg"], "label": ["a"], "hash": [b"12"]})
    assert kind_of(path) is LIST
    assert open_images(path).read(0) == jpeg(0)
    assert kind_of(write_pets(tmp_path / "b.parquet", [0])) is PARQUET_FILES
    assert kind_of(tmp_path / "b.parquet", "label") is LIST
    assert FOLDERS.open is not LIST.open


def test_images_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "set/images").mkdir(parents=True)
    (tmp_path / "set/images/0.jpg").write_bytes(jpeg(4))
    (tmp_path / "secret.jpg").write_bytes(jpeg(5))
    paths = ["images/0.jpg", "../secret.jpg", str(tmp_path / "secret.jpg"), "images/1.jpg", None]
    rows = pa.array([{"bytes": None, "path": path} for path in paths], IMAGE)
    source = open_images(write_parquet(tmp_path / "set/train.parquet", {"image": rows, "label": [0, 1, 0, 1, 0]}))
    assert source.read(0) == jpeg(4)
    assert source.read(4) == b""
    for number, words in ((1, "is not below"), (2, "is not below"), (3, "No such file")):
        with pytest.raises(UserError, match=words):
            source.read(number)
    beside = open_images(tmp_path / "set/train.parquet", root=tmp_path / "set/images")
    with pytest.raises(UserError, match="No such file"):
        beside.read(0)


@pytest.mark.parametrize(
    ("columns", "features", "words"),
    [
        ({"image": embedded([0, 1])}, None, "no column of type ClassLabel; name the column to use"),
        ({"image": embedded([0, 1]), "label": [0, 2]}, {"image": {"_type": "Image"}, "label": PETS}, "2, of 2 names"),
        ({"image": embedded([0, 1]), "label": [0, -1]}, {"image": {"_type": "Image"}, "label": PETS}, "row 1 has no"),
        ({"image": embedded([0, 1]), "label": [0.5, 1.0]}, None, "values of the type double"),
        ({"image": embedded([0, 1]), "label": [0, None]}, None, "row 1 has no class"),
        ({"image": embedded([0, 1]), "label": ["x", ""]}, None, "row 1 has no class"),
        ({"image": embedded([]), "label": pa.array([], pa.int64())}, None, "contains no images"),
        ({"image": embedded([0]), "label": [["a+b"]]}, None, "'a+b' in the column 'label'"),
        ({"image": embedded([0]), "label": [0]}, {"image": 1, "label": {"_type": "ClassLabel", "names": [1]}}, "names"),
        ({"image": embedded([0]), "label": [0]}, {"image": 1, "label": {"_type": "ClassLabel", "names": {}}}, "names"),
        (
            {"image": embedded([0, 1]), "label": [0, 2]},
            {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": ["a", "b", "a"]}},
            "two classes are named 'a'",
        ),
    ],
)  # fmt: skip
def test_bad_labels_are_one_sentence(
    tmp_path: Path, columns: dict[str, Any], features: dict[str, Any] | None, words: str
) -> None:
    path = write_parquet(tmp_path / "t.parquet", columns, features)
    assert words in (text := refusal(path))
    assert str(path) in text


def test_other_files_are_one_sentence(tmp_path: Path) -> None:
    path = write_pets(tmp_path / "t.parquet", LABELS)
    whole = path.read_bytes()
    for content in (whole[:-20], whole[:100], b"", b"no parquet at all", whole[:-300] + b"x" * 292 + b"PAR1"):
        path.write_bytes(content)
        assert "damaged, or not" in refusal(path) or "its metadata" in refusal(path)
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    assert "Git LFS pointer" in refusal(path)
    write_parquet(path, {"image": [1, 2], "label": [0, 1]}, {"image": {"_type": "Image"}, "label": PETS})
    assert "values of the type int64, not images" in refusal(path)
    bad = pa.table({"image": embedded([0]), "label": [0]}).replace_schema_metadata({b"huggingface": b"{"})
    pq.write_table(bad, path)
    assert "damaged, or not" in refusal(path)


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = write_pets(tmp_path / "t.parquet", LABELS)
    source = open_images(path)
    source.read(0)
    os.utime(path, ns=(1, 1))
    with pytest.raises(UserError, match="changed since it was opened"):
        source.read(1)
    path.unlink()
    with pytest.raises(UserError, match=r"t\.parquet"):
        source.read(1)


def test_images_that_are_damaged_within_the_file(tmp_path: Path) -> None:
    path = write_pets(tmp_path / "t.parquet", LABELS, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    place = content.index(jpeg(1)[:200])
    content[place - 4 : place] = b"\xff\xff\xff\x7f"  # the length of the image
    path.write_bytes(content)
    with pytest.raises(UserError, match="damaged, or not a readable Parquet file"):
        open_images(path).read(1)
    assert open_images(path).read(4) == jpeg(4)  # in the next row group


def test_few_bytes_cannot_expand_without_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image, rows, path = bytes(4 << 20), 3000, tmp_path / "t.parquet"
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([image]))
    pq.write_table(pa.table({"image": column, "label": [*map(str, range(rows))]}), path, store_schema=False)
    assert path.stat().st_size < 1_000_000  # and 12 GB of images
    monkeypatch.setattr(module, "MOST_STEP_BYTES", 1 << 25)
    before = pa.total_allocated_bytes()
    source = parquet_images([path])
    assert source.read(200) == image
    assert pa.total_allocated_bytes() - before < 1 << 27


def test_labels_that_expand_without_limit_are_refused(tmp_path: Path) -> None:
    rows = 2_000_000
    path = tmp_path / "t.parquet"
    nothing = pa.nulls(rows, IMAGE)
    pq.write_table(pa.table({"image": nothing, "label": pa.array(np.zeros(rows, np.int64))}), path)
    assert path.stat().st_size < rows
    assert "2,000,000 labels in" in refusal(path)

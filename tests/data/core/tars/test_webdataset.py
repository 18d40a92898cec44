"""WebDataset shards."""

import json
import pickle
from pathlib import Path

import pytest
from picture_files import jpeg, tar_of

from unseen.data.core.tars.webdataset import find_shards, webdataset_images
from unseen.data.sources.open_source import open_images
from unseen.errors import UserError


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Four shards of two samples; numbers as classes, and JSON with names."""
    for shard in range(4):
        files = {}
        for sample in range(2):
            number = 2 * shard + sample
            key = f"./part/sample{9 - sample}.v2"  # a point within the name belongs to what follows the key
            files[key.replace(".v2", ".cls")] = f"{number % 3:02d}\n".encode()
            files[key.replace(".v2", ".jpg")] = jpeg(number)
            files[key.replace(".v2", ".json")] = json.dumps({"name": f"c{number % 3}", "label": 7}).encode()
        (tmp_path / f"shard-{shard:06d}.tar").write_bytes(tar_of(files))
    return tmp_path


def test_a_folder_and_a_pattern_are_the_same(shards: Path) -> None:
    for place in (shards, shards / "shard-{000000..000003}.tar"):
        source = open_images(place)
        assert [entry.id for entry in source.entries][:3] == [
            "shard-000000/part/sample9", "shard-000000/part/sample8", "shard-000001/part/sample9",
        ]  # fmt: skip
        assert [entry.label for entry in source.entries] == ["0", "1", "2", "0", "1", "2", "0", "1"]
        assert [source.read(i) for i in range(8)] == [jpeg(i) for i in range(8)]
        assert source.about["kind"] == "WebDataset"
        assert source.about["shards"] == "4"
    again = pickle.loads(pickle.dumps(source))
    assert again.read(7) == jpeg(7)


def test_part_of_the_shards(shards: Path) -> None:
    source = webdataset_images(shards / "shard-00000{1..2}.tar")
    assert [source.read(i) for i in range(4)] == [jpeg(i) for i in range(2, 6)]
    names = [f"a{i}-{j}.tar" for i in "01" for j in ("08", "09", "10")]
    for name in names:
        (shards / name).touch()
    assert [path.name for path in find_shards(shards / "a{0..1}-{08..10}.tar")] == names


def test_classes_from_json(shards: Path) -> None:
    named = open_images(shards, label="name")
    assert [entry.label for entry in named.entries][:4] == ["c0", "c1", "c2", "c0"]
    one = open_images(shards / "shard-000001.tar", label="cls")
    assert [entry.label for entry in one.entries] == ["2", "0"]
    assert one.read(0) == jpeg(2)


def test_a_missing_shard_is_named(shards: Path) -> None:
    with pytest.raises(UserError, match=r"shard-000004\.tar: no such file"):
        open_images(str(shards / "shard-{000000..000009}.tar"))
    with pytest.raises(UserError, match="not a range of shards"):
        open_images(shards / "shard-{5..2}.tar")
    with pytest.raises(UserError, match="not a range of shards"):
        open_images(shards / "shard-{0..99999999999}.tar")
    with pytest.raises(UserError, match="not a range of shards"):
        open_images(shards / "{0..999999}{0..999999}.tar")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a.jpg": b"", "a.cls": b"1", "b.cls": b"2"}, "b has no image, only cls"),
        ({"a.jpg": b"", "a.cls": b"1", "b.jpg": b""}, "b has no cls or json, only jpg"),
        ({"a.jpg": b"", "a.cls": b" \n"}, "a: found no class .* but ''"),
        ({"a.jpg": b"", "a.cls": b"\xff\xfe"}, "a.cls is not UTF-8 text"),
        ({"a.jpg": b"", "a.json": b"[1]"}, "a.json is not a JSON object"),
        ({"a.jpg": b"", "a.json": b'{"label": null}'}, "a: found no class .* but None"),
        ({"a.jpg": b"", "a.json": b'{"label": true}'}, "a: found no class .* but True"),
        ({"a.jpg": b"", "a.json": b"[" * 200_000}, "a.json is not a JSON object"),
        ({"a.jpg": b"", "a.json": b'{"label": ' + b"9" * 5000 + b"}"}, "a.json is not a JSON object"),
        ({"a.jpg": b"", "a.cls": b"9" * 5000}, "a: found no class"),
        ({"a.jpg": b"", "a.cls": b"1", "b.jpg": b"", "b.cls": b"1", "a.png": b"", "a.CLS": b"1"}, "a occurs twice"),
        ({"a.jpg": b"", "a.cls": b"1", "a.JPG": b""}, "a.JPG occurs twice"),
        ({"a.jpg": b"", "a.cls": b"1" * 2_000_000}, "too large for a label"),
        ({"../a.jpg": b"", "../a.cls": b"1"}, "leads outside the archive"),
    ],
)
def test_samples_that_are_wrong_are_named(tmp_path: Path, files: dict[str, bytes], reason: str) -> None:
    (tmp_path / "s.tar").write_bytes(tar_of(files))
    with pytest.raises(UserError, match=reason):
        webdataset_images(tmp_path / "s.tar")


def test_a_label_that_is_not_there(shards: Path) -> None:
    with pytest.raises(UserError, match="found no class in 'colour', but None; name the field to use"):
        open_images(shards, label="colour")

"""Images in folders, and in list files."""

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from picture_files import jpeg, tar_of

from unseen.data.core.folder import folder_images
from unseen.data.sources.list_file import listed_images
from unseen.errors import UserError


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    for number, name in enumerate(["cat/b 1.jpg", "cat/a.PNG", "dog/x,y.jpg", "owl/é.jpeg", "cat/notes.txt"]):
        path = tmp_path / "pets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(number))
    return tmp_path / "pets"


def test_a_folder_per_class(pets: Path) -> None:
    source = folder_images(pets)
    ids = ["cat/a.PNG", "cat/b 1.jpg", "dog/x,y.jpg", "owl/é.jpeg"]
    assert [(entry.id, entry.label) for entry in source.entries] == [(id_, id_.split("/")[0]) for id_ in ids]
    assert source.read(1) == jpeg(0)
    again = pickle.loads(pickle.dumps(source))
    assert list(again.entries) == list(source.entries)
    assert again.read(2) == jpeg(2)
    assert source.about == {"kind": "folder per class", "classes": "3", "images": "4"}


def test_a_file_that_went_away_is_named(pets: Path) -> None:
    source = folder_images(pets)
    (pets / "dog/x,y.jpg").unlink()
    with pytest.raises(UserError, match=r"dog/x,y\.jpg: cannot be read \(No such file"):
        source.read(2)


def test_folders_and_tar_files_together_are_refused(pets: Path) -> None:
    (pets / "fox.tar").write_bytes(tar_of({"1.jpg": b""}))
    with pytest.raises(UserError, match=r"folders and tar files \(fox\.tar\)"):
        folder_images(pets)


def test_folders_without_images_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache/a.jpg").write_bytes(b"")
    with pytest.raises(UserError, match="contains no images"):
        folder_images(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.csv", 'path,label\ncat/b 1.jpg,tom\n"dog/x,y.jpg",rex\nowl/é.jpeg,tom\n'),
        ("list.csv", '\ufeffcat/b 1.jpg,tom\r\n"dog/x,y.jpg",rex\r\n\r\nowl/é.jpeg,tom\r\n'),
        ("list.csv", 'label,width,path\ntom,3,cat/b 1.jpg\nrex,4,"dog/x,y.jpg"\ntom,5,./owl/é.jpeg'),
        ("list.csv", 'class,id\ntom,cat/b 1.jpg\nrex,"dog/x,y.jpg"\ntom,owl/é.jpeg'),
        ("list.csv", "path;width;label\ncat/b 1.jpg;3;tom\ndog/x,y.jpg;4;rex\nowl/é.jpeg;5;tom\n"),
        ("list.tsv", "cat/b 1.jpg\ttom\ndog/x,y.jpg\trex\nowl/é.jpeg\ttom\n"),
        ("list.txt", "cat\\b 1.jpg tom\n\ndog/x,y.jpg   rex\nowl/é.jpeg tom\n"),
    ],
)
def test_lists_of_every_kind(pets: Path, name: str, text: str) -> None:
    (pets / name).write_text(text, newline="")
    source = listed_images(pets / name)
    expected = [("cat/b 1.jpg", "tom"), ("dog/x,y.jpg", "rex"), ("owl/é.jpeg", "tom")]
    assert [(entry.id, entry.label) for entry in source.entries] == expected
    assert [source.read(i) for i in range(3)] == [jpeg(0), jpeg(2), jpeg(3)]


def test_a_list_elsewhere_and_absolute_paths(pets: Path, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(f"{pets}/cat/a.PNG 0\ndog/x,y.jpg 1\n".replace(",", "_"))
    (pets / "dog/x_y.jpg").write_bytes(jpeg(9))
    source = listed_images(tmp_path / "list.txt", root=pets)
    assert [entry.id for entry in source.entries] == ["cat/a.PNG", "dog/x_y.jpg"]
    assert source.read(1) == jpeg(9)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "contains no images"),
        ("cat/a.PNG 0\ncat/a.PNG 1\n", "cat/a.PNG occurs twice"),
        ("cat/a.PNG 0\nalone\n", "line 2: expected a path and a label, found 'alone'"),
        ("cat/a.PNG,0\ncat/b.PNG,1,2\n", "line 2: expected a path and a label"),
        ("cat/a.PNG,0\ncat/b.PNG,\n", "line 2: a path or a label is empty"),
        ('cat/a.PNG,0\n"cat/b.PNG,1\n', "line 2: malformed"),
        ("cat/a.PNG 0\n../secret.jpg 1\n", r"line 2: \.\./secret\.jpg is not below"),
        ("cat/a.PNG 0\n/etc/secret.jpg 1\n", r"line 2: /etc/secret\.jpg is not below .* give the folder of all images"),
        ("cats/a.PNG 0\n", "its first image does not exist .*root"),
    ],
)
def test_a_list_that_is_wrong_says_where(pets: Path, text: str, reason: str) -> None:
    (pets / "list.txt").write_text(text)
    with pytest.raises(UserError, match=reason):
        listed_images(pets / "list.txt")


def test_a_list_with_columns_of_other_names_and_a_split(pets: Path) -> None:
    rows = [("cat/a.PNG", 0, "train"), ("cat/b 1.jpg", 1, "test"), ("dog/x,y.jpg", 1, "train")]
    text = "\n".join(["file\tkind\tsplit", *("\t".join(map(str, row)) for row in rows)])
    (pets / "list.tsv").write_text(text)
    columns = dict(zip(("file", "kind", "split"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), pets / "list.parquet")
    for name in ("list.tsv", "list.parquet"):
        source = listed_images(pets / name, image="file", label="kind", split="train")
        assert [(entry.id, entry.label) for entry in source.entries] == [("cat/a.PNG", "0"), ("dog/x,y.jpg", "1")]
        assert source.read(1) == jpeg(2)
        with pytest.raises(UserError, match="no images of the split 'tests'; available: test, train"):
            listed_images(pets / name, image="file", label="kind", split="tests")
        with pytest.raises(UserError, match="no column 'kinds'; did you mean kind"):
            listed_images(pets / name, image="file", label="kinds")

"""A user's own test sets and training sets: where they may lie, and what is refused of them."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from unseen.data.core.open_dataset import OpenDataset
from unseen.data.own.one_split import open_test_set, own_set, refuse_same_names
from unseen.data.own.own_data import OwnData
from unseen.errors import UserError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two cats, two dogs and a fox in a folder per class."""
    for number, name in enumerate(("cat/a.png", "cat/b.png", "dog/a.png", "dog/c.png", "fox/d.png")):
        (tmp_path / "pets" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 4, 3), 40 * number, dtype=np.uint8)).save(tmp_path / "pets" / name)
    return tmp_path / "pets"


def labelled(opened: OpenDataset) -> dict[str, str]:
    """Id → label, as the manifest has them, whose images are all there."""
    for number in opened.manifest.numbers(opened.source):
        assert opened.source.read(number)
    return {entry.id: entry.label for entry in opened.manifest.entries}


def write_toml(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_folder_of_classes(folder: Path) -> None:
    opened = open_test_set(folder)
    assert (opened.dataset.name, opened.dataset.classes, opened.dataset.images) == ("pets", 3, 5)
    assert opened.dataset.shifted
    assert labelled(opened)["dog/c.png"] == "dog"


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_a_table_of_images(folder: Path, suffix: str) -> None:
    table = pd.DataFrame({"path": ["fox/d.png", "cat/b.png"], "label": ["n02119022", "n02123045"], "note": ["", "x"]})
    file = folder / f"wild.{suffix}"
    if suffix == "parquet":
        table.to_parquet(file)
    else:
        table.to_csv(file, index=False, sep="," if suffix == "csv" else "\t")
    opened = open_test_set(file)
    assert opened.dataset.name == "wild"
    assert labelled(opened) == {"fox/d.png": "n02119022", "cat/b.png": "n02123045"}
    moved = file.rename(folder.parent / file.name)
    assert labelled(open_test_set(OwnData(moved, name="w", root=folder))) == labelled(opened)
    with pytest.raises(UserError, match="give their folder"):
        open_test_set(moved)


def test_images_by_name_and_by_key_of_a_shard(folder: Path) -> None:
    """As the ids of captions are: without the ending of the file, and without its folder."""
    file = folder.parent / "test.csv"
    file.write_text("id,class,caption\nd,fox,a fox\nb,cat,the cat\n")
    assert labelled(open_test_set(OwnData(file, root=folder))) == {"fox/d.png": "fox", "cat/b.png": "cat"}
    with tarfile.open(folder.parent / "00000.tar", "w") as tar:
        for path in sorted(folder.glob("*/[bcd].png")):
            for suffix, content in ((".png", path.read_bytes()), (".txt", b"a caption")):
                member = tarfile.TarInfo(path.stem + suffix)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    assert labelled(open_test_set(OwnData(file, root=folder.parent / "00000.tar"))) == {
        "00000/d": "fox",
        "00000/b": "cat",
    }
    file.write_text("id,class\na,cat\n")
    with pytest.raises(UserError, match=r"a matches (cat|dog)/a.png and (cat|dog)/a.png"):
        open_test_set(OwnData(file, root=folder))


def test_a_toml_file_says_the_rest(folder: Path) -> None:
    (folder.parent / "map.csv").write_text("label,class\ncat,pet\ndog,pet\n")
    (folder.parent / "list.txt").write_text("pet\nwild\n")
    text = 'name = "tame"\nimages = "pets"\nmapping = "map.csv"\nclasses = "list.txt"\nshifted = false\n'
    opened = open_test_set(write_toml(folder.parent / "x.toml", text))
    assert (opened.dataset.name, opened.dataset.shifted) == ("tame", False)
    assert set(labelled(opened).values()) == {"pet"}
    assert len(opened.manifest) == 4
    assert opened.notes == ("tame: 1 images are left out because the mapping lacks their labels: fox",)
    inside = write_toml(folder / "test-set.toml", 'images = "."\n')
    assert (own_set(folder).name, own_set(inside).name) == ("pets", "pets")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('images = "pets"\nclases = "cifar-10"', "unknown key 'clases'; did you mean classes"),
        ('images = "pets"\nshifted = "no"', "shifted: must be true or false"),
        ('name = "x"', "the key 'images' is missing"),
        ('images = "pets', "not TOML"),
        ('images = "pets"\nclasses = "cifar-10"', "1 images have labels that the class list cifar-10 lacks: fox"),
        ('images = "pets"\nclasses = "imagenet-2k"', "no class list"),
        ('images = "pets"\nmapping = "cifar-10"', "has none of its labels, such as cat"),
        ('images = "nowhere"', "no such file or folder"),
        ('images = "t.csv"\nroot = "pets"\nlabel = "klass"', "no column 'klass'; did you mean class"),
        ('images = "t.csv"\nroot = "pets"', "1 of 2 images are missing or empty: cat/z.png; .*partial"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(folder: Path, text: str, message: str) -> None:
    (folder.parent / "t.csv").write_text("path,class\ncat/a.png,cat\ncat/z.png,cat\n")
    with pytest.raises(UserError, match=message):
        open_test_set(write_toml(folder.parent / "x.toml", text))


def test_a_split_of_a_data_set_is_a_test_set_or_a_training_set(folder: Path) -> None:
    (folder.parent / "t.csv").write_text("path,class,split\ncat/a.png,cat,one\nfox/d.png,fox,two\n")
    split = 'images = "t.csv"\nroot = "pets"\nsplit = '
    file = folder.parent / "x.toml"
    write_toml(file, f'name = "x"\nclasses = ["cat", "fox"]\n[train]\n{split}"one"\n[test]\n{split}"two"\n')
    assert labelled(open_test_set(file)) == {"fox/d.png": "fox"}
    assert own_set(file, "train").split == "one"
    write_toml(file, f'name = "x"\nclasses = ["cat", "dog"]\n[test]\n{split}"two"\n')
    with pytest.raises(UserError, match="1 images have labels that the class list lacks: fox"):
        open_test_set(file)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('images = "pets"\nmetric = "mean-per-class"', "metric"),
        ('images = "pets"\n[train]\nimages = "pets"', "train"),
        ('root = "pets"\n[test]\nimages = "pets"', "root"),
        ('task = "detection"\n[test]\nimages = "pets"', "detection"),
    ],
)
def test_keys_without_a_use_are_refused(folder: Path, text: str, key: str) -> None:
    with pytest.raises(UserError, match=f"x.toml: .*{key}"):
        open_test_set(write_toml(folder.parent / "x.toml", text))


def test_partial_takes_what_is_there(folder: Path) -> None:
    (folder.parent / "t.csv").write_text("path,class\ncat/a.png,cat\ncat/z.png,cat\n")
    assert len(open_test_set(OwnData(folder.parent / "t.csv", root=folder), partial=True).manifest) == 1


@pytest.mark.parametrize(("name", "separator"), [("t.csv", ","), ("t.tsv", "\t"), ("t.txt", ",")])
def test_a_table_is_read_by_split(folder: Path, name: str, separator: str) -> None:
    rows = [("path", "class", "split"), ("cat/a.png", "cat", "train"), ("cat/b.png", "cat", "test")]
    file = folder.parent / name
    file.write_text("".join(f"{separator.join(row)}\n" for row in rows))
    assert labelled(open_test_set(OwnData(file, root=folder, split="test"))) == {"cat/b.png": "cat"}
    with pytest.raises(UserError, match="no images of the split 'val'; available: test, train"):
        open_test_set(OwnData(file, root=folder, split="val"))


def test_a_list_of_paths_reports_missing_images(folder: Path) -> None:
    file = folder.parent / "list.txt"
    with pytest.raises(UserError, match=r"list\.txt: no such file"):
        open_test_set(OwnData(file, root=folder))
    file.write_text("cat/a.png cat\ncat/z.png cat\n")
    with pytest.raises(UserError, match="1 of 2 images are missing or empty: cat/z.png"):
        open_test_set(OwnData(file, root=folder))


def test_names_are_unique(folder: Path) -> None:
    opened = open_test_set(folder)
    with pytest.raises(UserError, match="two test sets are named 'pets'"):
        refuse_same_names([opened, opened], ["val"])
    with pytest.raises(UserError, match="'pets', like a published one"):
        refuse_same_names([opened], ["pets"])
    for name in ("a/b", "..", "group", "shared"):
        with pytest.raises(UserError, match="cannot be named"):
            own_set(OwnData(folder, name=name))

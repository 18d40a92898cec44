"""The manifest: the same rows for every backbone, with a hash of them."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from unseen.data.core.arrays import array_images
from unseen.data.core.folder import folder_images
from unseen.data.core.manifest import Manifest, drawn, whole
from unseen.data.core.source import Entry
from unseen.data.core.splits import ClassSplit, SplitRule, Splits, draw_splits
from unseen.errors import UserError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("n1/a.jpg", "n1/b.jpg", "n1/c,d.jpg", "n2/a.jpg", "n2/z.jpg", "n3/q.jpg"):
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / name).write_bytes(name.encode())
    return tmp_path / "images"


SPLITS = Splits({"n1": ClassSplit(("a.jpg", "c,d.jpg"), ("b.jpg",)), "n2": ClassSplit(("z.jpg",), ("a.jpg",))}, "given")


def test_rows_follow_the_images_and_the_splits(root: Path) -> None:
    manifest = drawn(folder_images(root), SPLITS)
    rows = [("n1/a.jpg", "n1", "train"), ("n1/b.jpg", "n1", "test"), ("n1/c,d.jpg", "n1", "train"),
            ("n2/a.jpg", "n2", "test"), ("n2/z.jpg", "n2", "train")]  # fmt: skip
    assert [(e.id, e.label, s) for e, s in zip(manifest.entries, manifest.splits, strict=True)] == rows
    text = "".join("\t".join(row) + "\n" for row in rows)
    assert manifest.content_hash == hashlib.sha256(text.encode()).hexdigest()
    assert len(manifest) == 5


def test_numbers_lead_to_the_images(root: Path) -> None:
    source = folder_images(root)
    manifest = drawn(source, SPLITS)
    train = manifest.numbers(source, "train")
    assert [source.read(number).decode() for number in train] == ["n1/a.jpg", "n1/c,d.jpg", "n2/z.jpg"]
    assert len(manifest.numbers(source)) == 5
    assert manifest.numbers(source, "validation") == []


def test_written_and_read(root: Path, tmp_path: Path) -> None:
    manifest = drawn(folder_images(root), SPLITS)
    manifest.write(tmp_path / "manifest.csv")
    again = Manifest.read(tmp_path / "manifest.csv")
    assert again.content_hash == manifest.content_hash
    assert (tmp_path / "manifest.csv").read_text().startswith("id,class,split\nn1/a.jpg,n1,train\n")


def test_the_hash_changes_with_any_cell_and_with_the_order() -> None:
    entries = [Entry("a", "x"), Entry("b", "x")]
    hashes = {
        Manifest(entries, ["train", "test"]).content_hash,
        Manifest(entries, ["test", "train"]).content_hash,
        Manifest(entries[::-1], ["test", "train"]).content_hash,
        Manifest([Entry("a", "y"), Entry("b", "x")], ["train", "test"]).content_hash,
        Manifest(entries[:1], ["train"]).content_hash,
    }
    assert len(hashes) == 5


def test_a_draw_and_its_manifest_agree(root: Path) -> None:
    source = folder_images(root)
    names = {"n1": ["a.jpg", "b.jpg", "c,d.jpg"], "n2": ["a.jpg", "z.jpg"]}
    splits = draw_splits(names.items(), names, source="x", rule=SplitRule(1, 1, 1))
    manifest = drawn(source, splits)
    assert sorted(manifest.splits) == ["test", "test", "train", "train"]


def test_a_whole_source() -> None:
    source = array_images(np.zeros((3, 2, 2), np.uint8), [0, 1, 1])
    manifest = whole(source, "test")
    assert list(manifest.splits) == ["test"] * 3
    assert manifest.numbers(source) == [0, 1, 2]


def test_images_that_are_missing_or_of_another_class_are_named(root: Path, tmp_path: Path) -> None:
    source = folder_images(root)
    more = Splits({"n1": ClassSplit(("a.jpg", "gone.jpg"), ("b.jpg",))}, "splits.npz")
    with pytest.raises(UserError, match=r"splits\.npz: gone\.jpg of n1 is in the splits but not among the images"):
        drawn(source, more)
    with pytest.raises(UserError, match=r"n9/a\.jpg: not among the images \(1 of 2 are not\)"):
        Manifest([Entry("n1/a.jpg", "n1"), Entry("n9/a.jpg", "n9")], ["train"] * 2).numbers(source)
    with pytest.raises(UserError, match=r"n1/a\.jpg is of class n2 in the manifest, but n1 in the images"):
        Manifest([Entry("n1/a.jpg", "n2")], ["train"]).numbers(source)
    for text, reason in (
        ("a,x,train\na,x,test", "line 3: a occurs twice"),
        ("a,,train", "line 2: a "),
        ("", "no im"),
    ):
        (tmp_path / "m.csv").write_text(f"id,class,split\n{text}\n")
        with pytest.raises(UserError, match=reason):
            Manifest.read(tmp_path / "m.csv")

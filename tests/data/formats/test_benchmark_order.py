"""The order of TensorFlow Datasets against image names that are published in it, and cuts of it."""

import hashlib
from pathlib import Path

import pytest
from dataset_trees import cifar100, class_folders

from unseen.data.core.rows import Listing, Row
from unseen.data.formats.benchmark_order import (
    AUTHORS,
    by_number,
    divided,
    drawn,
    first_images,
    hashed_order,
    held_out,
)
from unseen.data.sets.cifar100 import DATASET as CIFAR100
from unseen.data.sets.resisc45 import read


def test_the_first_images_of_cifar_are_those_that_documentation_prints() -> None:
    # The ids of the first batch of `tfds.load("cifar10", split="train")`; keys are numbers without leading zeros.
    printed = [16399, 1680, 47917, 17307, 27051, 48736, 26263, 1456]
    assert hashed_order("train", [str(number) for number in range(50_000)])[:8] == printed


def test_cuts_against_plain_slices(tmp_path: Path) -> None:
    cifar100(tmp_path)
    layout = CIFAR100.layouts[0]
    listing = divided(layout.read(tmp_path / layout.folder), held_out(10), by_number)
    plain = {
        split: sorted(range(count), key=lambda number: hashlib.md5(f"{split}{number}".encode()).hexdigest())
        for split, count in (("train", 20), ("test", 4))
    }
    expected = [(f"train/{n:08d}", "train") for n in plain["train"][:18]]
    expected += [(f"train/{n:08d}", "val") for n in plain["train"][18:]]
    expected += [(f"test/{n:08d}", "test") for n in plain["test"]]
    assert [(row.id, row.part) for row in listing.rows] == expected
    source = listing.open()
    assert [(entry.id, entry.label) for entry in source.entries] == [(row.id, row.label) for row in listing.rows]
    before = layout.read(tmp_path / layout.folder).open()
    place = [row.id for row in listing.rows].index("train/00000007")
    assert (source.read(place) == before.read(7)).all()


def test_files_of_classes_are_ordered_by_class_and_name(tmp_path: Path) -> None:
    names = {name: [f"{name}_{number:03d}.jpg" for number in range(1, 11)] for name in ("airplane", "wetland")}
    class_folders(tmp_path, "NWPU-RESISC45", names)
    rows = read(tmp_path / "NWPU-RESISC45").rows
    keys = sorted(
        (f"{name}_{file}" for name, files in names.items() for file in files),
        key=lambda key: hashlib.md5(f"train{key}".encode()).hexdigest(),
    )
    assert [row.id.replace("/", "_") for row in rows] == keys
    assert [row.part for row in rows] == ["train"] * 12 + ["val"] * 4 + ["test"] * 4


def test_first_images_and_parts_of_authors() -> None:
    rows = [Row(f"{part}/{number:08d}", "a", part) for part in ("train", "val", "test") for number in range(5)]
    listing = Listing(rows, lambda: pytest.fail("not opened"), ["gone.jpg"])
    found = first_images(divided(listing, AUTHORS, by_number), {"train": 2, "val": 1})
    assert [row.part for row in found.rows] == ["train"] * 2 + ["val"] + ["test"] * 5
    assert found.missing == ["gone.jpg"]
    assert first_images(listing, {"train": 0}).rows[0].part == "val"
    assert [len(drawn(60, 20)[part].of(range(27_000))) for part in ("train", "val", "test")] == [16_200, 5400, 5400]

"""The opened form that data sets of every kind share."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shift_trees import SYNSETS, folders

from unseen.data.concepts.domains import seen_domain
from unseen.data.core.arrays import array_images
from unseen.data.core.folder import folder_images
from unseen.data.core.limit import limited
from unseen.data.core.manifest import whole
from unseen.data.core.open_dataset import OpenDataset, examine, open_dataset
from unseen.data.registry import DATASETS, get_dataset
from unseen.errors import UserError


def shifted(root: Path) -> OpenDataset:
    folders(root / "imagenet-r", SYNSETS)
    return open_dataset(DATASETS["imagenet-r"], root, partial=True)


def domain(root: Path) -> OpenDataset:
    sources = [folder_images(folders(root / side, SYNSETS, images)) for side, images in (("train", 3), ("val", 2))]
    return seen_domain(sources[0], sources[1], None, "here")


@pytest.mark.parametrize("kind", ["classes", "map", "shifted", "domain"])
def test_it_can_be_sent_to_other_processes_without_its_layouts(tmp_path: Path, kind: str) -> None:
    if kind in {"classes", "map"}:
        opened = open_dataset(get_dataset("digits") if kind == "classes" else DATASETS["scenes-seen"], None)
    else:
        opened = shifted(tmp_path) if kind == "shifted" else domain(tmp_path)
    classes, rows = opened.classes, opened.rows
    again: OpenDataset = pickle.loads(pickle.dumps(opened))
    assert again.dataset == replace(opened.dataset, layouts=())
    assert (again.classes, again.rows) == (classes, rows)
    for split in rows:
        source, manifest = opened.part(split)
        there = again.part(split)
        assert there[1].content_hash == manifest.content_hash
        number = manifest.numbers(source, split)[-1]
        assert np.array_equal(there[0].read(number), source.read(number))
    if kind == "map":
        assert np.array_equal(again.labels(7), opened.labels(7))


def test_splits_with_a_source_of_their_own(tmp_path: Path) -> None:
    opened = domain(tmp_path)
    assert opened.rows == {"train": 15, "test": 10}
    assert opened.classes == SYNSETS
    (trained, learned), (tested, scored) = opened.part("train"), opened.part("test")
    assert (len(trained.entries), {*learned.splits}) == (15, {"train"})
    assert (len(tested.entries), {*scored.splits}) == (10, {"test"})
    assert opened.images == [(trained, learned), (tested, scored)]


def test_a_limit_holds_for_splits_with_a_source_of_their_own() -> None:
    train, test = (array_images(np.zeros((9, 2, 2, 3), np.uint8), [*"abcabcabc"]) for _ in range(2))
    opened = OpenDataset(DATASETS["digits"], train, whole(train, "train"), apart={"test": (test, whole(test, "test"))})
    assert opened.joined[1].splits == ["train"] * 9 + ["test"] * 9
    part = limited(opened, 2)
    assert part.rows == {"train": 6, "test": 6}
    source, manifest = part.joined
    assert len(source.entries) == 18
    assert [len(manifest.numbers(source, split)) for split in ("train", "test")] == [6, 6]
    assert manifest.limit == 2
    assert limited(opened, 3) is opened


def test_classes_are_those_of_the_labels_or_of_the_data_set() -> None:
    digits = open_dataset(get_dataset("digits"), None)
    assert digits.classes == tuple("0123456789")
    assert digits.part("val") == digits.part("test") == (digits.source, digits.manifest)
    scenes = open_dataset(DATASETS["scenes-seen"], None)
    assert scenes.classes == DATASETS["scenes-seen"].names
    with pytest.raises(ValueError, match="digits has neither boxes nor maps"):
        digits.labels(0)


@pytest.mark.parametrize("name", ["imagenet-c.fog.3_on-disk", "cinic-10"])
def test_of_several_copies_the_complete_one_is_taken(tmp_path: Path, name: str) -> None:
    labels = SYNSETS if name.startswith("imagenet") else ("airplane", "bird", "cat", "deer", "dog")
    small = replace(DATASETS[name], counts={"test": 10}, classes=5)
    first, second = (tmp_path / layout.folder for layout in small.layouts)
    folders(first, labels, images=3)
    with pytest.raises(UserError, match=r"15 test images where 10 are expected.*score what is there \(partial\)"):
        open_dataset(small, tmp_path)
    folders(second, labels, images=2)
    assert examine(small, tmp_path).place == second
    assert len(open_dataset(small, tmp_path).manifest) == 10

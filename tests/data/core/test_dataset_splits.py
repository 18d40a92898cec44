"""Splits that are drawn: how many, the same everywhere, and what cannot be split."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import dataset_trees as trees
import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from unseen.data.core.arrays import array_images
from unseen.data.core.limit import limited
from unseen.data.core.manifest import Manifest
from unseen.data.core.multi_label import shown_classes
from unseen.data.core.open_dataset import OpenDataset, open_dataset
from unseen.data.core.rows import Row
from unseen.data.core.split_rules import split_rows
from unseen.data.registry import DATASETS, task_sets
from unseen.errors import UserError


def rows_of(sizes: list[int], part: str) -> list[Row]:
    return [
        Row(f"{name:03d}/{image}.jpg", f"{name:03d}", part) for name, size in enumerate(sizes) for image in range(size)
    ]


def uneven(total: int, classes: int) -> list[int]:
    """Sizes of classes that differ by chance, but not by much, and add up."""
    rng = random.Random(0)
    sizes = [total // classes] * classes
    for _ in range(total - sum(sizes)):
        sizes[rng.randrange(classes)] += 1
    return sizes


@pytest.mark.parametrize("name", [name for name, d in task_sets().items() if d.validation == "fifth"])
def test_a_fifth_of_the_training_images_validates(name: str) -> None:
    counts, dataset = DATASETS[name].counts, DATASETS[name]
    assert counts["val"] == (counts["train"] + counts["val"]) // 5
    if dataset.test == "beyond-30":
        assert counts["train"] + counts["val"] == 30 * dataset.classes


@pytest.mark.parametrize("name", ["caltech101", "cars", "pets", "sun397", "digits", "eurosat-split", "stl10"])
def test_expected_counts_follow_from_the_rules(name: str) -> None:
    """The counts that metadata state, from uneven classes of the true number and total."""
    dataset = DATASETS[name]
    rows = [
        row._replace(id=f"{part}/{row.id}")
        for part, total in dataset.parts.items()
        for row in rows_of(uneven(total, dataset.classes), part)
    ]
    split = split_rows(rows, dataset.test, dataset.validation, 0, name)
    assert Counter(row.part for row in split) == dataset.counts
    assert [row[:2] for row in split] == [row[:2] for row in rows]


@given(st.lists(st.integers(5, 60), min_size=1, max_size=12), st.integers(0, 5))
@examples(60)
def test_a_fifth_is_a_fifth_of_all_and_of_each(sizes: list[int], seed: int) -> None:
    split = split_rows(rows_of(sizes, "train"), "author", "fifth", seed, "x")
    held = Counter(row.label for row in split if row.part == "val")
    assert held.total() == sum(sizes) // 5
    assert all(size // 5 <= held[f"{name:03d}"] <= size // 5 + 1 for name, size in enumerate(sizes))
    assert all(held[f"{name:03d}"] == size // 5 for name, size in enumerate(sizes) if size % 5 == 0)


def test_a_draw_depends_on_the_seed_and_on_nothing_else() -> None:
    rows = rows_of([40, 35], "all")
    drawn = {seed: set(split_rows(rows, "beyond-30", "fifth", seed, "x")) for seed in (0, 1)}
    mixed = random.Random(1).sample(rows, len(rows))
    assert set(split_rows(mixed, "beyond-30", "fifth", 0, "x")) == drawn[0] != drawn[1]
    alone = split_rows(rows[:40], "beyond-30", "fifth", 0, "x")
    assert set(alone) == {row for row in drawn[0] if row.label == "000"}


def test_a_known_draw() -> None:
    """SHA-256 of `seed/class/id`, smallest first, computed with another program:
    `for i in 0 1 2 3 4; do printf %s "0/000/000/$i.jpg" | sha256sum; done`.
    """
    split = split_rows(rows_of([5], "train"), "author", "fifth", 0, "x")
    assert [row.id for row in split if row.part == "val"] == ["000/0.jpg"]


def test_classes_that_cannot_be_split() -> None:
    with pytest.raises(UserError, match="set: 001 has 30 images, but 30 are drawn"):
        split_rows(rows_of([31, 30], "all"), "beyond-30", "fifth", 0, "set")
    with pytest.raises(UserError, match="set: 000 has 2 training images, too few to hold out a fifth"):
        split_rows(rows_of([2, 50], "train"), "author", "fifth", 0, "set")


def test_a_class_without_validation_images(tmp_path: Path) -> None:
    trees.dtd(tmp_path)
    trees.write(tmp_path / "dtd/dtd/labels/val1.txt", "banded/banded_0005.jpg\n")
    dtd = replace(DATASETS["dtd"], classes=2, counts={"train": 2, "val": 1, "test": 2})
    with pytest.raises(UserError, match="dtd: no validation image of zigzagged; complete the data set: Oxford"):
        open_dataset(dtd, tmp_path)


def test_a_class_that_is_only_difficult_where_it_should_test(tmp_path: Path) -> None:
    trees.voc2007(tmp_path)
    file = tmp_path / "VOCdevkit/VOC2007/ImageSets/Main/cow_test.txt"
    file.write_text(file.read_text().replace(" 1\n", " 0\n"))
    with pytest.raises(UserError, match="voc2007: no test image of cow;"):
        open_dataset(DATASETS["voc2007"], tmp_path, partial=True)


def test_a_class_that_every_training_image_shows(tmp_path: Path) -> None:
    trees.voc2007(tmp_path)
    file = tmp_path / "VOCdevkit/VOC2007/ImageSets/Main/cow_train.txt"
    file.write_text(file.read_text().replace(" -1\n", "  1\n"))
    with pytest.raises(UserError, match="voc2007: every training image shows cow; images without it are needed"):
        open_dataset(DATASETS["voc2007"], tmp_path, partial=True)


def test_one_class_is_not_enough(tmp_path: Path) -> None:
    trees.class_folders(tmp_path, "eurosat/2750", {"Forest": ["a.jpg", "b.jpg"]})
    one = replace(DATASETS["eurosat"], classes=1, counts={"all": 2})
    with pytest.raises(UserError, match=r"eurosat: all images are of one class \(Forest\); at least two are needed"):
        open_dataset(one, tmp_path)


def test_the_seed_of_a_draw_is_known(tmp_path: Path) -> None:
    trees.pets(tmp_path)
    trees.dtd(tmp_path)
    found = [open_dataset(DATASETS["pets"], tmp_path, seed=seed, partial=True) for seed in (0, 0, 1, 2)]
    assert [opened.source.about["split seed"] for opened in found] == ["0", "0", "1", "2"]
    assert found[0].manifest.content_hash == found[1].manifest.content_hash
    # Of 6 images of each of two breeds one validates: the draws of these seeds are not all the same.
    assert len({opened.manifest.content_hash for opened in found}) > 1
    authors = [open_dataset(DATASETS["dtd"], tmp_path, seed=seed, partial=True) for seed in (0, 1)]
    assert authors[0].manifest.content_hash == authors[1].manifest.content_hash
    assert {opened.source.about["split seed"] for opened in authors} == {"none, as the authors' splits are taken"}


def opened_as(name: str, labels: Sequence[str], splits: Sequence[str]) -> OpenDataset:
    ids = [f"{number:03d}" for number in range(len(labels))]
    source = array_images(np.zeros((len(labels), 2, 2, 3), np.uint8), labels, ids)
    return OpenDataset(DATASETS[name], source, Manifest(source.entries, list(splits)))


def test_a_part_for_a_quick_look() -> None:
    labels = [f"{number % 3}" for number in range(60)]
    whole = opened_as("digits", labels, ["train"] * 45 + ["test"] * 15)
    part = limited(whole, 4)
    counts = Counter(zip((entry.label for entry in part.manifest.entries), part.manifest.splits, strict=True))
    assert counts == {(label, split): 4 for label in "012" for split in ("train", "test")}
    assert part.manifest.limit == 4
    assert part.manifest.content_hash != whole.manifest.content_hash
    ids = [entry.id for entry in part.manifest.entries]
    assert ids == sorted(ids)  # in the order of the source
    assert set(ids) < {entry.id for entry in limited(whole, 5).manifest.entries}
    assert limited(whole, 15) is whole  # one that has no more images is whole
    with pytest.raises(UserError, match="at least 1"):
        limited(whole, 0)


def test_a_part_of_images_that_show_several_classes() -> None:
    labels = ["dog", "cat+dog", "cat", "cat?+dog", "cow", "none"] * 5
    part = limited(opened_as("voc2007", labels, ["train"] * 30), 3)
    shown = Counter(name for entry in part.manifest.entries for name in shown_classes(entry.label))
    assert shown["cow"] == 3
    assert all(shown[name] >= 3 for name in ("cat", "dog"))
    assert len(part.manifest) < 12

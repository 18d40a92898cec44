"""The tasks of VTAB-1k from lists of images and from the original files."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import benchmark_trees
import dataset_trees as trees
import pytest
from benchmark_trees import vtab_lists as lists

from unseen.data.core.dataset import Dataset
from unseen.data.core.open_dataset import examine, open_dataset
from unseen.data.registry import DATASETS, task_sets
from unseen.data.sets.vtab_1k import TASKS
from unseen.errors import UserError

VTAB = [each for each in task_sets().values() if each.name.startswith("vtab-1k-")]
CLASSES = {
    "caltech101": 102, "cifar100": 100, "dtd": 47, "flowers": 102, "pets": 37, "svhn": 10, "sun397": 397,
    "patch-camelyon": 2, "eurosat": 10, "resisc45": 45, "diabetic-retinopathy": 5, "clevr-count": 8,
    "clevr-distance": 6, "dmlab": 6, "kitti-distance": 4, "dsprites-location": 16, "dsprites-orientation": 16,
    "smallnorb-azimuth": 18, "smallnorb-elevation": 9,
}  # fmt: skip
"""Classes of the 19 tasks, as the benchmark prints them."""


def tiny(name: str, train: int, val: int, test: int, classes: int = 3) -> Dataset:
    return replace(DATASETS[name], counts={"train": train, "val": val, "test": test}, classes=classes)


def test_the_tasks() -> None:
    assert {each.sample_of: each.classes for each in VTAB} == CLASSES
    assert [each.counts["train"] + each.counts["val"] for each in VTAB] == [1000] * 19
    assert {each.metric for each in VTAB} == {"top1"}
    assert all(each.gaps and each.counts["test"] > 700 for each in VTAB)
    assert [each.full.name for each in TASKS if not each.original] == ["caltech101", "sun397", "diabetic-retinopathy"]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.folder)
def test_every_task_from_lists(task: object, tmp_path: Path) -> None:
    name = f"vtab-1k-{task.full.name}"  # type: ignore[attr-defined]
    lists(tmp_path, task.folder, {"train": [0, 1, 1], "val": [1], "test": [0, 1]})  # type: ignore[attr-defined]
    data = open_dataset(tiny(name, 3, 1, 2, classes=2), tmp_path)
    assert Counter(data.manifest.splits) == {"train": 3, "val": 1, "test": 2}
    assert data.manifest.entries[1].id == "images/train/000001.jpg"
    assert [int(entry.label) for entry in data.manifest.entries] == [0, 1, 1, 1, 0, 1]


def test_a_class_that_only_test_images_have_stays(tmp_path: Path) -> None:
    lists(tmp_path, "sun397", {"train": [0, 1], "val": [1], "test": [0, 396, 1]})
    data = open_dataset(tiny("vtab-1k-sun397", 2, 1, 3), tmp_path)
    assert data.classes == ("000", "001", "396")
    with pytest.raises(UserError, match="no training image of 396"):
        open_dataset(replace(data.dataset, layouts=DATASETS["vtab-1k-sun397"].layouts, gaps=False), tmp_path)


@pytest.mark.parametrize(
    ("file", "line", "reason"),
    [
        ("train800.txt", "images/train/000000.jpg 47", "line 4: class 47; expected 0 to 46"),
        ("train800.txt", "images/train/000000.jpg", "line 4: expected an image and its class"),
        ("train800.txt", "images/train/000000.jpg -1", "line 4: expected an image and its class"),
        ("test.txt", "images/test/gone.jpg 1", "1 of 7 images are missing or empty; the first is images/test/gone.jpg"),
        ("test.txt", "../../../secret.jpg 1", "not an image below it"),
        ("train800val200.txt", "images/test/000000.jpg 0", "lists other images or labels than train800.txt and val200"),
        ("test.txt", "images/train/000000.jpg 0", "images/train/000000.jpg occurs twice"),
    ],
)
def test_lists_at_fault(file: str, line: str, reason: str, tmp_path: Path) -> None:
    place = lists(tmp_path, "dtd", {"train": [0, 1, 2], "val": [1], "test": [0, 1]})
    data = tiny("vtab-1k-dtd", 3, 1, 3 if "test" in file else 2)
    trees.write(place / file, (place / file).read_text() + line + "\n")
    with pytest.raises(UserError, match=reason) as caught:
        open_dataset(data, tmp_path)
    assert "\n" not in str(caught.value)


def test_where_a_task_is_expected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected vtab-1k/svhn or svhn below .*train_32x32.mat"):
        open_dataset(DATASETS["vtab-1k-svhn"], tmp_path)
    with pytest.raises(UserError, match="expected vtab-1k/sun397 below .* to get it: a copy of VTAB-1k with train800"):
        open_dataset(DATASETS["vtab-1k-sun397"], tmp_path)
    lists(tmp_path, "svhn", {"train": [0, 1], "val": [1], "test": [0, 1]})
    assert examine(DATASETS["vtab-1k-svhn"], tmp_path).reason == "2 training images where 800 are expected"


@pytest.mark.parametrize(
    ("name", "make", "counts", "classes"),
    [
        ("cifar100", trees.cifar100, (18, 2, 4), 2),
        ("dtd", trees.dtd, (2, 2, 2), 2),
        ("flowers", trees.flowers, (2, 2, 4), 2),
        ("pets", trees.pets, (9, 3, 4), 2),
        ("svhn", benchmark_trees.svhn, (18, 2, 4), 2),
        ("patch-camelyon", benchmark_trees.patch_camelyon, (4, 2, 2), 2),
        ("eurosat", trees.eurosat, (3, 1, 2), 2),
        ("resisc45", benchmark_trees.resisc45, (48, 16, 16), 2),
        ("dmlab", benchmark_trees.dmlab, (4, 2, 2), 2),
        ("kitti-distance", benchmark_trees.kitti, (32, 4, 4), 4),
        ("dsprites-location", benchmark_trees.dsprites, (128, 16, 16), 16),
        ("smallnorb-elevation", benchmark_trees.smallnorb, (36, 36, 36), 9),
    ],
)
def test_tasks_from_the_original_files(
    name: str, make: object, counts: tuple[int, int, int], classes: int, tmp_path: Path
) -> None:
    make(tmp_path)  # type: ignore[operator]
    data = open_dataset(tiny(f"vtab-1k-{name}", *counts, classes=classes), tmp_path)
    assert Counter(data.manifest.splits) == dict(zip(("train", "val", "test"), counts, strict=True))
    assert all(len(data.source.read(number)) for number in range(len(data.manifest)))


def test_the_first_images_of_the_benchmark(tmp_path: Path) -> None:
    benchmark_trees.smallnorb(tmp_path, train=1000, test=600)
    data = open_dataset(tiny("vtab-1k-smallnorb-azimuth", 800, 200, 300, classes=18), tmp_path)
    full = open_dataset(
        replace(DATASETS["smallnorb-azimuth"], counts={"train": 1000, "val": 300, "test": 300}, gaps=True), tmp_path
    )
    for part, most in (("train", 800), ("val", 200), ("test", 300)):
        assert [data.source.entries[n].id for n in data.numbers(part)] == [
            full.source.entries[n].id for n in full.numbers(part)[:most]
        ]

"""Every data set, from a tiny copy in its true format, against readers of other people's where there are any."""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dataset_trees as trees
import numpy as np
import pytest

from unseen.data.core.dataset import Dataset
from unseen.data.core.multi_label import targets
from unseen.data.core.open_dataset import OpenDataset, examine, open_dataset
from unseen.data.registry import DATASETS, get_dataset, task_sets
from unseen.data.sets.fashion_mnist import DEBIAN
from unseen.errors import UserError

SPLIT = {
    "aircraft": {"train": 2, "val": 2, "test": 2},
    "caltech101": {"train": 72, "val": 18, "test": 10},
    "cars": {"train": 10, "val": 2, "test": 4},
    "cifar10": {"train": 16, "val": 4, "test": 4},
    "cifar100": {"train": 16, "val": 4, "test": 4},
    "dtd": {"train": 2, "val": 2, "test": 2},
    "flowers": {"train": 2, "val": 2, "test": 4},
    "food101": {"train": 10, "val": 2, "test": 4},
    "pets": {"train": 10, "val": 2, "test": 4},
    "sun397": {"train": 8, "val": 2, "test": 4},
    "voc2007": {"train": 22, "val": 22, "test": 22},
    "cropdiseases": {"all": 3},
    "eurosat": {"all": 6},
    "isic": {"all": 2},
    "chestx": {"all": 2},
    "fashion-mnist": {"train": 16, "val": 4, "test": 4},
}
TREES = {name: getattr(trees, name.replace("-", "_")) for name in SPLIT}


def tiny(name: str) -> Dataset:
    """The data set as if the tiny copy were all of it."""
    classes = {"voc2007": 20, "caltech101": 3}.get(name, 2)
    return replace(DATASETS[name], classes=classes, counts=SPLIT[name])


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[str], OpenDataset]:
    def make(name: str) -> OpenDataset:
        TREES[name](tmp_path)
        return open_dataset(tiny(name), tmp_path)

    return make


def rows(data: OpenDataset, *parts: str) -> list[tuple[str, str]]:
    pairs = zip(data.manifest.entries, data.manifest.splits, strict=True)
    return [(entry.id, entry.label) for entry, part in pairs if part in parts]


@pytest.mark.parametrize("name", SPLIT)
def test_every_reader(name: str, opened: Callable[[str], OpenDataset], tmp_path: Path) -> None:
    data = opened(name)
    assert Counter(data.manifest.splits) == SPLIT[name]
    assert len(data.classes) == data.dataset.classes
    assert all(len(data.source.read(number)) for number in range(len(data.manifest)))
    assert examine(tiny(name), tmp_path).state == "complete"
    assert examine(trees.without_packages(DATASETS[name]), tmp_path).state == "partial"
    with pytest.raises(UserError, match=f"^{name}: .* is incomplete: .* where .* expected; to get it"):
        open_dataset(trees.without_packages(DATASETS[name]), tmp_path)


def torchvision_rows(data: Any, base: Path, files: list[str]) -> list[tuple[str, str]]:
    """(path below the base, class) of torchvision's images, which it keeps under several names."""
    return [(os.path.relpath(file, base), data.classes[label]) for file, label in zip(files, data._labels, strict=True)]


def test_aircraft_as_torchvision_reads_it(opened: Callable[[str], OpenDataset], tmp_path: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    ours = opened("aircraft")
    for part in ("train", "val", "test"):
        theirs = datasets.FGVCAircraft(tmp_path, split=part)
        base = tmp_path / "fgvc-aircraft-2013b"
        assert rows(ours, part) == torchvision_rows(theirs, base, theirs._image_files)


def test_dtd_as_torchvision_reads_it(opened: Callable[[str], OpenDataset], tmp_path: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    ours = opened("dtd")
    for part in ("train", "val", "test"):
        theirs = datasets.DTD(tmp_path, split=part, partition=1)
        assert rows(ours, part) == torchvision_rows(theirs, tmp_path / "dtd/dtd", theirs._image_files)


@pytest.mark.parametrize(
    ("name", "kind", "folder"), [("food101", "Food101", "food-101"), ("pets", "OxfordIIITPet", "oxford-iiit-pet")]
)
def test_training_and_test_as_torchvision_reads_them(
    name: str, kind: str, folder: str, opened: Callable[[str], OpenDataset], tmp_path: Path
) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    ours = opened(name)
    for parts, split in ((("train", "val"), "trainval" if name == "pets" else "train"), (("test",), "test")):
        theirs = getattr(datasets, kind)(tmp_path, split=split)
        files = theirs._images if name == "pets" else theirs._image_files
        expected = torchvision_rows(theirs, tmp_path / folder, files)
        found = [
            (id_, label.replace("_", " ").title() if name == "pets" else label) for id_, label in rows(ours, *parts)
        ]
        assert sorted(found) == sorted(expected)


def test_cars_as_torchvision_reads_them(opened: Callable[[str], OpenDataset], tmp_path: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    ours = opened("cars")
    base = tmp_path / "stanford_cars"
    for parts, split in ((("train", "val"), "train"), (("test",), "test")):
        theirs = datasets.StanfordCars(tmp_path, split=split)
        assert rows(ours, *parts) == [(os.path.relpath(f, base), theirs.classes[y]) for f, y in theirs._samples]


def test_flowers_as_scipy_reads_them(opened: Callable[[str], OpenDataset], tmp_path: Path) -> None:
    loadmat = pytest.importorskip("scipy.io").loadmat
    ours = opened("flowers")
    labels = loadmat(tmp_path / "flowers-102/imagelabels.mat")["labels"][0]
    parts = loadmat(tmp_path / "flowers-102/setid.mat")
    for part, name in (("train", "trnid"), ("val", "valid"), ("test", "tstid")):
        assert rows(ours, part) == [(f"jpg/image_{i:05d}.jpg", f"{labels[i - 1]:03d}") for i in parts[name][0]]


def test_caltech_has_its_background_and_thirty_a_class(opened: Callable[[str], OpenDataset]) -> None:
    data = opened("caltech101")
    assert "BACKGROUND_Google" in data.classes
    pairs = zip(data.manifest.splits, (entry.label for entry in data.manifest.entries), strict=True)
    counts = Counter(pairs)
    for name in data.classes:
        assert (counts["train", name], counts["val", name]) == (24, 6)
    assert [counts["test", name] for name in ("BACKGROUND_Google", "Faces", "accordion")] == [6, 1, 3]


def test_scenes_have_their_surroundings_in_their_names(opened: Callable[[str], OpenDataset]) -> None:
    data = opened("sun397")
    assert data.classes == ("abbey", "apartment_building/outdoor")
    assert data.manifest.entries[0].id == "a/abbey/sun_training_010.jpg"


def test_voc_targets(opened: Callable[[str], OpenDataset]) -> None:
    data = opened("voc2007")
    assert data.classes == tuple(trees.VOC_CLASSES)  # which happen to be in alphabetical order
    found = targets([entry.label for entry in data.manifest.entries], data.classes)
    marks = [marks for part in trees.voc_marks().values() for marks in part.values()]
    for kind, mark in ((found.positives, 1), (found.ignored, 0)):
        expected = [[of.get(name) == mark for name in trees.VOC_CLASSES] for of in marks]
        assert kind.tolist() == expected
    assert data.manifest.entries[20].label == "chair?+dog"


@pytest.mark.parametrize("tree", [trees.cifar10, trees.cifar10_binary])
def test_cifar_is_the_same_wherever_it_comes_from(tree: Callable[[Path], None], tmp_path: Path) -> None:
    tree(tmp_path)
    data = open_dataset(tiny("cifar10"), tmp_path)
    ids = [f"{part}/{number:08d}" for part, count in (("train", 20), ("test", 4)) for number in range(count)]
    assert [(e.id, e.label) for e in data.source.entries] == list(
        zip(ids, ["airplane", "automobile"] * 12, strict=True)
    )
    third, _ = trees.cifar_batch(seed=2, count=4, classes=2)
    red_green_blue = third[1].reshape(3, 32, 32)
    image = data.source.read(9)
    assert isinstance(image, np.ndarray)
    assert image.shape == (32, 32, 3)
    assert all(np.array_equal(image[:, :, channel], red_green_blue[channel]) for channel in range(3))


@pytest.mark.parametrize(("folder", "suffix"), [("FashionMNIST/raw", ""), ("fashion-mnist", ".gz")])
def test_fashion_mnist_packed_or_not(folder: str, suffix: str, tmp_path: Path) -> None:
    trees.fashion_mnist(tmp_path, folder, suffix)
    data = open_dataset(tiny("fashion-mnist"), tmp_path)
    assert data.classes == ("Ankle boot", "T-shirt/top")
    assert np.array_equal(data.source.read(21), trees.fashion_pixels(4)[1])


def test_digits_as_scikit_learn_reads_them() -> None:
    load_digits = pytest.importorskip("sklearn.datasets").load_digits
    theirs, ours = load_digits(), open_dataset(get_dataset("digits"), None)
    assert [entry.label for entry in ours.source.entries] == [str(digit) for digit in theirs.target]
    for number in (0, 7, 1796):
        assert np.abs(ours.source.read(number) / 255 * 16 - theirs.images[number]).max() < 0.04
    assert Counter(ours.manifest.splits) == ours.dataset.counts


def test_drawings_are_those_of_the_demo() -> None:
    from unseen.data.concepts.drawing_levels import drawings
    from unseen.data.concepts.drawings import concepts

    ours = open_dataset(get_dataset("drawings"), None)
    assert Counter(ours.manifest.splits) == ours.dataset.counts
    wnid = next(wnid for wnid, name in concepts().items() if name == "cat")
    for part, parts in (("train", {"train", "val"}), ("test", {"test"})):
        numbers = [
            n for n, e in enumerate(ours.source.entries) if e.label == "cat" and ours.manifest.splits[n] in parts
        ]
        pixels, _ = drawings([wnid], part)
        assert np.array_equal(np.stack([ours.source.read(number) for number in numbers]), pixels)


def test_the_true_package_of_fashion_mnist() -> None:
    if not DEBIAN.is_dir():
        pytest.skip("needs Debian's dataset-fashion-mnist")
    data = open_dataset(get_dataset("fashion-mnist"), None)
    assert [entry.label for entry in data.source.entries[:4]] == ["Ankle boot", "T-shirt/top", "T-shirt/top", "Dress"]
    assert Counter(data.manifest.splits) == data.dataset.counts


def test_names() -> None:
    assert len(task_sets()) >= 18
    assert sum(dataset.in_paper for dataset in task_sets().values()) == 15
    with pytest.raises(UserError, match="no data set 'cifar'; did you mean cifar10"):
        get_dataset("cifar")
    assert sum(dataset.few_shot == "kornblith" for dataset in task_sets().values()) == 10
    assert [name for name, dataset in task_sets().items() if dataset.in_paper and dataset.validation == "author"] == [
        *("aircraft", "dtd", "flowers", "voc2007")
    ]
    assert [n for n, dataset in task_sets().items() if dataset.metric == "mean-per-class"] == [
        *("aircraft", "caltech101", "flowers", "pets")
    ]

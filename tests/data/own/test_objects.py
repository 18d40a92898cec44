"""Data sets that are objects in Python."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hub_trees import SEVERAL, write_pets, write_repository
from picture_files import jpeg, picture
from torch.utils.data import Subset

import unseen
from unseen.data.core.entries import EntryTable
from unseen.data.own.description import describe
from unseen.data.own.objects import open_object
from unseen.data.own.open_own import open_own
from unseen.data.sources.python_sets import ColumnImages
from unseen.data.sources.torchvision_sets import item_labels
from unseen.errors import UserError


class Pictures:
    """Items as in torchvision, which count how often an image was made."""

    def __init__(self, first: int, count: int, kind: str = "picture", **about: Any) -> None:
        self.first, self.count, self.kind, self.made = first, count, kind, 0
        self.classes = ["cat", "dog"]
        vars(self).update(about)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> tuple[Any, int]:
        if number >= self.count:
            raise IndexError
        self.made += 1
        image: Any = picture(self.first + number)
        if self.kind == "array":
            image = np.array(image)
        if self.kind == "tensor":
            image = torch.from_numpy(np.array(image)).permute(2, 0, 1)
        return image, number % 2


def two(count: int = 10, kind: str = "picture", **about: Any) -> dict[str, Pictures]:
    return {"train": Pictures(0, count, kind, **about), "test": Pictures(50, count, kind, **about)}


@pytest.mark.parametrize("kind", ["picture", "array", "tensor"])
def test_items_of_any_kind_are_the_same_images(kind: str) -> None:
    data = open_object(two(kind=kind, targets=[0, 1] * 5))
    assert (data.name, data.classes) == ("pictures", ("cat", "dog"))
    assert Counter(data.manifest.splits) == {"train": 8, "val": 2, "test": 10}
    np.testing.assert_array_equal(data.source.read(3), np.array(picture(3)))


@pytest.mark.parametrize("name", ["targets", "labels", "samples"])
def test_labels_are_found_without_images(name: str) -> None:
    from unseen.data.sources.python_sets import images_of

    values = [("x.jpg", number % 2) for number in range(10)] if name == "samples" else [0, 1] * 5
    items = Pictures(0, 10, **{name: values})
    assert [entry.label for entry in images_of(items, "x").entries][:3] == ["cat", "dog", "cat"]
    part = images_of(Subset(items, [3, 2]), "x")  # type: ignore[arg-type]
    assert [entry.label for entry in part.entries] == ["dog", "cat"]
    assert items.made == 0
    np.testing.assert_array_equal(part.read(0), np.array(picture(3)))
    assert [entry.label for entry in images_of(Pictures(0, 2), "x").entries] == ["cat", "dog"]


def test_names_and_splits() -> None:
    assert open_object(two(), "mine").name == "mine"
    assert Counter(open_object(Pictures(0, 4)).manifest.splits) == {"all": 4}

    class Digits(Pictures):
        pass

    assert open_object({"train": Digits(0, 10), "test": Digits(50, 10)}).name == "my-digits"
    for data, words in (
        ({"trian": Pictures(0, 4)}, "not the name of a split"),
        ({"val": Pictures(0, 4), "valid": Pictures(9, 4)}, "two splits are for val"),
        ({}, "without splits"),
        ({"train": Pictures(0, 10)}, "test"),
        ({"train": [], "test": []}, "contains no images"),
        (3, "is not a data set with a length"),
        ({"train": Pictures(0, 10), "test": Pictures(0, 10)}, "is train/"),
    ):
        with pytest.raises(UserError, match=words):
            open_object(data)


class Labelled(Pictures):
    """Items with these labels, which are not stored elsewhere."""

    def __init__(self, labels: list[Any], **about: Any) -> None:
        super().__init__(0, len(labels), **about)
        self.given = labels

    def __getitem__(self, number: int) -> tuple[Any, Any]:
        return super().__getitem__(number)[0], self.given[number]


def test_texts_are_names_of_classes() -> None:
    data = open_object(Labelled(["owl", "cat", "owl", "cat"]))
    assert [entry.label for entry in data.source.entries] == ["owl", "cat", "owl", "cat"]


@pytest.mark.parametrize(
    ("labels", "classes", "words"),
    [
        ([0, 1, 2, 3], ["a", "b", "c"], "image 3 has the label 3, outside of the 3 names"),
        ([0, -1, 1, 0], ["a", "b"], "image 1 has the label -1, outside of the 2 names"),
        ([0, 1, 2, 0], ["a", "a", "c"], "two classes are named 'a'"),
        ([0, 0.5, 1, 0], None, "image 1 has the label float 0.5; a class is one whole number or one text"),
        ([0.0, 1.0], None, "image 0 has the label float 0.0"),
        ([torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])], None, "image 0 has the label Tensor"),
        (["a", "", "b"], None, "image 1 has the label ''"),
        (["a", 3, "b"], None, "image 1 is a number, and others are texts"),
        ([0, None], None, "image 1 has the label NoneType None"),
    ],
)
def test_labels_that_are_no_classes(labels: list[Any], classes: list[str] | None, words: str) -> None:
    with pytest.raises(UserError, match=words) as error:
        open_object(Labelled(labels, classes=classes), "mine")
    assert str(error.value).startswith("mine, all: ")


def test_items_that_end_before_the_length_are_named() -> None:
    items = Labelled([0, 1] * 15)
    items.count = 35
    with pytest.raises(UserError, match="the label of image 30 of 35 cannot be read"):
        open_object(items)


@pytest.mark.parametrize("nothing", [None, {"bytes": None, "path": None}])
def test_a_row_without_an_image_is_an_empty_one(nothing: Any) -> None:
    entries = EntryTable.of([("0", "cat")], "mine")
    assert ColumnImages([{"image": nothing}], "image", entries, {}).read(0) == b""


def test_synonyms_may_be_shared_and_images_may_have_no_class() -> None:
    cranes = open_object(Labelled([0, 1, 2, 2], classes=[("crane",), ("crane",), ("owl", "bird")]))
    assert cranes.classes == ("0", "1", "2")
    assert item_labels("mine", Labelled([-1, -1])) == ["-1", "-1"]


def test_images_that_were_transformed_are_refused() -> None:
    class Floats(Pictures):
        def __getitem__(self, number: int) -> tuple[Any, int]:
            return torch.zeros(3, 8, 8), number % 2

    with pytest.raises(UserError, match="without a transform"):
        open_object({"train": Floats(0, 10), "test": Floats(0, 10)})


def test_a_folder_of_torchvision_gives_its_files(tmp_path: Path) -> None:
    folders = pytest.importorskip("torchvision.datasets")
    for name, first in (("cat", 0), ("dog", 50)):
        for number in range(5):
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / f"{number}.jpg").write_bytes(jpeg(first + number))
    data = open_object(folders.ImageFolder(tmp_path), "mine")
    assert data.source.read(5) == jpeg(50)
    changed = open_object(folders.ImageFolder(tmp_path, transform=lambda image: image.resize((4, 4))), "mine")
    assert np.asarray(changed.source.read(5)).shape == (4, 4, 3)


def test_in_python(tmp_path: Path) -> None:
    data = unseen.open_dataset(two(), called="mine")
    found = unseen.extract("demo:supervised", data, out=tmp_path / "features", workers=0, progress=False)
    assert {split: len(each) for split, each in found.items()} == {"train": 8, "val": 2, "test": 10}
    with pytest.raises(UserError, match="root and partial"):
        unseen.open_dataset(two(), root=tmp_path)
    with pytest.raises(UserError, match="called is the name of an object"):
        unseen.open_dataset("digits", called="mine")


def test_objects_of_the_package_datasets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    root = write_repository(tmp_path / "mypets")
    files = {split: str(root / f"data/{split}-*.parquet") for split in ("train", "test")}
    objects = datasets.load_dataset("parquet", data_files=files, cache_dir=str(tmp_path / "cache"))
    ours, theirs = open_own(describe(root)), open_object(objects, "mypets")
    assert theirs.manifest.content_hash == ours.manifest.content_hash
    assert [theirs.source.read(number) for number in (0, 9)] == [jpeg(0), jpeg(103)]
    mixed = open_object(objects["train"].shuffle(seed=1))
    assert Counter(mixed.manifest.splits) == {"all": 12}
    assert {entry.label for entry in mixed.source.entries} == {"cat", "dog"}
    splits = ("train", "validation", "test")
    for number, split in enumerate(splits):
        write_pets(tmp_path / f"{split}.parquet", [[0], [1, 2], [], [0, 1]], 10 * number, SEVERAL)
    sky = datasets.DatasetDict(
        {
            each: datasets.Dataset.from_parquet(str(tmp_path / f"{each}.parquet"), cache_dir=str(tmp_path))
            for each in splits
        }
    )
    assert open_object(sky, "sky").dataset.metric == "map-11-point"
    with pytest.raises(UserError, match="no column of type Image"):
        open_object(datasets.Dataset.from_dict({"label": [0, 1]}))
    with pytest.raises(UserError, match="without streaming"):
        open_object(objects["train"].to_iterable_dataset())

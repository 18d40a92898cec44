"""A user's own data sets that are repositories or Parquet files."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hub_trees import IMAGE, PETS, SEVERAL, embedded, write_parquet, write_pets, write_repository
from picture_files import jpeg

from unseen.data.own.description import describe, describe_table
from unseen.data.own.one_split import open_test_set, own_listing, own_set
from unseen.data.own.open_own import open_own, survey_own
from unseen.data.own.own_data import OwnData
from unseen.errors import UserError


def refusal(place: Path) -> str:
    with pytest.raises(UserError) as error:
        open_own(describe(place))
    return str(error.value)


def test_a_repository_is_a_data_set_by_its_path(tmp_path: Path) -> None:
    data = open_own(describe(write_repository(tmp_path / "mypets")))
    assert (data.name, data.classes, data.dataset.metric) == ("mypets", ("cat", "dog"), "top1")
    assert Counter(data.manifest.splits) == {"train": 10, "val": 2, "test": 4}
    assert data.source.read(6) == jpeg(100)


def test_a_repository_with_several_classes_per_image(tmp_path: Path) -> None:
    labels = [[0], [1, 2], [], [0, 1], [2]]
    for number, split in enumerate(("train", "validation", "test")):
        write_pets(tmp_path / f"sky/{split}-0.parquet", labels, 10 * number, SEVERAL)
    data = open_own(describe(tmp_path / "sky"))
    assert (data.dataset.metric, data.dataset.target, data.classes) == (
        "map-11-point",
        "classes",
        ("rain", "snow", "sun"),
    )
    (tmp_path / "sky.toml").write_text(
        'name = "sky"\n' + "".join(f'[{split}]\nimages = "sky"\nsplit = "{split}"\n' for split in ("train", "test"))
    )
    assert "map-11-point" in refusal(tmp_path / "sky.toml")


def test_several_classes_without_a_validation_split_say_how_to_give_one(tmp_path: Path) -> None:
    labels = [[0], [1, 2], [], [0, 1], [2]]
    for number, split in enumerate(("sky/train-0", "sky/test-0", "validation")):
        write_pets(tmp_path / f"{split}.parquet", labels, 10 * number, SEVERAL)
    text = refusal(tmp_path / "sky")
    assert "no validation split" in text
    assert "[val]" not in text
    (tmp_path / "sky.toml").write_text(text.partition("such as: ")[2].replace("; ", "\n"))
    data = open_own(describe(tmp_path / "sky.toml"))
    assert Counter(data.manifest.splits) == {"train": 5, "val": 5, "test": 5}
    (tmp_path / "short.toml").write_text('name = "sky"\nimages = "sky"\n')
    assert "no validation split" in refusal(tmp_path / "short.toml")


def test_what_has_no_test_split_says_what_to_do(tmp_path: Path) -> None:
    for split, first in (("train", 0), ("validation", 10)):
        write_pets(tmp_path / f"set/{split}.parquet", [0, 1] * 5, first)
    text = refusal(tmp_path / "set")
    assert 'split = "val"' in text or 'split = "validation"' in text
    (tmp_path / "set.toml").write_text(
        'name = "set"\n[train]\nimages = "set"\nsplit = "train"\n[test]\nimages = "set"\nsplit = "validation"\n'
    )
    data = open_own(describe(tmp_path / "set.toml"))
    assert Counter(data.manifest.splits)["test"] == 10


def test_columns_and_configurations_are_chosen_in_a_table(tmp_path: Path) -> None:
    for config, shift in (("a", 0), ("b", 50)):
        for split, first in (("train", 0), ("test", 20)):
            images = embedded(range(first + shift, first + shift + 10))
            columns = {"image": images, "fine": [0, 1] * 5, "coarse": [0, 0, 1, 1, 1, 0, 0, 0, 1, 1]}
            features = {"image": {"_type": "Image"}, "fine": PETS, "coarse": PETS}
            write_parquet(tmp_path / f"set/{config}/{split}.parquet", columns, features)
    configs = [f"{{config_name: {each}, data_dir: {each}}}" for each in "ab"]
    (tmp_path / "set/README.md").write_text(f"---\nconfigs: [{', '.join(configs)}]\n---\n")
    assert "a, b" in refusal(tmp_path / "set")
    data = open_own(describe_table("mine", {"images": "set", "config": "b", "label": "coarse"}, tmp_path))
    assert data.source.read(0) == jpeg(50)
    assert [entry.label for entry in data.source.entries[:3]] == ["cat", "cat", "dog"]
    with pytest.raises(UserError, match="coarse"):
        open_own(describe_table("mine", {"images": "set", "config": "b"}, tmp_path))
    paths = {split: str(tmp_path / f"set/a/{split}.parquet") for split in ("train", "test")}
    data = open_own(describe_table("mine", {**paths, "label": "fine"}, None))
    assert Counter(data.manifest.splits) == {"train": 8, "val": 2, "test": 10}


def test_test_sets_and_captions_of_the_shift_study(tmp_path: Path) -> None:
    root = write_repository(tmp_path / "pets")
    opened = open_test_set(root)
    assert (opened.name, len(opened.manifest), opened.source.read(1)) == ("pets", 4, jpeg(501))
    assert own_set(root, "train").split == "train"
    columns = {"image": embedded(range(2)), "caption": ["a cat", "a dog"], "title": ["x", "y"]}
    path = write_parquet(tmp_path / "captions.parquet", columns)
    assert [row.label for row in own_listing(OwnData(path), captions=True).rows] == ["a cat", "a dog"]
    assert [row.label for row in own_listing(OwnData(path, caption="title"), captions=True).rows] == ["x", "y"]
    with pytest.raises(UserError, match="ClassLabel"):
        own_listing(OwnData(path))


def test_pointers_of_git_lfs_are_named(tmp_path: Path) -> None:
    root = write_repository(tmp_path / "mypets")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    (root / "data/test-00000-of-00001.parquet").write_text(pointer)
    assert "Git LFS pointer" in refusal(root)


@pytest.mark.parametrize("stray", ["labels.parquet", "train/metadata.parquet", "test.parquet", "data/train.parquet"])
@pytest.mark.parametrize("with_images", [False, True])
def test_parquet_files_beside_folders_of_images_are_left_alone(tmp_path: Path, stray: str, with_images: bool) -> None:
    for number, split in enumerate(("train", "val", "test")):
        for label, name in enumerate(("cat", "dog")):
            (tmp_path / f"mine/{split}/{name}").mkdir(parents=True)
            for each in range(2):
                (tmp_path / f"mine/{split}/{name}/{each}.jpg").write_bytes(jpeg(10 * number + 2 * label + each))
    if with_images:
        write_pets(tmp_path / "mine" / stray, [0, 1], 90)
    else:
        write_parquet(tmp_path / "mine" / stray, {"file_name": ["0.jpg"], "label": [0]})
    data = open_own(describe(tmp_path / "mine"))
    assert Counter(data.manifest.splits) == {"train": 4, "val": 4, "test": 4}
    assert data.classes == ("cat", "dog")


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"


@pytest.mark.parametrize("nothing", [None, {"bytes": None, "path": None}, {"bytes": b"", "path": "0.jpg"}])
def test_rows_without_an_image_are_missing_and_not_the_same_image(tmp_path: Path, nothing: Any) -> None:
    for split, first in (("train", 0), ("test", 50)):
        images = [{"bytes": jpeg(seed), "path": None} for seed in range(first, first + 9)]
        columns = {"image": pa.array([*images, nothing], IMAGE), "label": [0, 1] * 5}
        write_parquet(tmp_path / f"mine/{split}.parquet", columns, {"image": {"_type": "Image"}, "label": PETS})
    survey = survey_own(describe(tmp_path / "mine"))
    assert survey.opened is None
    assert not survey.shared
    assert [*survey.missing] == ["train/00000009", "test/00000009"]
    assert survey.problems[0].startswith("2 of 20 images are missing or empty")


def test_images_that_are_pointers_are_named_as_such(tmp_path: Path) -> None:
    for split, first in (("train", 0), ("test", 50)):
        images = [{"bytes": jpeg(seed), "path": None} for seed in range(first, first + 9)]
        columns = {"image": pa.array([*images, {"bytes": POINTER, "path": None}], IMAGE), "label": [0, 1] * 5}
        write_parquet(tmp_path / f"mine/{split}.parquet", columns, {"image": {"_type": "Image"}, "label": PETS})
        for number in range(10):
            path = tmp_path / f"folder/{split}/{'cat' if number % 2 else 'dog'}/{number}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(POINTER if number == 9 else jpeg(first + number))
    for place in ("mine", "folder"):
        text = refusal(tmp_path / place)
        assert "2 of 20 images are Git LFS pointers" in text
        assert "too" not in text.split()

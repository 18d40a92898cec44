"""Data sets and test sets are added by a file, and nothing else is edited."""

import sys
from pathlib import Path

import pytest

from unseen.images import datasets, shift_sets
from unseen.images.datasets.registry import DATASETS, find_datasets
from unseen.images.shift_sets.registry import SHIFT_SETS, find_shift_sets

DATASET = """
from unseen.images.datasets.dataset import Dataset, Layout
from unseen.images.datasets.folders import class_folders

DATASET = Dataset(
    name="mushrooms", title="Mushrooms", classes=9, metric="top1", test="author", validation="fifth", few_shot="other",
    counts={"train": 80, "val": 20, "test": 50}, layouts=(Layout("mushrooms", (), class_folders),), get="the woods",
    licence="none", citation="none",
)
"""
SETS = """
from unseen.images.datasets.dataset import Layout
from unseen.images.shift_sets.labels import synset_folders
from unseen.images.shift_sets.shift_set import ShiftSet

SETS = (
    ShiftSet("imagenet-fog", "ImageNet in fog", "imagenet-1k", 1000, 50_000, (Layout("fog", (), synset_folders),), "",
             "none", "none"),
)
"""


def test_a_data_set_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mushrooms.py").write_text(DATASET)
    monkeypatch.setattr(datasets, "__path__", [*datasets.__path__, str(tmp_path)])
    found = find_datasets()
    assert list(found)[:2] == ["aircraft", "caltech101"]
    last = ["voc2007", "cropdiseases", "eurosat", "isic", "chestx", "digits", "drawings", "fashion-mnist", "mushrooms"]
    assert list(found)[-9:] == last
    assert found["mushrooms"].images == 150
    assert found.keys() - DATASETS.keys() == {"mushrooms"}
    del sys.modules["unseen.images.datasets.mushrooms"]


def test_test_sets_are_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fog.py").write_text(SETS)
    monkeypatch.setattr(shift_sets, "__path__", [*shift_sets.__path__, str(tmp_path)])
    found = find_shift_sets()
    assert [name for name in found if not name.startswith("imagenet-c.")] == [
        "val", "imagenet-a", "imagenet-fog", "imagenet-r", "imagenet-sketch",
        "imagenetv2-matched-frequency-format-val", "imagenetv2-threshold-0.7-format-val",
        "imagenetv2-top-images-format-val", "objectnet",
        "cifar-10", "cifar-10.1-v4", "cifar-10.1-v6", "cifar-10.2", "cinic-10", "cinic-10-imagenet",
    ]  # fmt: skip
    assert found.keys() - SHIFT_SETS.keys() == {"imagenet-fog"}
    del sys.modules["unseen.images.shift_sets.fog"]

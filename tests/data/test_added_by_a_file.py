"""Data sets of every kind are added by a file, and nothing else is edited."""

import sys
from pathlib import Path

import pytest

from unseen.data import registry, sets
from unseen.data.registry import DATASETS, dense_sets, find_datasets, shift_sets, task_sets

MUSHROOMS = """
from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.class_folders import class_folders

DATASET = Dataset(
    name="mushrooms", title="Mushrooms", classes=9, validation="fifth", few_shot="other",
    counts={"train": 80, "val": 20, "test": 50}, layouts=(Layout("mushrooms", (), class_folders),), get="the woods",
    licence="none", citation="none",
)
"""
FOG = """
from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.named_folders import synset_folders

DATASETS = (
    Dataset("imagenet-fog", "ImageNet in fog", 1000, counts={"test": 50_000}, shifted=True, space="imagenet-1k",
            layouts=(Layout("fog", (), synset_folders),)),
)
"""
CAPS = """
from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.map_files import ClassMaps, paired_listing


def read(place):
    images = [(f"{part}/{part}.png", part) for part in ("train", "test")]
    return paired_listing(place, images, lambda name: f"masks/{name}", lambda names: ClassMaps(place, names))


DATASET = Dataset("caps", "Caps", 2, target="map", names=("cap", "no cap"), layouts=(Layout("caps", (), read),))
"""


def test_data_sets_are_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("mushrooms", MUSHROOMS), ("fog", FOG), ("caps", CAPS)):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(sets, "__path__", [*sets.__path__, str(tmp_path)])
    try:
        monkeypatch.setattr(registry, "DATASETS", find_datasets())
    finally:
        for name in ("mushrooms", "fog", "caps"):
            sys.modules.pop(f"unseen.data.sets.{name}", None)
    assert registry.DATASETS.keys() - DATASETS.keys() == {"mushrooms", "imagenet-fog", "caps"}
    assert list(task_sets())[:2] == ["aircraft", "caltech101"]
    found = [name for name, dataset in task_sets().items() if not dataset.sample_of]
    assert found[10:15] == ["voc2007", "cropdiseases", "eurosat", "isic", "chestx"]
    assert found[15:] == sorted(found[15:])
    assert "mushrooms" in found
    assert task_sets()["mushrooms"].images == 150
    assert "caps" in dense_sets()
    assert [name for name in shift_sets() if not name.startswith("imagenet-c.")] == [
        "val", "imagenet-a", "imagenet-fog", "imagenet-r", "imagenet-sketch",
        "imagenetv2-matched-frequency-format-val", "imagenetv2-threshold-0.7-format-val",
        "imagenetv2-top-images-format-val", "objectnet",
        "cifar-10", "cifar-10.1-v4", "cifar-10.1-v6", "cifar-10.2", "cinic-10", "cinic-10-imagenet",
    ]  # fmt: skip

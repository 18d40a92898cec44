"""Keys of stored features never change, and features that version 0.1.0 stored are found: users extract for days."""

import shutil
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor, nn

from unseen import open_dataset
from unseen.backbones.backbone import Spec
from unseen.backbones.classifier import ClassifierSpec
from unseen.backbones.load import load_backbone
from unseen.backbones.patches import PatchSpec
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.folder import folder_images
from unseen.data.core.manifest import Manifest
from unseen.data.core.source import Entry
from unseen.features.extract import decided_key, extract, store_name
from unseen.features.fingerprint import fingerprint
from unseen.features.logits import LogitSettings
from unseen.features.readers import read_features
from unseen.features.settings import Settings
from unseen.studies.backbones import as_published

STORED = Path(__file__).parent / "data/stores"
VECTOR = Spec("timm:resnet50.a1_in1k", "a1_in1k", "penultimate", "avg", 2048, 23_508_032, Transform(), "d" * 64)
FACTS = {each.name: getattr(VECTOR, each.name) for each in fields(VECTOR)}
SQUASHED = Transform(518, 518, "bilinear", (0.5, 0.5, 0.5), (0.25, 0.25, 0.25), "BGR", squash=True)
PATCHES = PatchSpec(**FACTS | {"pool": "patches", "transform": SQUASHED, "dimension": 37 * 37 * 768}, grid=(37, 37))
CLASSIFIER = ClassifierSpec(**FACTS | {"layer": "logits", "pool": "none", "dimension": 3}, classes=("cat", "a+b", "né"))
GPU = Settings("cuda:1", "half", 64, 8, on_error="report", fast=True, exif=True, part=(2, 3), decode="gpu")
Unseen = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("spec", "settings", "split", "key"),
    [
        (VECTOR, Settings(), "train", "13bd64d336b96fc0df65886f5c2a3f6eede9626e212355cacefff0c5958c1fdd"),
        (VECTOR, GPU, "val", "2ce13e0c1f6965e89911fee45936f23f180dfae4e276953590ff487ee8c1a529"),
        (
            PATCHES,
            Settings(precision="bfloat", shard_rows=128, compact=True),
            "test",
            "61da29de5c7e3ec3747d9304795424d2b50a1d21f2d090f1de4b8538a5a80f11",
        ),
        (
            replace(PATCHES, drawn=100),
            Settings(compact=True),
            "train",
            "509c80e65ccbccf0cc26d98ed6340f2789b11b6d72625072a9b0d32409bff4aa",
        ),
        (
            CLASSIFIER,
            LogitSettings(decode="gpu-processors"),
            "imagenet-r-r1",
            "e841fc74640352406097e6f08f8cfa6b90dbbc6a8a0931076ad0748b948bbd71",
        ),
    ],
    ids=["vectors", "vectors on a GPU", "patches", "some patches", "logits"],
)
def test_keys_of_stores_stay_as_they_are(spec: Spec, settings: Settings, split: str, key: str) -> None:
    assert decided_key(settings.decides(spec, "e" * 64, split, "f" * 64)) == key
    assert store_name(spec, split, key) == f"timm-resnet50.a1_in1k-{split}-{key[:12]}"


def test_hashes_of_images_in_these_keys_stay_as_they_are() -> None:
    entries = [Entry("a/1.jpg", "cat"), Entry("b/2.jpg", "né"), Entry("c.png", "a+b")]
    listed = Manifest(entries, ["train", "test", "train"])
    assert listed.content_hash == "670d19b85a61ad8bf4b6b8227d878ba7da18db6e4525be7736c1896ebe80136e"
    assert replace(listed, limit=3).content_hash == listed.content_hash
    known = replace(listed, contents="c" * 64)
    assert known.content_hash == "1a9bb121d9d396688aa6278d76066ef4b83ce8e7897d6d153c251487bac91395"
    images = folder_images(STORED / "photos/train")
    assert fingerprint(images, range(4)) == "c12c9e475b45c98030622a96b077e376fc5953589b8f309b59a07abdea0b9f70"
    assert fingerprint(images, [3, 0]) == "0d88bb74cfa2e482650d1d6c1c11370b20d4211572a752a08ef87f746c2588d9"


class Unused(nn.Module):
    """A network that must not be asked."""

    def forward(self, images: Tensor) -> Tensor:
        raise AssertionError("extracted again")


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the stored features and their images, as the working directory."""
    place = Path(shutil.copytree(STORED, tmp_path / "stores"))
    monkeypatch.chdir(place)
    return place


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_stored_features_are_not_extracted_again(split: str, stored: Path) -> None:
    data, backbone = open_dataset("photos"), as_published(load_backbone("demo:supervised", size=8))
    before = stored / "runs/tasks/features/photos"
    asked = (data.source, data.manifest, split)
    [found] = extract(*asked, [replace(backbone, module=Unused())], before, Settings(workers=0))
    [made] = extract(*asked, [backbone], stored / "made", Settings(workers=0))
    assert (found.parent, found.name) == (before, made.name)
    features, again = read_features(found), read_features(made)
    assert (features.classes, features.ids) == (again.classes, again.ids)
    assert features.y.tolist() == again.y.tolist()
    assert np.allclose(features.X[:], again.X[:], atol=1e-5)  # another version of PyTorch may round otherwise


CONCEPTS = ("--data", "imagenet-21k=imagenet-21k", "--set", "levels=levels.csv", "--set", "splits=splits.npz")
QUICK = ("--datasets", "l1", "--set", "logistic.protocol=cog-v2-short", "--shots", "1", "--seeds", 1)
DEMO = ("--backbone", "demo:supervised", "--set", "backbone.size=8")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("concepts", ("cog-v2", *CONCEPTS, *QUICK, *DEMO)),
        ("tasks", ("ericsson-2021", "--datasets", "photos", *DEMO)),
        ("dense", ("dense", "--datasets", "scenes", *DEMO)),
        ("shifts", ("shifts", "--datasets", "photos/test", "--backbone", "models.csv")),
    ],
)
def test_studies_find_what_they_stored(run: str, words: tuple[object, ...], stored: Path, unseen: Unseen) -> None:
    place = ("--out", f"runs/{run}", "--workers", 1, "--dry-run")
    code, said, error = unseen("run", *words, "--set", "precision=single", *place)
    assert code == 0, error
    assert "Features: complete." in said
    code, said, error = unseen("run", *words, "--set", "precision=bfloat", *place)
    assert code == 0, error
    assert "Features: complete." not in said  # other settings, other features

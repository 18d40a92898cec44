"""Probes on the patch features of real scenes through the demo's networks, and on damaged labels."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from unseen.backbones.load import load_backbone
from unseen.errors import UserError
from unseen.features.extract import extract
from unseen.features.patches import read_patches
from unseen.features.settings import Settings
from unseen.images.dense.dense_dataset import OpenDenseDataset, open_dense_dataset
from unseen.images.dense.labels import Labels
from unseen.images.dense.sets import get_dense_dataset
from unseen.images.manifest import Manifest
from unseen.probes.by_name.patch_context import PatchContextJob
from unseen.probes.by_name.patch_linear import PatchLinearJob
from unseen.probes.patches.context import PATCH_CONTEXT
from unseen.probes.patches.linear import PatchLinearProtocol
from unseen.probes.patches.task import PatchTask

QUICK = PatchLinearProtocol(rates=(3e-3,), decays=(0.0,), epochs=1, batch=4096, least_steps=60)


@pytest.fixture(scope="module")
def scene_task(tmp_path_factory: pytest.TempPathFactory) -> PatchTask:
    """24 training and 8 test scenes."""
    whole = open_dense_dataset(get_dense_dataset("scenes-seen"), None)
    splits = [
        split if number < 24 or 100 <= number < 108 else "unused" for number, split in enumerate(whole.manifest.splits)
    ]
    opened = replace(whole, manifest=Manifest(whole.manifest.entries, splits))
    folder = tmp_path_factory.mktemp("patches")
    net = load_backbone("demo:supervised", size=112, patches=True)
    places = [extract(opened.source, opened.manifest, split, [net], folder, Settings(workers=0))[0]
              for split in ("train", "test")]  # fmt: skip
    train, test = map(read_patches, places)
    return PatchTask(opened, train, test, torch.device("cpu"))


def test_features_have_the_grid_of_the_network(scene_task: PatchTask) -> None:
    assert (scene_task.train.grid, scene_task.train.channels, len(scene_task.train)) == ((28, 28), 256, 24)


def job(kind: type, protocol: object) -> PatchLinearJob | PatchContextJob:
    found: PatchLinearJob | PatchContextJob = kind("tasks", protocol, "net", "scenes", "classes", "a", "b", "c")
    return found


@pytest.mark.parametrize(("kind", "protocol"), [(PatchLinearJob, QUICK), (PatchContextJob, PATCH_CONTEXT)])
def test_probes_tell_drawings_from_the_ground(scene_task: PatchTask, kind: type, protocol: object) -> None:
    values, predictor = job(kind, protocol).run(scene_task)
    # Who always says "ground" has an eleventh of a mean IoU of at most 1.
    assert values["miou"] > 0.18
    assert len(values["by_class"]) == 11
    assert 1 < len(predictor.shown) <= 6
    [fit] = kind.read({"kind": "classes", "seed": 0}, values)  # type: ignore[attr-defined]
    assert dict(fit.values)["miou"] == values["miou"]


class Damaged:
    """Labels of which some cannot be read."""

    def __init__(self, opened: OpenDenseDataset) -> None:
        self.inner = opened.reader

    def place(self, number: int) -> str:
        return self.inner.place(number)

    def read(self, number: int) -> Labels:
        if number in (0, 100):
            raise UserError(f"{self.place(number)}: damaged")
        return self.inner.read(number)


def test_images_with_damaged_labels_are_left_out_and_named(scene_task: PatchTask) -> None:
    task = replace(scene_task, opened=replace(scene_task.opened, reader=Damaged(scene_task.opened)), damaged=[])
    X, _, images = task.training(task.codes())
    assert len(X) == 23 * 28 * 28
    assert 0 not in images
    assert [each.id for each in task.damaged] == ["train/000"]


def test_features_of_whole_images_are_refused(tmp_path: Path, scene_task: PatchTask) -> None:
    net = load_backbone("demo:supervised", size=112)
    opened = scene_task.opened
    [place] = extract(opened.source, opened.manifest, "test", [net], tmp_path, Settings(workers=0))
    with pytest.raises(UserError, match="--patches"):
        read_patches(place)

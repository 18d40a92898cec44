"""Probes on the patch features of real scenes through the demo's networks, and on damaged labels."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from unseen.backbones.load import load_backbone
from unseen.data.core.arrays import array_images
from unseen.data.core.dense.labels import IGNORED, Labels
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset, open_dataset
from unseen.data.registry import get_dataset
from unseen.device import default_device
from unseen.errors import UserError
from unseen.features.extract import extract
from unseen.features.patches import PatchFeatures, read_patches
from unseen.features.settings import Settings
from unseen.probes.by_name.patch_context import PatchContext
from unseen.probes.by_name.patch_linear import PatchLinear
from unseen.probes.patches.codes import ClassCodes, patch_histograms
from unseen.probes.patches.patch_probe import PatchProbe, Predictor
from unseen.probes.patches.protocols import PatchLinearProtocol
from unseen.probes.patches.task import PatchTask

QUICK = PatchLinearProtocol(rates=(3e-3,), decays=(0.0,), epochs=1, batch=4096, least_steps=60)
FEW = replace(QUICK, batch=50)


@pytest.fixture(scope="module")
def scene_task(tmp_path_factory: pytest.TempPathFactory) -> PatchTask:
    """24 training and 8 test scenes."""
    whole = open_dataset(get_dataset("scenes-seen"), None)
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


def fitted(probe: PatchProbe, task: PatchTask, seed: int = 0) -> tuple[dict[str, float], Predictor]:
    fit, predictor = probe.predictor(task, seed)
    return dict(fit.values), predictor


@pytest.mark.parametrize("probe", [PatchLinear(QUICK), PatchContext()])
def test_probes_tell_drawings_from_the_ground(scene_task: PatchTask, probe: PatchProbe) -> None:
    fit, predictor = probe.predictor(scene_task, 0)
    values = dict(fit.values)
    # Who always says "ground" has an eleventh of a mean IoU of at most 1.
    assert values["miou"] > 0.18
    assert len(fit.details["by_class"]) == 11
    assert (fit.variant, fit.values[0][0]) == (probe.name, "miou")
    assert 1 < len(predictor.shown) <= 6


class Damaged:
    """Labels of which some cannot be read."""

    def __init__(self, opened: OpenDataset) -> None:
        self.inner = opened.reader

    def place(self, number: int) -> str:
        return self.inner.place(number)

    def read(self, number: int) -> Labels:
        if number in (0, 100):
            raise UserError(f"{self.place(number)}: damaged")
        return self.inner.read(number)


def test_images_with_damaged_labels_are_left_out_and_named(scene_task: PatchTask) -> None:
    task = replace(scene_task, opened=replace(scene_task.opened, reader=Damaged(scene_task.opened)), damaged=[])
    patches = task.training
    assert patches.images.tolist() == list(range(1, 24))
    assert (patches.labels.totals > 0).sum() == 23 * 28 * 28
    assert not patches.labels.totals[: 28 * 28].any()
    assert [each.id for each in task.damaged] == ["train/000"]


class Scaled:
    """Maps of a grid of 7 × 7 patches, with some pixels per position on each side, and features that tell classes."""

    def __init__(self, side: int) -> None:
        generator = np.random.default_rng(0)
        patches = np.kron(generator.integers(0, 3, (5, 7, 7)), np.ones((1, 2, 2), dtype=int))
        other = generator.integers(0, 3, patches.shape)
        self.side, self.coarse = side, np.where(other == 0, other, patches).astype(np.uint8)
        self.coarse[:, 0, :3] = IGNORED
        self.coarse[0, :2, :2] = IGNORED  # a whole patch
        shares = np.stack([patch_histograms(ClassCodes(3).encode(each), (7, 7), 3) for each in self.coarse])
        noise = 0.3 * generator.standard_normal((5, 49, 5))
        self.X = (np.concatenate([shares, shares[:, :, :2]], axis=2) + noise).reshape(5, -1).astype(np.float16)

    def place(self, number: int) -> str:
        return f"map {number}"

    def read(self, number: int) -> NDArray[np.uint8]:
        return np.kron(self.coarse[number], np.ones((self.side // 2, self.side // 2), dtype=np.uint8))

    def task(self, **more: Any) -> PatchTask:
        ids = [f"{number}" for number in range(5)]
        images = np.broadcast_to(np.zeros((), np.uint8), (5, 7 * self.side, 7 * self.side))
        source = array_images(images, ["image"] * 5, ids)
        manifest = Manifest(source.entries, ["train"] * 4 + ["test"])
        dataset = replace(get_dataset("scenes-seen"), classes=3, names=("a", "b", "c"))
        parts = [
            PatchFeatures(self.X[rows], ids[rows], (7, 7), (), "", Path("made")) for rows in (slice(0, 4), slice(4, 5))
        ]
        return PatchTask(OpenDataset(dataset, source, manifest, self), *parts, default_device(), **more)


@pytest.mark.parametrize("seed", range(4))
def test_images_without_a_labelled_pixel_neither_train_nor_validate(seed: int) -> None:
    maps = Scaled(8)
    maps.coarse[1:3] = IGNORED
    task = maps.task()
    assert task.training.images.tolist() == [0, 3]
    values, _ = fitted(PatchLinear(FEW), task, seed)
    assert 0 < values["miou"] <= 1
    maps.coarse[3] = IGNORED
    with pytest.raises(UserError, match="at least two training images"):
        fitted(PatchLinear(FEW), maps.task())


@pytest.mark.gpu_too
@pytest.mark.parametrize("probe", [PatchLinear(FEW), PatchContext()])
def test_large_images_score_like_small_ones_in_16_bits(probe: PatchProbe) -> None:
    """A patch of 296² pixels of one class is beyond 65,504, the largest number of 16 bits."""
    small, large = Scaled(8), Scaled(296)
    found = {
        (maps.side, half): fitted(probe, maps.task(half=half))
        for maps, half in ((small, False), (small, True), (large, True))
    }
    one, half, both = found.values()
    assert max(large.task().training.labels.pixels.tolist()) > 65_520
    assert one[0]["miou"] > 0.4  # chance is about 0.2
    assert half[0]["miou"] == pytest.approx(one[0]["miou"], abs=0.01)
    assert both[0]["miou"] == pytest.approx(half[0]["miou"], abs=0.02)  # the pixels of a larger map are other ones
    queries = torch.from_numpy(large.task().test.patches(range(1))).to(default_device())
    assert torch.equal(both[1].predict(queries), half[1].predict(queries))


@pytest.mark.gpu_too
@pytest.mark.parametrize("probe", [PatchLinear(FEW), PatchContext()])
def test_features_that_do_not_fit_give_the_same_scores(probe: PatchProbe) -> None:
    values = [fitted(probe, Scaled(8).task(budget=budget))[0] for budget in (1 << 40, 1)]
    assert values[0] == values[1]


@pytest.mark.gpu_too
@pytest.mark.parametrize("probe", [PatchLinear(FEW), PatchContext()])
def test_predictions_that_are_not_finite_are_refused(probe: PatchProbe) -> None:
    maps = Scaled(8)
    maps.X[4, 7] = np.inf  # of a test image
    with pytest.raises(UserError, match="not finite"):
        fitted(probe, maps.task())


def test_features_of_whole_images_are_refused(tmp_path: Path, scene_task: PatchTask) -> None:
    net = load_backbone("demo:supervised", size=112)
    opened = scene_task.opened
    [place] = extract(opened.source, opened.manifest, "test", [net], tmp_path, Settings(workers=0))
    with pytest.raises(UserError, match="patches='all'"):
        read_patches(place)

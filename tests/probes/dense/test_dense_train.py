"""Training on boxes and maps: resumed to the same weights, and able to learn a few images by heart."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from unseen.backbones.load import load_backbone
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.dense.labels import Objects
from unseen.data.core.open_dataset import OpenDataset, open_dataset
from unseen.data.own.description import describe
from unseen.data.own.open_own import open_own
from unseen.data.registry import get_dataset
from unseen.errors import UserError
from unseen.probes.dense import train
from unseen.probes.dense.batches import TrainingImages, ahead, box_batches, map_batches
from unseen.probes.dense.finite import NotFiniteError
from unseen.probes.dense.predictors import MapPredictor, map_loss, map_predictor, predicted_map
from unseen.probes.dense.protocols import DETECTION_FROZEN, SEGMENTATION, DenseProtocol
from unseen.probes.dense.train import Trained, _sgd, train_dense
from unseen.probes.patches.codes import ClassCodes
from unseen.probes.patches.scoring import MapScorer

CPU = torch.device("cpu")
TINY = replace(SEGMENTATION, name="tiny", steps=6, sides=(32, 48), tested=(48,), longest=64, rate=0.01, width=16)


@pytest.fixture(scope="module")
def squares(tmp_path_factory: pytest.TempPathFactory) -> OpenDataset:
    """Bright squares on dark ground, marked by their masks."""
    root, rng = tmp_path_factory.mktemp("squares"), np.random.default_rng(0)
    for split in ("train", "test"):
        for kind in ("images", "masks"):
            (root / kind / split).mkdir(parents=True)
        for number in range(4):
            pixels, mask = rng.integers(0, 60, (48, 48, 3), dtype=np.uint8), np.zeros((48, 48), dtype=np.uint8)
            top, left = rng.integers(0, 24, 2)
            pixels[top : top + 20, left : left + 20] += 180
            mask[top : top + 20, left : left + 20] = 1
            Image.fromarray(pixels).save(root / f"images/{split}/{number}.png")
            Image.fromarray(mask).save(root / f"masks/{split}/{number}.png")
    (root / "classes.txt").write_text("ground\nsquare\n")
    return open_own(describe(root))


def trained(
    data: OpenDataset,
    protocol: DenseProtocol,
    checkpoint: Path | None = None,
    *,
    stop: int | None = None,
    name: str = "timm:resnet10t",
) -> tuple[torch.nn.Module, Trained]:
    backbone = load_backbone(name, weights="random", size=64)
    model = map_predictor(backbone, 2, protocol, seed=0)
    images = TrainingImages(data, data.numbers("train"), backbone.spec.transform, protocol)

    def watch(step: int) -> None:
        if step == stop:
            raise KeyboardInterrupt

    batches = partial(map_batches, images, ClassCodes(2))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = train_dense(model, batches, map_loss, protocol, device=CPU, every=2, checkpoint=checkpoint, watch=watch)
    finally:
        torch.set_num_threads(threads)
    return model, found


@pytest.mark.parametrize("name", [pytest.param("timm:resnet10t", marks=pytest.mark.long_suite), "timm:test_vit"])
def test_a_killed_training_ends_with_the_same_weights(
    name: str, squares: OpenDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "SAVE_SECONDS", 0.0)
    whole, expected = trained(squares, TINY, name=name)
    with pytest.raises(KeyboardInterrupt):
        trained(squares, TINY, tmp_path / "c.pt", stop=4, name=name)
    resumed, found = trained(squares, TINY, tmp_path / "c.pt", name=name)
    assert found == expected
    for key, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[key]), key
    with pytest.raises(UserError, match="another"):
        trained(squares, replace(TINY, rate=0.02), tmp_path / "c.pt", name=name)


def test_a_few_images_are_learned_by_heart(squares: OpenDataset) -> None:
    protocol = replace(TINY, steps=40, sides=(64,), tested=(64,), rate=0.05)
    model, found = trained(squares, protocol)
    assert found.finished
    assert found.losses[-1] < 0.3 * found.losses[0]
    codes = ClassCodes(2)
    scorer = MapScorer(codes)
    for number in squares.numbers("train"):
        pixels = np.array(Image.open(Path(squares.place(number).replace("masks", "images"))))
        probabilities = predicted_map(model, pixels, Transform(size=64, resize=64), protocol, CPU)
        labels = squares.labels(number)
        assert not isinstance(labels, Objects)
        scorer.add_map(codes.decode(probabilities), labels)
    assert dict(scorer.scores())["miou"] > 0.8


def small_network() -> MapPredictor:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        head = nn.Sequential(nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 3, 1))
        return MapPredictor(nn.Conv2d(3, 8, 3, padding=1), head)


def noise_batches(start: int, steps: int, bad: frozenset[int]) -> Iterator[tuple[Tensor, Tensor]]:
    for step in range(start, steps):
        x = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(step))
        y = (x.sum(1) > 0).long()
        if step in bad:
            x[0, 0, 0, 0] = torch.inf
        yield x, y


def test_a_batch_that_is_not_finite_leaves_weights_and_running_statistics_alone() -> None:
    """The training with a bad batch is that of the other batches, at their rates and with their random numbers."""
    protocol, bad = replace(TINY, steps=12), frozenset({3, 7})
    model, plain = small_network(), small_network().train()
    found = train_dense(model, lambda start: noise_batches(start, 12, bad), map_loss, protocol, device=CPU, every=5)
    assert (found.finished, found.skipped, len(found.losses)) == (True, 2, 3)
    optimizer = _sgd(plain, protocol)
    for step, batch in enumerate(noise_batches(0, 12, frozenset())):
        if step not in bad:
            for group in optimizer.param_groups:
                group["lr"] = protocol.rate_at(step)
            optimizer.zero_grad()
            map_loss(plain, batch, CPU).backward()
            optimizer.step()
    expected = plain.state_dict()
    for name, value in model.state_dict().items():
        if "num_batches" not in name:
            assert torch.equal(value, expected[name]), name


@pytest.mark.parametrize(
    ("bad", "every", "finished", "done"),
    [
        ({4, 11}, 5, True, 12),  # before a check, and at the end
        ({0, 1, 2}, 1, True, 12),
        (set(range(1, 12)), 1, False, 11),
        (set(range(2, 12)), 3, False, 12),
        (set(range(3, 12)), 3, True, 12),
        (set(range(12)), 12, False, 12),
    ],
)
def test_many_losses_in_a_row_that_are_not_finite_are_a_divergence(
    bad: set[int], every: int, finished: bool, done: int
) -> None:
    model, watched = small_network(), list[int]()
    found = train_dense(
        model, lambda start: noise_batches(start, 12, frozenset(bad)), map_loss, replace(TINY, steps=12), device=CPU,
        every=every, watch=watched.append,
    )  # fmt: skip
    assert (found.finished, watched[-1], found.skipped) == (finished, done, len(bad & set(range(done))))
    assert all(np.isfinite(found.losses))


def test_weights_that_are_not_finite_at_the_end_are_a_divergence() -> None:
    model = small_network()
    model.body.weight.register_hook(lambda gradient: gradient * torch.inf)
    protocol = replace(TINY, steps=1)
    found = train_dense(model, lambda start: noise_batches(start, 1, frozenset()), map_loss, protocol, device=CPU)
    assert (found.finished, found.skipped, len(found.losses)) == (False, 0, 1)


def test_a_map_that_is_not_finite_is_no_prediction() -> None:
    model = small_network().eval()
    pixels = np.random.default_rng(0).integers(0, 255, (32, 32, 3), dtype=np.uint8)
    transform = Transform(size=32, resize=32)
    assert predicted_map(model, pixels, transform, TINY, CPU).isfinite().all()
    model.head[0].running_mean[0] = torch.nan
    with pytest.raises(NotFiniteError):
        predicted_map(model, pixels, transform, TINY, CPU)


def test_batches_depend_on_seed_and_step_alone(squares: OpenDataset) -> None:
    images = TrainingImages(squares, squares.numbers("train"), Transform(size=64, resize=64), TINY)
    first = list(map_batches(images, ClassCodes(2), 0))
    later = list(map_batches(images, ClassCodes(2), 4))
    assert len(first) == 6
    for (a, b), (c, d) in zip(first[4:], later, strict=True):
        assert torch.equal(a, c)
        assert torch.equal(b, d)


def test_what_is_made_ahead_comes_in_order_and_its_errors_are_raised() -> None:
    assert list(ahead(lambda step: step * step, range(20))) == [step * step for step in range(20)]

    def fails(step: int) -> int:
        if step == 3:
            raise UserError("no")
        return step

    with pytest.raises(UserError):
        list(ahead(fails, range(10)))


@pytest.mark.parametrize(
    ("decayed", "expected"),
    [
        ("all", {"conv", "conv.bias", "norm", "norm.bias"}),
        ("without-norms", {"conv", "conv.bias"}),
        ("weights", {"conv"}),
    ],
)
def test_weight_decay_is_of_what_the_protocol_says(decayed: Any, expected: set[str]) -> None:
    model = torch.nn.Sequential(OrderedDict(conv=torch.nn.Conv2d(1, 2, 1), norm=torch.nn.BatchNorm2d(2)))
    optimizer = _sgd(model, replace(TINY, decayed=decayed, decay=0.1))
    found = {id(each) for group in optimizer.param_groups if group["weight_decay"] for each in group["params"]}
    assert {name.removesuffix(".weight") for name, each in model.named_parameters() if id(each) in found} == expected


def test_labels_stay_on_their_objects_when_images_are_scaled_and_mirrored(squares: OpenDataset) -> None:
    protocol = replace(TINY, sides=(48, 53, 90), longest=100, stride=1)
    plain = Transform(size=64, resize=64, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    images = TrainingImages(squares, squares.numbers("train"), plain, protocol)
    for batch, codes in map_batches(images, ClassCodes(2), 0):
        bright = (batch.mean(dim=1) > 0.5).long()
        differ = (bright != codes) & (codes >= 0)
        assert differ.float().mean() < 0.03  # the outlines of squares, which are blurred by scaling
    scenes = open_dataset(get_dataset("scenes-seen-boxes"), None)
    images = TrainingImages(scenes, scenes.numbers("train"), plain, replace(DETECTION_FROZEN, steps=6))
    for pictures, targets in box_batches(images, lambda objects: {"boxes": torch.from_numpy(objects.boxes)}, 0):
        for picture, target in zip(pictures, targets, strict=True):
            ink = picture[0] > 0.25
            for left, top, right, bottom in target["boxes"].long().tolist():
                ink[top:bottom, left:right] = False
            assert not ink.any()

"""What an extraction notes of the cost of features, beside the store."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_extract import SETTINGS, means, write_images
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone
from unseen.data.core.manifest import whole
from unseen.features import costs
from unseen.features.costs import COST, BackboneCost, ForwardClock, ForwardSpeed, best_known, keep_cost, read_cost
from unseen.features.extract import extract


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 6)

    def forward(self, images: Tensor) -> Tensor:
        return self.linear(images.mean((2, 3)))


def net() -> Backbone:
    return Backbone(means().spec, Net())


def speed(images: int, seconds: float = 1.0) -> ForwardSpeed:
    return ForwardSpeed(images, seconds, "CPU", "single", 3)


def test_an_extraction_notes_the_cost(tmp_path: Path) -> None:
    images = write_images(tmp_path / "images", 10)
    (store,) = extract(images, whole(images, "train"), "train", [net()], tmp_path / "stores", SETTINGS)
    cost = read_cost(store)
    assert cost is not None
    assert (cost.dimension, cost.parameters, cost.multiply_adds, cost.size) == (6, 24, 18, 16)
    assert cost.speed is not None
    assert cost.speed.images == 7  # all batches but the first, of three images
    assert cost.speed.seconds > 0
    assert (cost.speed.precision, cost.speed.batch, cost.speed.together) == ("single", 3, 1)
    # The same extraction does nothing; without the note, it is counted again, but no speed is made up.
    extract(images, whole(images, "train"), "train", [net()], tmp_path / "stores", SETTINGS)
    assert read_cost(store) == cost
    (store / COST).unlink()
    extract(images, whole(images, "train"), "train", [net()], tmp_path / "stores", SETTINGS)
    assert read_cost(store) == replace(cost, speed=None)


def test_several_representations_of_one_pass_say_so(tmp_path: Path) -> None:
    images, backbone = write_images(tmp_path / "images", 10), net()
    wide = replace(means("file.py:other"), module=Net())
    stores = extract(
        images, whole(images, "train"), "train", [backbone, wide], tmp_path / "stores", SETTINGS
    )  # two networks: each has passes of its own
    assert [cost.speed.together for store in stores if (cost := read_cost(store)) and cost.speed] == [1, 1]


def test_the_longer_measurement_is_kept(tmp_path: Path) -> None:
    backbone = net()
    for images, kept in ((50, 50), (20, 50), (80, 80)):
        keep_cost(tmp_path, backbone, speed(images))
        cost = read_cost(tmp_path)
        assert cost is not None
        assert cost.speed is not None
        assert cost.speed.images == kept
    assert cost.parameters == 24


@pytest.mark.parametrize(
    "content",
    [
        "{", "[]", '{"parameters": "many"}', '{"parameters": -1}', '{"unknown": 1}',
        json.dumps({"speed": vars(speed(10, 0.0))}), json.dumps({"speed": vars(speed(0))}),
        json.dumps({"speed": vars(replace(speed(10), quartiles=(1.0, 0.5, 2.0)))}),
    ],
)  # fmt: skip
def test_a_damaged_note_is_no_note(tmp_path: Path, content: str) -> None:
    (tmp_path / COST).write_text(content)
    assert read_cost(tmp_path) is None


def test_the_first_pass_is_left_out_if_there_are_others() -> None:
    clock = ForwardClock(torch.device("cpu"))
    assert clock.speed("single", 4, 1) is None
    with clock.timing(4):
        pass
    one = clock.speed("single", 4, 1)
    assert one is not None
    assert one.images == 4
    with clock.timing(3):
        pass
    two = clock.speed("single", 4, 1)
    assert two is not None
    assert two.images == 3


def test_the_best_known_cost() -> None:
    bare, short, long = BackboneCost(6), BackboneCost(6, speed=speed(10)), BackboneCost(6, speed=speed(90))
    assert best_known([None, bare, short, long]) == long
    assert best_known([bare, None]) == bare
    assert best_known([None]) is None


def test_a_slow_pass_does_not_change_the_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 9.0, 0.0, 1.0, 0.0, 1.2, 0.0, 1.1, 0.0, 30.0, 0.0, 1.0])
    monkeypatch.setattr(costs, "perf_counter", lambda: next(times))
    clock = ForwardClock(torch.device("cpu"))
    for _ in range(6):
        with clock.timing(10):
            pass
    found = clock.speed("single", 10, 1)
    assert found is not None
    assert found.quartiles == pytest.approx((0.1, 0.11, 0.12))
    assert (found.rate, found.spread) == pytest.approx((1 / 0.11, 1.2))
    assert found.seconds == pytest.approx(34.3)


def test_the_threads_are_part_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    found = set[str]()
    for threads in (1, 2):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        clock = ForwardClock(torch.device("cpu"))
        with clock.timing(4):
            pass
        own = clock.speed("single", 4, 1)
        assert own is not None
        found.add(own.device)
    assert len(found) == 2


def test_quartiles_are_kept(tmp_path: Path) -> None:
    measured = replace(speed(50), quartiles=(0.01, 0.02, 0.03))
    keep_cost(tmp_path, net(), measured)
    found = read_cost(tmp_path)
    assert found is not None
    assert found.speed == measured

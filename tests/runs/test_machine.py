"""What jobs run on, from what a user asks for."""

from typing import Any

import pytest
import torch

from unseen.errors import UserError
from unseen.runs.machine import chosen_means, parse_devices
from unseen.runs.means import Means
from unseen.runs.process_team import environment_of


@pytest.fixture(params=[0])
def gpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: request.param)
    return int(request.param)


@pytest.mark.parametrize("gpus", [4], indirect=True)
def test_some_or_all_gpus(gpus: int) -> None:
    assert parse_devices("0, 3") == ("cuda:0", "cuda:3")
    assert parse_devices([1]) == ("cuda:1",)
    assert parse_devices("all") == tuple(f"cuda:{number}" for number in range(gpus))
    assert chosen_means(2, every_gpu=True).places == 4
    assert chosen_means(2) == Means(2)
    for wrong, said in (("4", "4 GPUs"), ("cpu", "CUDA_VISIBLE"), ("0,cpu", "mixed"), ("1,1", "twice"), ("one", "one")):
        with pytest.raises(UserError, match=said):
            parse_devices(wrong)


@pytest.mark.usefixtures("gpus")
def test_cpus_stand_in_for_gpus_where_there_are_none() -> None:
    assert chosen_means(7, devices="cpu,cpu") == Means(2, devices=("cpu", "cpu"))
    assert chosen_means(2, every_gpu=True) == Means(2)
    for wrong in ("all", "0"):
        with pytest.raises(UserError, match="no GPU"):
            parse_devices(wrong)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"executor": "rai"}, "did you mean ray"),
        ({"executor": "processes:auto"}, "only ray has an address"),
        ({"executor": "ray:"}, "only ray has an address"),
        ({"executor": "ray", "devices": "0"}, "leave out one"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        chosen_means(1, **options)


def test_a_process_sees_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert environment_of(None) == {}
    assert environment_of("cpu") == {"CUDA_VISIBLE_DEVICES": ""}
    assert environment_of("cuda:2") == {"CUDA_VISIBLE_DEVICES": "2"}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,GPU-abc")
    assert environment_of("cuda:1") == {"CUDA_VISIBLE_DEVICES": "GPU-abc"}

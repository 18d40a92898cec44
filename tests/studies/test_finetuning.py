"""What fine-tuning takes."""

import pytest
import torch
from torch import nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.decoding.transform import Transform
from unseen.studies import finetuning
from unseen.studies.finetuning import Steps, step_seconds, training_seconds

CPU = torch.device("cpu")


def backbone(name: str = "tiny") -> Backbone:
    module = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    module.eval().requires_grad_(False)
    return Backbone(Spec(name, "seed 0", "output", "none", 6, 0, Transform(size=7, resize=7)), module)


def test_a_step_is_measured_without_changing_the_backbone() -> None:
    model = backbone()
    before = {name: value.clone() for name, value in model.module.state_dict().items()}
    assert 0 < step_seconds(model, 64, CPU) < 60
    assert all(torch.equal(value, before[name]) for name, value in model.module.state_dict().items())


def test_a_step_of_each_backbone_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def seconds(model: Backbone, batch: int, device: torch.device) -> float:
        measured.append(model.label)
        return 2.0 * batch

    monkeypatch.setattr(finetuning, "step_seconds", seconds)
    a, b, done = backbone("a"), backbone("b"), backbone("done")
    todo = [Steps(a, 4, 10), Steps(b, 4, 1), Steps(a, 4, 5), Steps(done, 4, 0)]
    assert training_seconds(todo, CPU) == 2 * 4 * (10 + 1 + 5)
    assert measured == ["a", "b"]

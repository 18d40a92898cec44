"""What fine-tuning takes."""

import torch
from torch import nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.decoding.transform import Transform
from unseen.probes.finetuning.timing import step_seconds

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

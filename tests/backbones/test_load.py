"""Ids, and what every backbone has whatever its source."""

import copy
from pathlib import Path

import pytest
import torch
from torch import nn

from unseen.backbones.backbone import Spec, describe
from unseen.backbones.load import load_backbone, tensor_digest
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError

pytest.importorskip("timm", reason="networks to load")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet18", "a backbone is source:name"),
        ("timm:", "a backbone is source:name"),
        ("", "a backbone is source:name"),
        ("tim:resnet18", "unknown source of backbones 'tim'; did you mean timm"),
        ("zzz:resnet18", "unknown source of backbones 'zzz'; there are demo, drawings, hf, hub"),
        ("registry:no_such", "registry:no_such"),
    ],
)
def test_wrong_ids(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_backbone(name)


def test_settings_that_cannot_be() -> None:
    with pytest.raises(UserError, match="cannot be combined"):
        load_backbone("timm:test_vit", weights="random", checkpoint=Path("x.pth"))
    with pytest.raises(UserError, match="image size must be at least 1"):
        load_backbone("timm:test_vit", weights="random", size=0)


def test_random_weights_are_the_same_every_time_and_leave_the_generator_alone() -> None:
    torch.manual_seed(9)
    before = torch.get_rng_state()
    first = load_backbone("timm:test_vit", weights="random")
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(3)
    again = load_backbone("timm:test_vit", weights="random")
    assert first.spec == again.spec
    assert first.spec.weights == "random, seed 0"


def test_ready_to_extract() -> None:
    backbone = load_backbone("timm:test_efficientnet", weights="random")
    assert not any(module.training for module in backbone.module.modules())
    assert not any(parameter.requires_grad for parameter in backbone.module.parameters())
    images = torch.randn(3, 3, 160, 160)
    assert torch.allclose(backbone(images)[:1], backbone(images[:1]), atol=1e-5)


def test_a_copy_does_not_share_the_network() -> None:
    """Pooling and layers are found through the module that is run, not through the one that was loaded."""
    backbone = load_backbone("timm:test_vit", weights="random", pool="cls+avg")
    other = copy.deepcopy(backbone.module)
    images = torch.randn(1, 3, 160, 160)
    for parameter in backbone.module.parameters():
        parameter.data.zero_()
    assert other(images).abs().sum() > 0
    assert backbone(images).abs().sum() == 0


def test_digest_is_of_names_and_values() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    digest = tensor_digest(net)
    assert digest == tensor_digest(copy.deepcopy(net))
    other = copy.deepcopy(net)
    other[1].running_mean[0] = 1
    assert tensor_digest(other) != digest
    assert tensor_digest(net.half()) != digest
    assert tensor_digest(nn.Flatten()) == ""


def test_description_in_words() -> None:
    spec = Spec("timm:x", "x.y", "penultimate", "cls", 192, 5_524_416, Transform(resize=248), "ab" * 32)
    lines = dict(describe(spec))
    assert lines["features"] == "192 dimensions, from the layer before the classifier"
    assert lines["pooling"] == "class token"
    assert lines["parameters"] == "5,524,416 without the classifier"
    assert lines["resize"] == "shortest side to 248 pixels, bicubic"
    assert lines["crop"] == "centre, 224 × 224 pixels"
    assert lines["pixels"] == "RGB in 0…1, minus (0.485, 0.456, 0.406), divided by (0.229, 0.224, 0.225)"
    other = Spec("onnx:x", "x", "map", "none", 5, 1, Transform(resize=None, squash=True))
    lines = dict(describe(other))
    assert lines["resize"] == "as it is"
    assert lines["features"] == "5 dimensions, from the layer map"
    assert "tensors" not in lines


def saved(path: Path, seed: int) -> Path:
    import timm

    torch.manual_seed(seed)
    torch.save({"state_dict": timm.create_model("test_resnet", num_classes=0).state_dict()}, path)
    return path


def test_a_file_of_weights_behind_an_architecture(tmp_path: Path) -> None:
    first, second = (saved(tmp_path / f"{name}.pth", seed) for seed, name in enumerate(("moco", "swav")))
    found = load_backbone(f"timm:test_resnet@{first}")
    assert found.spec == load_backbone("timm:test_resnet", checkpoint=first).spec
    assert found.spec.id == "timm:test_resnet"  # where the file lies does not decide features
    assert found.label == "timm:test_resnet@moco.pth"
    assert load_backbone(f"timm:test_resnet@{second}").spec.digest != found.spec.digest
    with pytest.raises(UserError, match="leave out the other checkpoint"):
        load_backbone(f"timm:test_resnet@{first}", checkpoint=second)
    with pytest.raises(UserError, match="source:architecture@file"):
        load_backbone("timm:test_resnet@")
    with pytest.raises(UserError, match="no such checkpoint file"):
        load_backbone("timm:test_resnet@nothing.pth")


def test_normalisation_is_part_of_what_features_are_of(tmp_path: Path) -> None:
    usual = load_backbone("timm:test_resnet", weights="random").spec
    spec = load_backbone("timm:test_resnet", weights="random", normalise="none").spec
    assert (spec.transform.mean, spec.transform.std) == ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    assert spec.transform != usual.transform
    assert spec.digest == usual.digest
    with pytest.raises(UserError, match="imagenet, none, half, clip, not 'simclr'"):
        load_backbone("timm:test_resnet", weights="random", normalise="simclr")

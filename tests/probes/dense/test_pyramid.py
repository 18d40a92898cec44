"""Maps inside backbones, frozen and dilated."""

import pytest
import timm
import torch
from torchvision.models import resnet18
from torchvision.models.resnet import Bottleneck, ResNet

from unseen.backbones.load import load_backbone
from unseen.errors import UserError
from unseen.probes.dense.bodies import extension_of, frozen_last_map, own_maps
from unseen.probes.dense.protocols import DETECTION_FINETUNED, DETECTION_FROZEN, NORMALS, SEGMENTATION
from unseen.probes.dense.pyramid import FrozenNorms, Pyramid, dilate, freeze_early_stages


@pytest.mark.parametrize(
    ("name", "channels"),
    [
        ("timm:resnet18", (64, 128, 256, 512)),
        ("torchvision:resnet18", (64, 128, 256, 512)),
        ("timm:mobilenetv3_small_050", None),
    ],
)
def test_maps_of_cnns(name: str, channels: tuple[int, ...] | None) -> None:
    pyramid = own_maps(load_backbone(name, weights="random"))
    assert pyramid is not None
    maps = pyramid(torch.rand(1, 3, 64, 96))
    assert [each.shape[2:] for each in maps.values()] == [(16, 24), (8, 12), (4, 6), (2, 3)]
    assert channels is None or pyramid.channels == channels


def test_what_goes_beyond_the_paper() -> None:
    names = ("timm:resnet10t", "timm:mobilenetv3_small_050", "timm:vit_tiny_patch16_224")
    asked = (DETECTION_FROZEN, DETECTION_FINETUNED, NORMALS, SEGMENTATION)
    found = [
        [extension_of(load_backbone(name, size=64, weights="random"), protocol) for protocol in asked] for name in names
    ]
    assert found == [
        [None, None, None, None],
        ["other-last-stage", None, "other-dilation", None],
        ["simple-pyramid", "simple-pyramid", "plain-map", "simple-pyramid"],
    ]


def test_the_last_stage_of_another_cnn_is_what_follows_its_third_map() -> None:
    """timm's EfficientNet has the maps of strides 4 to 32 at the ends of stages 1, 2, 4 and 6."""
    network = timm.create_model("tf_efficientnet_lite0", num_classes=0)
    pyramid = Pyramid(network)
    freeze_early_stages(pyramid)
    trained = {name for name, each in network.named_parameters() if each.requires_grad}
    assert {".".join(name.split(".")[:2]) for name in trained} == {"blocks.5", "blocks.6"}
    assert trained == {name for name, _ in network.named_parameters() if name.startswith(("blocks.5", "blocks.6"))}


def test_the_last_stage_trains_and_batch_norms_do_not() -> None:
    network = FrozenNorms(Pyramid(resnet18()))
    freeze_early_stages(network.network)  # type: ignore[arg-type]
    network.train()
    trained = {name.split(".")[2] for name, each in network.named_parameters() if each.requires_grad}
    assert trained == {"layer4"}
    assert not any("bn" in name for name, each in network.named_parameters() if each.requires_grad)
    before = {name: each.clone() for name, each in network.named_buffers()}
    network(torch.rand(2, 3, 64, 64))
    assert all(torch.equal(before[name], each) for name, each in network.named_buffers())


def test_dilation_is_torchvisions() -> None:
    torch.manual_seed(0)
    plain = ResNet(Bottleneck, [1, 2, 2, 2])
    expected = ResNet(Bottleneck, [1, 2, 2, 2], replace_stride_with_dilation=[False, True, True])
    expected.load_state_dict(plain.state_dict())
    dilate(Pyramid(plain))
    x = torch.rand(1, 3, 64, 64)
    for network in (plain, expected):
        network.eval()
        network.fc = network.avgpool = torch.nn.Identity()
    with torch.no_grad():
        found = plain(x)
        assert torch.equal(found, expected(x))
    assert found.shape[1] == 2048 * 8 * 8


def test_dilation_of_another_cnn_is_timms() -> None:
    torch.manual_seed(0)
    plain = timm.create_model("mobilenetv3_small_050", num_classes=0)
    expected = timm.create_model("mobilenetv3_small_050", features_only=True, output_stride=8, out_indices=(3, 4))
    expected.load_state_dict(plain.state_dict(), strict=False)
    pyramid = Pyramid(plain)
    dilate(pyramid)
    x = torch.rand(1, 3, 64, 96)
    with torch.no_grad():
        found, last = pyramid.eval()(x)["3"], expected.eval()(x)[-1]
    assert found.shape[2:] == (8, 12)
    assert torch.allclose(found, last, atol=1e-6)


def test_a_cnn_without_padding_to_dilate_is_refused() -> None:
    with pytest.raises(UserError, match="dilated"):
        frozen_last_map(load_backbone("timm:convnext_atto", size=64, weights="random"))

"""Maps inside backbones, frozen and dilated."""

import pytest
import torch
from torchvision.models import resnet18
from torchvision.models.resnet import Bottleneck, ResNet

from unseen.backbones.load import load_backbone
from unseen.errors import UserError
from unseen.probes.dense.pyramid import FrozenNorms, Pyramid, dilate, freeze_early_stages, pyramid_of


@pytest.mark.parametrize(
    ("name", "channels"),
    [
        ("timm:resnet18", (64, 128, 256, 512)),
        ("torchvision:resnet18", (64, 128, 256, 512)),
        ("timm:mobilenetv3_small_050", None),
    ],
)
def test_maps_of_cnns(name: str, channels: tuple[int, ...] | None) -> None:
    pyramid = pyramid_of(load_backbone(name, weights="random"))
    maps = pyramid(torch.rand(1, 3, 64, 96))
    assert [each.shape[2:] for each in maps.values()] == [(16, 24), (8, 12), (4, 6), (2, 3)]
    assert channels is None or pyramid.channels == channels


def test_a_network_with_one_resolution_is_refused() -> None:
    with pytest.raises(UserError, match="strides"):
        pyramid_of(load_backbone("timm:vit_tiny_patch16_224", size=128, weights="random"))


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
    dilate(plain)
    x = torch.rand(1, 3, 64, 64)
    for network in (plain, expected):
        network.eval()
        network.fc = network.avgpool = torch.nn.Identity()
    with torch.no_grad():
        found = plain(x)
        assert torch.equal(found, expected(x))
    assert found.shape[1] == 2048 * 8 * 8

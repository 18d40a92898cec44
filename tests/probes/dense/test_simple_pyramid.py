"""Four maps from one: sizes and places by hand, and what trains of a network under them."""

from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone
from unseen.backbones.load import Extractor, load_backbone
from unseen.data.core.dense.labels import Objects
from unseen.errors import UserError
from unseen.probes.dense.bodies import body_with_maps
from unseen.probes.dense.detector import as_targets, faster_rcnn
from unseen.probes.dense.predictors import map_predictor
from unseen.probes.dense.protocols import NORMALS, SEGMENTATION
from unseen.probes.dense.simple_pyramid import SimplePyramid, SquareMap, square_map


def means(patch: int, _: nn.Module, images: Tensor) -> Tensor:
    """The mean of each patch, as the map of a ViT would be laid out."""
    return torch.nn.functional.avg_pool2d(images, patch)


def square(side: int, stride: int, patch: int = 16) -> SquareMap:
    step = partial(means, patch)
    return SquareMap(Extractor(nn.Identity(), step, step), side, stride)


def tiny_vit(size: int = 64) -> Backbone:
    return load_backbone("timm:test_vit", size=size, weights="random")


def test_patches_of_images_that_fit_are_given_as_they_are() -> None:
    images = torch.rand(2, 3, 64, 96)
    found = square(128, 16)(images)
    assert torch.allclose(found, torch.nn.functional.avg_pool2d(images, 16), atol=1e-5)


def test_cells_are_where_they_are_in_the_image() -> None:
    """A ramp of x/8 + y/4 is read at the centres of cells, whatever the patches and however much images shrink."""
    y, x = torch.meshgrid(torch.arange(96) + 0.5, torch.arange(192) + 0.5, indexing="ij")
    ramp = (x / 8 + y / 4).expand(1, 3, -1, -1)
    for side, stride, patch in ((192, 8, 4), (96, 16, 4), (384, 32, 8)):
        found = square(side, stride, patch)(ramp)
        rows, columns = (torch.arange(whole // stride) * stride + stride / 2 for whole in (96, 192))
        expected = columns[None] / 8 + rows[:, None] / 4
        assert found.shape == (1, 3, *expected.shape)
        assert torch.allclose(found[0, 0, 1:-1, 1:-1], expected[1:-1, 1:-1], atol=1e-3)


def test_sizes_and_parameters_of_the_four_maps() -> None:
    source = square(128, 16)
    source.channels = 8
    source.network.map_step = lambda _, images: means(16, _, images).repeat(1, 3, 1, 1)[:, :8]
    pyramid = SimplePyramid(source)
    maps = pyramid(torch.rand(1, 3, 64, 96))
    assert [tuple(each.shape) for each in maps.values()] == [
        (1, 256, 16, 24), (1, 256, 8, 12), (1, 256, 4, 6), (1, 256, 2, 3)
    ]  # fmt: skip
    norm, wide = 2 * 256, 256 * 256 * 9
    doubled = 8 * 4 * 4 + 4
    finest = doubled + 2 * 4 + 4 * 2 * 4 + 2
    expected = [finest + 2 * 256, doubled + 4 * 256, 8 * 256, 8 * 256]
    counted = [sum(each.numel() for each in level.parameters()) for level in pyramid.levels]
    assert counted == [each + wide + 2 * norm for each in expected]
    with pytest.raises(UserError, match="16"):
        SimplePyramid(square(128, 8))


@pytest.mark.parametrize("frozen", [False, True])
def test_gradients_reach_the_network_of_a_detector_unless_it_is_frozen(*, frozen: bool) -> None:
    backbone = tiny_vit()
    model = faster_rcnn(
        body_with_maps(backbone), 3, backbone.spec.transform, frozen=frozen, sides=(64,), longest=96
    ).train()
    images, objects = [torch.rand(3, 64, 64)], Objects.of([[5, 5, 40, 50]], [1])
    losses = model(images, [as_targets(objects, "cpu")])
    torch.stack(list(losses.values())).sum().backward()
    reached = {name for name, each in backbone.module.named_parameters() if each.grad is not None}
    assert any("blocks.0" in name for name in reached) != frozen
    assert bool(reached) != frozen
    assert all(each.grad is not None for each in model.backbone.body.network.levels.parameters())
    assert backbone.module.training != frozen


def test_networks_for_maps() -> None:
    images = torch.rand(2, 3, 64, 96)
    upernet = map_predictor(tiny_vit(), 5, SEGMENTATION, seed=0).train()
    assert upernet(images).shape == (2, 5, 16, 24)
    assert all(each.requires_grad for each in upernet.parameters())
    backbone = tiny_vit()
    psp = map_predictor(backbone, 40, NORMALS, seed=0).train()
    scores = psp(images)
    assert scores.shape == (2, 40, 8, 12)
    scores.sum().backward()
    assert all(each.grad is None for each in backbone.module.parameters())


def test_a_vit_of_torchvision_gives_maps_at_any_size() -> None:
    source = square_map(load_backbone("torchvision:vit_b_32", size=96, weights="random"), 16)
    with torch.inference_mode():
        assert source(torch.rand(1, 3, 64, 96)).shape == (1, 768, 4, 6)


def test_a_transformers_model_gives_maps_at_any_size(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=32, patch_size=8
    )
    transformers.ViTModel(config).save_pretrained(tmp_path)
    transformers.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
    source = square_map(load_backbone(f"hf:{tmp_path}", size=96), 16)
    assert source(torch.rand(1, 3, 64, 96)).shape == (1, 32, 4, 6)


def test_a_backbone_of_vectors_is_refused() -> None:
    with pytest.raises(UserError, match="test"):
        square_map(Backbone(tiny_vit().spec, nn.Flatten()), 16)

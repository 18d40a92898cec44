"""Features of positions, from every kind of source: pooled, they are the features of the image."""

from pathlib import Path

import pytest
import torch

from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone, open_backbone, with_patches
from unseen.backbones.patches import PatchSpec, drawn_positions
from unseen.errors import UserError

SIZE = 64


def images(backbone: Backbone) -> torch.Tensor:
    side = backbone.spec.transform.size
    return torch.rand(2, 3, side, side, generator=torch.Generator().manual_seed(0))


def maps(backbone: Backbone) -> torch.Tensor:
    """(b, positions, channels)."""
    spec = backbone.spec
    assert isinstance(spec, PatchSpec)
    with torch.inference_mode():
        return backbone(images(backbone)).reshape(2, spec.positions, spec.channels)


@pytest.mark.parametrize(
    ("name", "size", "grid", "channels"),
    [
        ("timm:resnet18", SIZE, (2, 2), 512),
        ("timm:vit_tiny_patch16_224", SIZE, (4, 4), 192),
        pytest.param("timm:swin_tiny_patch4_window7_224", None, (7, 7), 768, marks=pytest.mark.long_suite),
        ("torchvision:resnet18", SIZE, (2, 2), 512),
        ("torchvision:swin_t", SIZE, (2, 2), 768),
        pytest.param("torchvision:vit_b_32", None, (7, 7), 768, marks=pytest.mark.long_suite),
        pytest.param("openclip:RN50", None, (7, 7), 2048, marks=pytest.mark.long_suite),
    ],
)
def test_grids(name: str, size: int | None, grid: tuple[int, int], channels: int) -> None:
    backbone = load_backbone(name, size=size, weights="random", patches=True)
    assert isinstance(backbone.spec, PatchSpec)
    assert (backbone.spec.grid, backbone.spec.channels) == (grid, channels)
    assert backbone.spec.transform.squash
    assert maps(backbone).shape == (2, grid[0] * grid[1], channels)


@pytest.mark.parametrize("name", ["timm:resnet18", "torchvision:resnet18"])
def test_the_mean_over_positions_is_the_pooled_feature(name: str) -> None:
    spatial = load_backbone(name, size=SIZE, weights="random", patches=True)
    pooled = load_backbone(name, size=SIZE, weights="random")
    with torch.inference_mode():
        expected = pooled(images(pooled))
    assert torch.allclose(maps(spatial).mean(dim=1), expected, atol=1e-5)


def test_positions_are_row_by_row() -> None:
    """A change in one corner of the image reaches its own position of the first block alone."""
    backbone = load_backbone(
        "timm:vit_tiny_patch16_224", size=SIZE, weights="random", patches=True, layer="patch_embed"
    )
    before = maps(backbone)
    changed = images(backbone)
    changed[:, :, :16, 32:48] += 1
    with torch.inference_mode():
        after = backbone(changed).reshape(before.shape)
    assert [place for place in range(16) if not torch.equal(before[:, place], after[:, place])] == [2]


def test_a_fixed_draw_of_positions() -> None:
    whole = load_backbone("timm:vit_tiny_patch16_224", size=SIZE, weights="random", patches=True)
    drawn = load_backbone("timm:vit_tiny_patch16_224", size=SIZE, weights="random", patches=5)
    places = drawn_positions(16, 5)
    assert len(set(places)) == 5
    assert torch.equal(maps(drawn), maps(whole)[:, places])
    with pytest.raises(UserError, match="cannot draw 17 of 16 patches"):
        load_backbone("timm:vit_tiny_patch16_224", size=SIZE, weights="random", patches=17)


def test_a_python_file_that_returns_maps_or_vectors(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(
        "from torch import nn\nfrom unseen.data.core.decoding.transform import Transform\n"
        "def maps():\n    return nn.Conv2d(3, 5, 8, 8), Transform(size=32, resize=32)\n"
        "def vector():\n    return nn.Sequential(nn.Conv2d(3, 5, 8, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten()), "
        "Transform(size=32, resize=32)\n"
    )
    spec = load_backbone(f"{path}:maps", patches=True).spec
    assert isinstance(spec, PatchSpec)
    assert (spec.grid, spec.channels) == ((4, 4), 5)
    with pytest.raises(UserError, match="no patches"):
        load_backbone(f"{path}:vector", patches=True)
    with pytest.raises(UserError, match="pool=.avg."):
        load_backbone(f"{path}:maps", patches=True, pool="avg")


def test_a_transformers_model(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=32, patch_size=8
    )
    transformers.ViTModel(config).save_pretrained(tmp_path)
    transformers.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
    spec = load_backbone(f"hf:{tmp_path}", patches=True).spec
    assert isinstance(spec, PatchSpec)
    assert (spec.grid, spec.channels) == ((4, 4), 32)


@pytest.mark.parametrize("name", ["timm:test_vit", "timm:vit_tiny_patch16_224"])
def test_several_layers_have_the_patches_of_the_own_one_or_are_refused(name: str) -> None:
    found = open_backbone(name, size=32, weights="random")
    own, every = found.backbone(patches=True), found.layer_names(["all"])
    pattern = every[0].rpartition(".")[0] + ".*"
    for words in (["all"], [pattern], [every[0], "own"], [every[0], own.spec.layer], ["own"]):
        assert found.backbone(found.patch_layer(words), patches=True).spec == own.spec
    assert found.patch_layer([]) is None
    assert found.patch_layer([every[0]]) == every[0]
    for words in (every[:2], ["+".join(every[:2])]):
        with pytest.raises(UserError, match="one layer"):
            found.patch_layer(words)


def test_patches_of_the_last_blocks_are_those_of_their_vectors() -> None:
    """The mean over patches is the last part of `last-4` with `cls+avg`, also from a backbone that is loaded."""
    found = open_backbone("timm:test_vit", size=32, weights="random")
    vectors = found.backbone("last-4", "cls+avg")
    spatial = found.backbone("last-4", patches=True)
    assert spatial.spec.layer == "last-1"
    given = with_patches(vectors, True)
    assert given.spec == spatial.spec
    torch.testing.assert_close(maps(given), maps(spatial))
    with torch.inference_mode():
        means = vectors(images(vectors)).chunk(5, dim=1)[-1]
    torch.testing.assert_close(maps(spatial).mean(dim=1), means)
    with pytest.raises(UserError, match="one layer"):
        with_patches(found.backbone("blocks.1+blocks.3"), True)

"""What backbones saw, from the ids and tags that libraries really use."""

import pytest

from unseen.backbones.backbone import RANDOM
from unseen.backbones.catalogue import catalogue
from unseen.backbones.training_data import TrainingData, published_as, trained_on

FILE = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("name", "weights", "data"),
    [
        ("timm:vit_base_patch16_224.augreg_in21k", "vit_base_patch16_224.augreg_in21k", ("imagenet-21k",)),
        ("timm:convnext_tiny", "convnext_tiny.in12k_ft_in1k", ("imagenet-21k",)),
        ("timm:convnext_base.fb_in22k_ft_in1k", "convnext_base.fb_in22k_ft_in1k", ("imagenet-21k",)),
        ("timm:resnext101_32x8d.fb_wsl_ig1b_ft_in1k", "resnext101_32x8d.fb_wsl_ig1b_ft_in1k", ("web",)),
        ("timm:resnet50_clip.openai", "resnet50_clip.openai", ("web",)),
        ("timm:vit_base_patch14_dinov2.lvd142m", "vit_base_patch14_dinov2.lvd142m", ("web",)),
        ("timm:tf_efficientnet_b4.ns_jft_in1k", "tf_efficientnet_b4.ns_jft_in1k", ("web",)),
        ("timm:vit_base_patch16_siglip_224.webli", "vit_base_patch16_siglip_224.webli", ("web",)),
        ("torchvision:vit_b_16.IMAGENET1K_SWAG_LINEAR_V1", "vit_b_16.IMAGENET1K_SWAG_LINEAR_V1", ("web",)),
        ("openclip:ViT-B-32.laion2b_s34b_b79k", "ViT-B-32.laion2b_s34b_b79k", ("web",)),
        ("openclip:my-folder", "of a folder", ("web",)),
        (
            "timm:vit_base_patch32_clip_224.laion2b_ft_in12k_in1k",
            "vit_base_patch32_clip_224.laion2b_ft_in12k_in1k",
            ("web", "imagenet-21k"),
        ),
        ("timm:resnet50.a1_in1k", FILE, ("unknown",)),
        ("timm:vit_so150m.a_tag_of_next_year", "vit_so150m.a_tag_of_next_year", ("unknown",)),
        ("hub:facebookresearch/dino:main:dino_resnet50", "as the hub gives them", ("unknown",)),
        ("hf:microsoft/resnet-50", "revision abc", ("unknown",)),
        ("onnx:model.onnx", FILE, ("unknown",)),
        ("nets/mine.py:build", f"{FILE} (mine.py)", ("unknown",)),
        ("features", "", ("unknown",)),
        ("timm:resnet50.a1_in1k", "resnet50.a1_in1k", ()),
        ("timm:vit_base_patch16_224.mae", "vit_base_patch16_224.mae", ()),
        ("torchvision:resnet50", "resnet50.IMAGENET1K_V2", ()),
        ("registry:efficientnet_lite0", FILE, ()),
        ("timm:vit_base_patch16_224.augreg_in21k", RANDOM, ()),
        ("openclip:RN50", RANDOM, ()),
    ],
)
def test_training_data(name: str, weights: str, data: tuple[TrainingData, ...]) -> None:
    assert trained_on(name, weights) == data


def test_it_agrees_with_the_papers_own_list() -> None:
    for model in catalogue("cog-v2"):
        if model.id is not None:
            assert bool(trained_on(model.id, model.weights)) == bool(model.extra_data), model.name


def test_a_published_model_is_known_by_its_weights() -> None:
    def name(backbone: str, weights: str) -> str | None:
        model = published_as(backbone, weights)
        return model.name if model else None

    assert name("torchvision:resnet50.IMAGENET1K_V1", "resnet50.IMAGENET1K_V1") == "ResNet50"
    assert name("openclip:RN50.openai", "RN50.openai, QuickGELU") == "d-CLIP"
    # A name without a tag has the library's default weights.
    assert name("timm:deit_small_patch16_224", "deit_small_patch16_224.fb_in1k") == "a-DeiT-S"
    assert name("torchvision:resnet50", "resnet50.IMAGENET1K_V2") is None
    # Somebody else's weights in the same architecture.
    assert name("torchvision:resnet50.IMAGENET1K_V1", FILE) is None
    assert name("torchvision:resnet50.IMAGENET1K_V1", RANDOM) is None

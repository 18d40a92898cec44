"""timm's networks: features before the classifier, and the transform that timm itself would use."""

import pytest
import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone, Pool, describe
from unseen.backbones.load import load_backbone
from unseen.backbones.network import Request, downloading
from unseen.backbones.sources.timm_source import timm_transform
from unseen.errors import UserError

timm = pytest.importorskip("timm", reason="networks of timm")

FAMILIES = [  # (name, dimension, pooling); timm's own small members of its large families, and one as it is used
    ("resnet18.a1_in1k", 512, "avg"),
    ("deit_tiny_distilled_patch16_224", 192, "none"),  # the mean of two tokens
    ("mobilenetv3_small_050", 1024, "avg"),
    ("test_resnet", 96, "avg"),
    ("test_convnext", 64, "avg"),
    ("test_efficientnet", 256, "avg"),
    ("test_vit", 64, "cls"),
    ("test_vit2", 64, "avg"),
    ("test_vit3", 96, "none"),  # pooled by attention
    ("test_mambaout", 256, "none"),  # a layer between pooling and classifier
]


def images(backbone: Backbone) -> Tensor:
    size = backbone.spec.transform.size
    return torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("name", "dimension", "pool"), FAMILIES)
def test_features_are_what_the_classifier_is_given(name: str, dimension: int, pool: str) -> None:
    backbone = load_backbone(f"timm:{name}", weights="random")
    spec = backbone.spec
    assert (spec.dimension, spec.pool, spec.layer) == (dimension, pool, "penultimate")
    whole = timm.create_model(name, pretrained=False).eval()
    assert not whole.load_state_dict(backbone.module.network.state_dict(), strict=False).unexpected_keys
    with torch.inference_mode():
        expected = whole.forward_head(whole.forward_features(images(backbone)), pre_logits=True)
        torch.testing.assert_close(backbone(images(backbone)), expected)
    heads = whole.get_classifier()
    heads = heads if isinstance(heads, tuple) else (heads,)
    classifier = sum(parameter.numel() for head in heads for parameter in head.parameters())
    assert spec.parameters == sum(parameter.numel() for parameter in whole.parameters()) - classifier


@pytest.mark.parametrize(("name", "pool"), [("test_resnet", "avg"), ("test_vit", "cls"), ("test_vit2", "avg")])
def test_the_networks_own_pooling_can_be_asked_for(name: str, pool: Pool) -> None:
    own = load_backbone(f"timm:{name}", weights="random")
    asked = load_backbone(f"timm:{name}", weights="random", pool=pool)
    assert own.spec == asked.spec
    assert torch.equal(own(images(own)), asked(images(own)))


def test_tokens_pooled_as_asked() -> None:
    name = "timm:test_vit"
    own = load_backbone(name, weights="random")
    tokens = own.module.network.forward_features(images(own))
    mean = tokens[:, 1:].mean(1)
    asked: list[tuple[Pool, Tensor]] = [("avg", mean), ("cls+avg", torch.cat([tokens[:, 0], mean], 1))]
    for pool, expected in asked:
        backbone = load_backbone(name, weights="random", pool=pool)
        torch.testing.assert_close(backbone(images(own)), expected)
        assert (backbone.spec.dimension, backbone.spec.pool) == (expected.shape[1], pool)


@pytest.mark.parametrize("name", ["deit_tiny_distilled_patch16_224", "pit_ti_distilled_224"])
def test_the_class_token_of_a_distilled_network_is_that_token_alone(name: str) -> None:
    backbone = load_backbone(f"timm:{name}", weights="random", pool="cls")
    tokens = backbone.module.network.forward_features(images(backbone))
    assert backbone.spec.pool == "cls"
    torch.testing.assert_close(backbone(images(backbone)), tokens[:, 0])
    own = load_backbone(f"timm:{name}", weights="random")
    torch.testing.assert_close(own(images(own)), (tokens[:, 0] + tokens[:, 1]) / 2)
    assert ("pooling", "none: the network already gives one vector") in describe(own.spec)


def test_registers_are_neither_class_token_nor_part_of_the_mean() -> None:
    backbone = load_backbone("timm:test_vit2", weights="random", layer="blocks.3")
    model = backbone.module.network
    assert (model.num_prefix_tokens, model.cls_token) == (1, None)
    tokens = model.forward_features(images(backbone))  # there is no norm before the pooling in this one
    torch.testing.assert_close(backbone(images(backbone)), tokens[:, 1:].mean(1))
    with pytest.raises(UserError, match="has no class token"):
        load_backbone("timm:test_vit2", weights="random", pool="cls")


def test_other_pooling_goes_through_the_norm_after_pooling() -> None:
    """A network that normalises what it has pooled must do so to whatever is pooled."""
    name = "timm:vit_tiny_patch16_224.augreg_in21k"
    backbone = load_backbone(name, weights="random", pool="avg", size=64)
    model = backbone.module.network
    model.fc_norm = nn.LayerNorm(192)
    model.fc_norm.weight.data.fill_(3.0)
    torch.testing.assert_close(
        backbone(images(backbone)), model.fc_norm(model.forward_features(images(backbone))[:, 1:].mean(1))
    )


@pytest.mark.parametrize(("name", "size"), [("resnet18.a1_in1k", None), ("test_vit", 96), ("test_efficientnet", 131)])
def test_transform_is_timms(name: str, size: int | None) -> None:
    """Against the objects that timm builds for evaluation."""
    from timm.data import create_transform, resolve_model_data_config

    transform = load_backbone(f"timm:{name}", weights="random", size=size).spec.transform
    model = timm.create_model(name)
    config = resolve_model_data_config(model, args={"img_size": size} if size else None)
    resize, crop, _, normalize = create_transform(**config).transforms
    assert (transform.resize, transform.size) == (resize.size, crop.size[0])
    assert transform.interpolation == resize.interpolation.value
    assert transform.mean == pytest.approx(normalize.mean.tolist())
    assert transform.std == pytest.approx(normalize.std.tolist())
    assert not transform.squash


@pytest.mark.parametrize("mode", ["squash", "border"])
def test_squashed_and_padded_images(mode: str) -> None:
    """By the configuration of a network in timm, with the crop modes that some of its large networks have."""
    from timm.models import get_pretrained_cfg

    model = nn.Module()
    model.pretrained_cfg = get_pretrained_cfg("resnet18.a1_in1k").to_dict() | {"crop_mode": mode}
    request = Request("timm:resnet18.a1_in1k", "resnet18.a1_in1k")
    if mode == "squash":
        assert timm_transform(model, request).squash
    else:
        with pytest.raises(UserError, match="pad images to a square"):
            timm_transform(model, request)


def test_channels_last_networks_are_pooled_over_positions() -> None:
    backbone = load_backbone("timm:test_mambaout", weights="random", layer="stages.1")
    rows: list[Tensor] = []
    backbone.module.network.stages[1].register_forward_hook(lambda _module, _inputs, output: rows.append(output))
    features = backbone(images(backbone))
    assert rows[0].shape[1] == rows[0].shape[2] != rows[0].shape[3]
    torch.testing.assert_close(features, rows[0].mean((1, 2)))
    first = load_backbone("timm:test_mambaout", weights="random", layer="stem.conv1")  # a convolution, channels first
    assert first.spec.dimension == first.module.network.stem.conv1.out_channels


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet19", "timm:resnet19: timm has no such model; did you mean resnet18"),
        ("resnet18.a1_in2k", "timm has no such weights; did you mean resnet18.a1_in1k"),
        ("resnet18.zzzzzz", "timm has no such weights; it has .*resnet18.tv_in1k"),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_backbone(f"timm:{name}", weights="random")


def test_no_weights_to_be_had() -> None:
    name = next(name for name in timm.list_models() if not timm.list_pretrained(f"{name}*"))
    with pytest.raises(UserError, match="no pretrained weights for it; give a checkpoint"):
        load_backbone(f"timm:{name}")


def test_failed_download_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path_factory.mktemp("cache")))
    with pytest.raises(UserError, match="run 'hf download timm/resnet18.a1_in1k'.*checkpoint=FILE.*weights=.random."):
        load_backbone("timm:resnet18.a1_in1k")


def test_the_reason_of_a_failed_download_is_its_first_sentence() -> None:
    with (
        pytest.raises(UserError, match=r"could not be loaded \(a.b is missing\); fetch it"),
        downloading("n", "fetch it"),
    ):
        raise OSError("a.b is missing. Please check\nyour connection.")


def test_a_size_it_cannot_take() -> None:
    with pytest.raises(UserError, match="does not take an image of 50 × 50 pixels"):
        load_backbone("timm:cait_xxs24_224", weights="random", size=50)

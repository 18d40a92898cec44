"""torchvision's networks: features before the classifier, and the transform that comes with the weights."""

import pytest
import torch
from torch import Tensor

from unseen.backbones.load import load_backbone
from unseen.errors import UserError

models = pytest.importorskip("torchvision.models", reason="networks of torchvision")

FAMILIES = [  # (name, layer whose input features are, dimension, pooling)
    ("resnet18", "fc", 512, "avg"),
    ("mobilenet_v3_small", "classifier.3", 1024, "none"),
    ("shufflenet_v2_x0_5", "fc", 1024, "avg"),
    ("mnasnet0_5", "classifier.1", 1280, "avg"),
    ("googlenet", "fc", 1024, "avg"),
]


def images(size: int = 224) -> Tensor:
    return torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("name", "classifier", "dimension", "pool"), FAMILIES)
def test_features_are_what_the_classifier_is_given(name: str, classifier: str, dimension: int, pool: str) -> None:
    backbone = load_backbone(f"torchvision:{name}", weights="random")
    assert (backbone.spec.dimension, backbone.spec.pool) == (dimension, pool)
    options = {"init_weights": False} if name == "googlenet" else {}
    whole = models.get_model(name, weights=None, **options).eval()
    assert not whole.load_state_dict(backbone.module.network.state_dict(), strict=False).unexpected_keys
    given: list[Tensor] = []
    whole.get_submodule(classifier).register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    with torch.inference_mode():
        whole(images())
        torch.testing.assert_close(backbone(images()), given[0].flatten(1))
    auxiliary = sum(p.numel() for key, p in whole.named_parameters() if key.startswith("aux"))
    last = sum(p.numel() for p in whole.get_submodule(classifier).parameters())
    assert backbone.spec.parameters == sum(p.numel() for p in whole.parameters()) - last - auxiliary


def test_squeezenet_without_its_last_convolution() -> None:
    backbone = load_backbone("torchvision:squeezenet1_1", weights="random")
    expected = backbone.module.network.features(images()).mean((2, 3))
    torch.testing.assert_close(backbone(images()), expected)


@pytest.mark.long_suite
def test_tokens_of_a_vit() -> None:
    """Against a plain run of its parts."""
    backbone = load_backbone("torchvision:vit_b_32", weights="random", pool="avg")
    model = backbone.module.network
    with torch.inference_mode():
        patches = model._process_input(images())
        tokens = model.encoder(torch.cat([model.class_token.expand(2, -1, -1), patches], 1))
        torch.testing.assert_close(backbone(images()), tokens[:, 1:].mean(1))
        torch.testing.assert_close(model(images()), tokens[:, 0])


@pytest.mark.parametrize("tag", ["IMAGENET1K_V1", "IMAGENET1K_V2"])
def test_transform_is_that_of_the_weights(tag: str) -> None:
    preset = models.get_weight(f"MobileNet_V2_Weights.{tag}").transforms()
    transform = load_backbone(f"torchvision:mobilenet_v2.{tag}", weights="random").spec.transform
    assert ([transform.size], [transform.resize]) == (preset.crop_size, preset.resize_size)
    assert (list(transform.mean), list(transform.std)) == (preset.mean, preset.std)
    assert transform.interpolation == preset.interpolation.value


def test_other_size_keeps_the_share_that_is_cropped() -> None:
    transform = load_backbone("torchvision:resnet18", weights="random", size=112).spec.transform
    assert (transform.size, transform.resize) == (112, 128)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet17", "torchvision has no such model; did you mean resnet18"),
        ("resnet50.V3", "it has resnet50.IMAGENET1K_V1, resnet50.IMAGENET1K_V2$"),
        ("fcn_resnet50", "torchvision has no such model"),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_backbone(f"torchvision:{name}", weights="random")


def test_failed_download_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("hub")
    monkeypatch.setattr(torch.hub, "_hub_dir", str(folder))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    with pytest.raises(UserError, match=f"fetch https://.*resnet18-f37072fd.pth .* put it into {folder}/checkpoints"):
        load_backbone("torchvision:resnet18")

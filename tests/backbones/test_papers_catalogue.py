"""The papers' models against the libraries that define them, and against what the papers print."""

from collections import Counter
from typing import Any, get_args

import pytest
import torch
from torch import nn

from unseen.backbones.catalogue import Category, Library, Normalisation, Published, Source, catalogue
from unseen.errors import UserError

COG, ERICSSON = catalogue("cog-v2"), catalogue("ericsson-2021")
ARCHITECTURES = {(model.library, model.architecture): model for model in reversed(catalogue()) if model.library}

# fmt: off
RESULT_TABLES = [  # as Tables 5 to 10 of the ImageNet-CoG supplement spell the models
    "ResNet50", "a-ResNet-152", "a-T2T-ViT-14", "a-T2T-ViTt-14", "a-DeiT-S", "a-DeiT-S distilled",
    "a-DeiT-B distilled", "a-Inception-v3", "a-EfficientNet-B1", "a-EfficientNet-B4", "a-NAT-M4", "a-VGG19",
    "s-DINO", "s-SwAV", "s-BarlowTwins", "s-OBoW", "s-BYOL", "s-SimCLR-v2", "s-MoCo-v2", "s-MoChi", "s-CompReSS",
    "s-InfoMin", "d-Semi-Sup.", "d-Semi-Weakly-Sup.", "d-MoPro", "d-CLIP", "r-ReLabel", "r-CutMix", "r-Mixup",
    "r-Manifold Mixup", "r-AdvRobust", "r-MEAL-v2",
]
# fmt: on


def by_name(models: tuple[Published, ...], name: str) -> Published:
    [model] = [model for model in models if name in {model.name, *model.also}]
    return model


def test_all_models_of_both_papers_are_there() -> None:
    assert Counter(model.category for model in COG) == {
        "reference": 1,
        "architecture": 10,
        "self-supervision": 10,
        "regularization": 6,
        "web data": 4,
    }
    assert Counter(model.category for model in ERICSSON) == {"self-supervision": 13, "reference": 1}
    assert catalogue() == COG + ERICSSON


def test_values_are_those_that_the_types_allow() -> None:
    for model in catalogue():
        assert model.category in get_args(Category)
        assert model.library in get_args(Library)
        assert model.source in get_args(Source)
        assert model.normalisation in get_args(Normalisation)
        assert model.weights
        assert model.architecture


@pytest.mark.parametrize(
    "spelling",
    RESULT_TABLES,
)
def test_every_spelling_of_the_result_tables_is_one_model(spelling: str) -> None:
    model = by_name(COG, spelling)
    letter = {"architecture": "a", "self-supervision": "s", "regularization": "r", "web data": "d"}
    assert model.name.startswith("ResNet50" if model.category == "reference" else f"{letter[model.category]}-")


def without_classifier(model: Published) -> nn.Module:
    """The architecture with random weights, on a device without memory, ending where the paper's features end."""
    if model.library == "timm":
        timm = pytest.importorskip("timm", reason="needs timm, which defines the architecture")
        # CLIP's projection is timm's classifier, and the paper keeps it.
        options = {} if model.name == "d-CLIP" else {"num_classes": 0}
        with torch.device("meta"):
            network: nn.Module = timm.create_model(model.architecture, pretrained=False, **options)
            return network
    models = pytest.importorskip("torchvision.models", reason="needs torchvision, which defines the architecture")
    unset: dict[str, Any] = {"init_weights": False} if model.architecture in {"inception_v3", "vgg19_bn"} else {}
    with torch.device("meta"):
        network = models.get_model(model.architecture, weights=None, **unset)
    *_, last = [name for name, module in network.named_modules() if isinstance(module, nn.Linear)]
    parent, _, name = last.rpartition(".")
    setattr(network.get_submodule(parent), name, nn.Identity())
    return network


@pytest.mark.parametrize("model", ARCHITECTURES.values(), ids=lambda model: model.architecture)
def test_dimension_and_parameters_are_those_of_the_architecture(model: Published) -> None:
    network = without_classifier(model).eval()
    with torch.no_grad():
        features = network(torch.empty(1, 3, model.size, model.size, device="meta"))
    assert features.shape == (1, model.dimension)
    millions = sum(parameter.numel() for parameter in network.parameters()) / 1e6
    assert abs(millions - model.parameters_millions) <= 0.05  # half of the last digit printed


def test_models_of_one_architecture_have_one_dimension_and_count() -> None:
    for model in catalogue():
        if model.library:
            first = ARCHITECTURES[model.library, model.architecture]
            assert (model.dimension, model.parameters_millions) == (first.dimension, first.parameters_millions)


def test_only_two_architectures_are_in_no_library_and_say_where_the_code_is() -> None:
    missing = [model for model in catalogue() if not model.library]
    assert [model.name for model in missing] == ["a-T2T-ViT-t-14", "a-NAT-M4"]
    assert [(model.dimension, model.parameters_millions) for model in missing] == [(384, 21.1), (1536, 7.6)]
    for model in missing:
        assert model.source == "code"
        assert model.id is None
        assert model.architecture in model.note
        assert "/" in model.repository
        timm = pytest.importorskip("timm", reason="needs timm's list of architectures")
        assert not timm.list_models(f"*{model.name[2:5].lower()}_*")


@pytest.mark.parametrize("model", [m for m in catalogue() if m.source == "timm"], ids=lambda model: model.name)
def test_timm_has_the_weights(model: Published) -> None:
    timm = pytest.importorskip("timm", reason="needs timm's list of weights")
    assert model.weights in timm.list_models(pretrained=True)
    assert model.id == f"timm:{model.weights}"
    assert model.weights.split(".")[0] == model.architecture


@pytest.mark.parametrize("model", [m for m in catalogue() if m.source == "torchvision"], ids=lambda model: model.name)
def test_torchvision_has_the_weights(model: Published) -> None:
    models = pytest.importorskip("torchvision.models", reason="needs torchvision's list of weights")
    architecture, tag = model.weights.split(".")
    assert architecture == model.architecture
    assert tag in models.get_model_weights(architecture).__members__
    assert model.id == f"torchvision:{model.weights}"


def test_open_clip_has_the_weights() -> None:
    open_clip = pytest.importorskip("open_clip", reason="needs open_clip's list of weights")
    [model] = [model for model in catalogue() if model.source == "openclip"]
    assert tuple(model.weights.split(".")) in open_clip.list_pretrained()


def test_images_are_as_large_as_the_supplement_says() -> None:
    odd = {model.name: model.size for model in catalogue() if model.size != 224}
    assert odd == {
        "a-Inception-v3": 299,
        "a-DeiT-B-distilled": 384,
        "a-EfficientNet-B1": 240,
        "a-EfficientNet-B4": 380,
    }


def test_only_web_models_saw_more_than_imagenet() -> None:
    assert {model.name for model in catalogue() if model.extra_data} == {
        m.name for m in COG if m.category == "web data"
    }


@pytest.mark.parametrize(
    ("cog", "ericsson"),
    [
        ("ResNet50", "Supervised"),
        *((f"s-{name}", name) for name in ("SimCLR-v2", "MoCo-v2", "InfoMin", "BYOL", "SwAV")),
    ],
)
def test_models_of_both_papers_have_the_same_weights(cog: str, ericsson: str) -> None:
    first, second = by_name(COG, cog), by_name(ERICSSON, ericsson)
    assert (first.source, first.weights, first.prefix) == (second.source, second.weights, second.prefix)
    assert first.normalisation == second.normalisation


def test_training_details_say_what_table_10_says() -> None:
    details = {model.name: model.training for model in ERICSSON if model.training}
    assert len(details) == 14
    assert not any(model.training for model in COG)

    def having(detail: str, value: object = True) -> set[str]:
        return {name for name, training in details.items() if getattr(training, detail) == value}

    assert having("target_network") == {"BYOL"}
    assert having("jigsaw") == {"PIRL", "InfoMin"}
    assert having("memory_bank") == {"InsDis", "PIRL", "SeLa-v2", "DeepCluster-v2"}
    assert having("momentum_encoder") == {"MoCo-v1", "PCL-v1", "PCL-v2", "MoCo-v2", "SimCLR-v2", "InfoMin"}
    assert having("projection_head", value=False) == {"InsDis", "MoCo-v1", "PCL-v1", "PIRL", "Supervised"}
    assert having("solarize") == {"BYOL", "DeepCluster-v2", "SwAV"}
    assert having("random_crop", "multi") == {"SeLa-v2", "DeepCluster-v2", "SwAV"}
    assert having("colour_jitter", "PCA") == having("grayscale", value=False) == {"Supervised"}
    assert having("epochs", 1000) == {"SimCLR-v1", "BYOL"}
    assert having("batch_size", 1024) == {"PIRL"}
    assert having("horizontal_flip") == having("normalise") == set(details)


def test_an_unknown_paper_is_named() -> None:
    with pytest.raises(UserError, match="no paper 'cog-v3' in the catalogue, only cog-v2 and ericsson-2021; did you"):
        catalogue("cog-v3")

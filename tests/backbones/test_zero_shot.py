"""Zero-shot classifiers, with a small model saved in open_clip's own format."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from unseen.backbones.classifier import ClassifierSpec
from unseen.backbones.wise_ft import write_interpolations, write_state
from unseen.backbones.zero_shot import imagenet_class_names, read_class_names, template_set, zero_shot
from unseen.errors import UserError

open_clip = pytest.importorskip("open_clip", reason="networks of open_clip")

NAMES = {"n02123045": "tabby cat", "n02085620": "Chihuahua", "n01440764": "tench"}
TEMPLATES = ("a photo of a {}.", "a drawing of the {}.", "{}")


@pytest.fixture
def saved(tmp_path: Path) -> tuple[str, Any]:
    """Id and model; its tokenizer is CLIP's own, which comes with open_clip."""
    folder = tmp_path / "model"
    folder.mkdir()
    config = {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
    }
    torch.manual_seed(3)
    model = open_clip.CLIP(**config).eval()
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": {}}))
    torch.save(model.state_dict(), folder / "open_clip_pytorch_model.bin")
    return f"openclip:{folder}", model


def images() -> torch.Tensor:
    return torch.randn(5, 3, 32, 32, generator=torch.Generator().manual_seed(1))


def test_logits_are_the_scaled_cosines_with_the_mean_sentences(saved: tuple[str, Any]) -> None:
    name, model = saved
    found = zero_shot(name, NAMES, TEMPLATES)
    tokenise = open_clip.get_tokenizer("ViT-B-32")
    with torch.no_grad():
        pictures = model.encode_image(images()).numpy()
        rows = []
        for word in NAMES.values():
            each = model.encode_text(tokenise([text.replace("{}", word) for text in TEMPLATES])).numpy()
            mean = (each / np.linalg.norm(each, axis=1, keepdims=True)).mean(axis=0)
            rows.append(mean / np.linalg.norm(mean))
        scale = float(model.logit_scale.exp())
    pictures /= np.linalg.norm(pictures, axis=1, keepdims=True)
    np.testing.assert_allclose(found(images()).numpy(), scale * pictures @ np.array(rows).T, atol=1e-4)
    assert isinstance(found.spec, ClassifierSpec)
    assert found.spec.classes == tuple(NAMES)
    assert found.spec.transform.size == 32


def test_words_decide_the_specification(saved: tuple[str, Any]) -> None:
    one, other = (zero_shot(saved[0], NAMES, templates).spec for templates in (TEMPLATES, TEMPLATES[:2]))
    assert one.digest != other.digest


def test_wise_ft_between_zero_shot_and_fine_tuned(saved: tuple[str, Any], tmp_path: Path) -> None:
    name, _ = saved
    model = zero_shot(name, NAMES, TEMPLATES)
    zero = {key: tensor.clone() for key, tensor in model.module.state_dict().items()}
    random = torch.Generator().manual_seed(5)
    fine = {key: tensor + 0.1 * torch.randn(tensor.shape, generator=random) for key, tensor in zero.items()}
    write_state(tmp_path / "zero.safetensors", zero)
    write_state(tmp_path / "fine.safetensors", fine)
    (file,) = write_interpolations(
        tmp_path / "zero.safetensors", tmp_path / "fine.safetensors", [0.25], tmp_path / "wise"
    )
    between = zero_shot(name, NAMES, TEMPLATES, checkpoint=file)
    model.module.load_state_dict({key: 0.75 * zero[key] + 0.25 * fine[key] for key in zero})
    torch.testing.assert_close(between(images()), model(images()))
    assert between.spec.weights.startswith("sha256:")


@pytest.mark.parametrize(
    ("names", "templates", "message"),
    [
        ({}, TEMPLATES, "needs class names"),
        (NAMES, (), "at least one template"),
        (NAMES, ("a photo",), "'a photo' has no {} where the name"),
    ],
)
def test_without_words_it_is_refused(names: dict[str, str], templates: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        zero_shot("openclip:ViT-B-32", names, templates)


def test_only_models_of_image_and_text() -> None:
    with pytest.raises(UserError, match="timm:test_vit: zero-shot classification needs an image-text model"):
        zero_shot("timm:test_vit", NAMES, TEMPLATES)


def test_known_templates_and_names(tmp_path: Path) -> None:
    assert len(template_set("openai")) == 80
    assert len(template_set("simple")) == 7
    assert all("{}" in text for text in template_set("openai"))
    assert (template_set("photo"), template_set("plain")) == (("a photo of a {}.",), ("{}",))
    (tmp_path / "words.txt").write_text("one {}\n\n two {}\n")
    assert template_set(tmp_path / "words.txt") == ("one {}", "two {}")
    names = imagenet_class_names()
    assert (len(names), names["n01440764"], names["n15075141"]) == (1000, "tench", "toilet paper")


def test_class_names_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("class,name\ncat,a cat\ndog,dog\n")
    assert read_class_names(tmp_path / "names.csv") == {"cat": "a cat", "dog": "dog"}
    (tmp_path / "names.csv").write_text("class,name\ncat,a cat\ncat,dog\n")
    with pytest.raises(UserError, match="line 3: cat occurs twice"):
        read_class_names(tmp_path / "names.csv")

"""open_clip, with a small model saved to a folder in its own format."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from unseen.backbones.load import load_backbone
from unseen.backbones.sources.openclip_source import is_quick
from unseen.backbones.zero_shot import zero_shot
from unseen.errors import UserError

open_clip = pytest.importorskip("open_clip", reason="networks of open_clip")

TEXT = {"context_length": 8, "vocab_size": 64, "width": 32, "heads": 2, "layers": 1}
VIT = {"image_size": 64, "layers": 2, "width": 64, "head_width": 32, "patch_size": 16}
RESNET = {"image_size": 64, "layers": [1, 1, 1, 1], "width": 8, "patch_size": None}


def save(folder: Path, vision: dict[str, Any], **preprocess: Any) -> tuple[str, Any]:
    config = {"embed_dim": 24, "vision_cfg": vision, "text_cfg": TEXT}
    torch.manual_seed(3)
    model = open_clip.CLIP(**config).eval()
    contents = {"model_cfg": config, "preprocess_cfg": preprocess}
    (folder / "open_clip_config.json").write_text(json.dumps(contents))
    torch.save(model.state_dict(), folder / "open_clip_pytorch_model.bin")
    return f"openclip:{folder}", model


def images(size: int = 64) -> Tensor:
    return torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("vision", [VIT, RESNET])
def test_features_are_the_image_embedding(tmp_path: Path, vision: dict[str, Any]) -> None:
    name, model = save(tmp_path, vision)
    backbone = load_backbone(name)
    torch.testing.assert_close(backbone(images()), model.encode_image(images()).detach())
    assert (backbone.spec.dimension, backbone.spec.layer, backbone.spec.pool) == (24, "embedding", "none")
    assert backbone.spec.parameters == sum(parameter.numel() for parameter in model.visual.parameters())


@pytest.fixture
def tagged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Puts a small model into open_clip's own tables, with weights for it where a download would leave them."""

    def add(*, by_model: bool, by_tag: bool) -> dict[str, Any]:
        config = {"embed_dim": 24, "vision_cfg": VIT, "text_cfg": TEXT | {"context_length": 77, "vocab_size": 49408}}
        table = config | ({"quick_gelu": True} if by_model else {})
        monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny", table)
        about = {"url": "none", "hf_hub": "", "mean": (0.5,) * 3, "std": (0.25,) * 3}
        known = {"web": about | ({"quick_gelu": True} if by_tag else {})}
        monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny", known)
        torch.manual_seed(3)
        torch.save(open_clip.CLIP(**config).state_dict(), tmp_path / "tiny.pt")
        monkeypatch.setattr(open_clip.factory, "download_pretrained", lambda *_, **__: str(tmp_path / "tiny.pt"))
        return config

    return add


@pytest.mark.parametrize("by_tag", [False, True])
@pytest.mark.parametrize("by_model", [False, True])
def test_weights_get_the_activation_that_they_were_trained_with(
    tagged: Callable[..., dict[str, Any]], tmp_path: Path, by_model: bool, by_tag: bool
) -> None:
    config, quick = tagged(by_model=by_model, by_tag=by_tag), by_model or by_tag
    state = torch.load(tmp_path / "tiny.pt", weights_only=True)
    both = {}
    for kind in (False, True):
        both[kind] = open_clip.CLIP(**config, quick_gelu=kind).eval()
        both[kind].load_state_dict(state)
    backbone = load_backbone("openclip:tiny.web")
    found = backbone(images())
    torch.testing.assert_close(found, both[quick].encode_image(images()).detach())
    assert (found - both[not quick].encode_image(images())).abs().max() > 1e-4
    assert backbone.spec.weights == ("tiny.web, QuickGELU" if quick else "tiny.web")
    # The text side of a zero-shot classifier too.
    sentences = open_clip.get_tokenizer("tiny")(["cat", "dog"])
    text = torch.nn.functional.normalize(both[quick].encode_text(sentences).detach())
    pictures = torch.nn.functional.normalize(found)
    logits = zero_shot("openclip:tiny.web", {"n1": "cat", "n2": "dog"}, ["{}"])(images())
    torch.testing.assert_close(logits, both[quick].logit_scale.exp().detach() * pictures @ text.T)


def test_all_tags_that_open_clip_marks() -> None:
    marked = [
        (name, tag)
        for name, tag in open_clip.list_pretrained()
        if open_clip.get_pretrained_cfg(name, tag).get("quick_gelu")
    ]
    assert {("RN50", "openai"), ("ViT-B-32", "laion400m_e32"), ("ViT-H-14", "metaclip_fullcc")} <= set(marked)
    assert all(is_quick(name, tag) for name, tag in marked)
    assert is_quick("roberta-ViT-B-32", "laion2b_s12b_b32k")  # said by the model, not by the tag
    assert not is_quick("ViT-B-32", "laion2b_s34b_b79k")


def test_layers_before_it(tmp_path: Path) -> None:
    name, model = save(tmp_path, VIT)
    caught: list[Tensor] = []
    model.visual.transformer.resblocks[1].register_forward_hook(lambda _module, _inputs, output: caught.append(output))
    model.encode_image(images())
    block = load_backbone(name, layer="transformer.resblocks.1")
    assert (block.spec.dimension, block.spec.pool) == (64, "cls")
    torch.testing.assert_close(block(images()), caught[0][:, 0].detach())
    mean = load_backbone(name, layer="transformer.resblocks.1", pool="avg")
    torch.testing.assert_close(mean(images()), caught[0][:, 1:].mean(1).detach())
    with pytest.raises(UserError, match="one vector per image, so pool=.avg. has nothing to pool"):
        load_backbone(name, pool="avg")


def test_transform(tmp_path: Path) -> None:
    name, _ = save(tmp_path, VIT, mean=[0.5] * 3, std=[0.25] * 3, interpolation="bilinear", resize_mode="squash")
    transform = load_backbone(name).spec.transform
    assert (transform.size, transform.resize, transform.squash) == (64, 64, True)
    assert (transform.mean, transform.std, transform.interpolation) == ((0.5,) * 3, (0.25,) * 3, "bilinear")
    name, _ = save(tmp_path, VIT)
    transform = load_backbone(name, size=96).spec.transform
    assert (transform.size, transform.resize, transform.squash) == (96, 96, False)
    assert transform.mean == open_clip.OPENAI_DATASET_MEAN
    name, _ = save(tmp_path, VIT, resize_mode="longest")
    with pytest.raises(UserError, match="pad images to a square"):
        load_backbone(name)


def test_a_folder_without_weights(tmp_path: Path) -> None:
    name, _ = save(tmp_path, VIT)
    (tmp_path / "open_clip_pytorch_model.bin").unlink()
    with pytest.raises(UserError, match="a folder needs open_clip_config.json and"):
        load_backbone(name)
    assert load_backbone(name, weights="random").spec.weights == "random, seed 0"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("RN5", "open_clip has no such model, nor is it a folder; did you mean RN50"),
        ("RN50.opena", "did you mean openai"),
        ("RN50", "name the weights; it has RN50.openai"),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_backbone(f"openclip:{name}")


def test_failed_download_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match="copy the Hugging Face cache"):
        load_backbone("openclip:RN50.openai")

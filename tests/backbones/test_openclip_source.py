"""open_clip, with a small model saved to a folder in its own format."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from unseen.backbones.load import load_backbone
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
    with pytest.raises(UserError, match="one vector per image, so that --pool avg has nothing to pool"):
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
        ("RN50", "say which weights; it has RN50.openai"),
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

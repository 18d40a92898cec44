"""Networks of transformers, small ones saved to a folder in its own format."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from unseen.backbones.load import load_backbone
from unseen.backbones.network import Request
from unseen.backbones.sources.hf_source import hf_transform
from unseen.errors import UserError

tr = pytest.importorskip("transformers", reason="networks of transformers")

SIDES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "image_size": 64,
    "patch_size": 16,
}
SQUARE = {"height": 64, "width": 64}


def save(folder: Path, model: Any, processor: Any) -> str:
    torch.manual_seed(3)
    model.init_weights()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    assert (folder / "model.safetensors").is_file()
    return f"hf:{folder}"


def images() -> Tensor:
    return torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))


def test_vit(tmp_path: Path) -> None:
    """Its pooler is a head of pre-training: classifiers of transformers take the class token."""
    model = tr.ViTModel(tr.ViTConfig(**SIDES)).eval()
    name = save(tmp_path, model, tr.ViTImageProcessor(size=SQUARE))
    backbone = load_backbone(name)
    tokens = model(images()).last_hidden_state
    torch.testing.assert_close(backbone(images()), tokens[:, 0])
    pooler = sum(parameter.numel() for parameter in model.pooler.parameters())
    assert backbone.spec.parameters == sum(parameter.numel() for parameter in model.parameters()) - pooler
    assert (backbone.spec.pool, backbone.spec.dimension, backbone.spec.transform.squash) == ("cls", 32, True)
    torch.testing.assert_close(load_backbone(name, pool="avg")(images()), tokens[:, 1:].mean(1))
    assert load_backbone(name, weights="random").spec.digest != backbone.spec.digest


def test_registers(tmp_path: Path) -> None:
    model = tr.Dinov2WithRegistersModel(tr.Dinov2WithRegistersConfig(**SIDES, num_register_tokens=4)).eval()
    name = save(tmp_path, model, tr.BitImageProcessor(size={"shortest_edge": 72}, crop_size=64))
    output = model(images())
    torch.testing.assert_close(load_backbone(name)(images()), output.pooler_output)
    mean = load_backbone(name, pool="avg")
    torch.testing.assert_close(mean(images()), output.last_hidden_state[:, 5:].mean(1))
    assert (mean.spec.transform.size, mean.spec.transform.resize) == (64, 72)


def test_the_image_half_of_clip(tmp_path: Path) -> None:
    text = {key: value for key, value in SIDES.items() if "size" not in key or key == "hidden_size"}
    text |= {"intermediate_size": 64, "vocab_size": 100, "bos_token_id": 1, "eos_token_id": 2}
    model = tr.CLIPModel(tr.CLIPConfig(vision_config=SIDES, text_config=text)).eval()
    backbone = load_backbone(save(tmp_path, model, tr.CLIPImageProcessor(size=64, crop_size=64)))
    torch.testing.assert_close(backbone(images()), model.vision_model(images()).pooler_output)
    assert backbone.spec.parameters == sum(parameter.numel() for parameter in model.vision_model.parameters())


def test_a_cnn(tmp_path: Path) -> None:
    config = tr.ResNetConfig(hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], embedding_size=8)
    model = tr.ResNetModel(config).eval()
    backbone = load_backbone(save(tmp_path, model, tr.ConvNextImageProcessor(size={"shortest_edge": 64})))
    torch.testing.assert_close(backbone(images()), model(images()).last_hidden_state.mean((2, 3)))
    layer = load_backbone(f"hf:{tmp_path}", layer="encoder.stages.1")
    assert (layer.spec.dimension, layer.spec.pool) == (8, "avg")


def test_a_classifiers_weights_are_enough_but_missing_ones_are_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    model = tr.ViTForImageClassification(tr.ViTConfig(**SIDES, num_labels=7)).eval()
    name = save(tmp_path, model, tr.ViTImageProcessor(size=SQUARE))
    torch.testing.assert_close(load_backbone(name)(images()), model.vit(images()).last_hidden_state[:, 0])
    state = load_file(tmp_path / "model.safetensors")
    gone = next(key for key in state if key.startswith("vit.encoder.layer") or "layers.1" in key)
    del state[gone]
    save_file(state, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match="1 keys of the network have no weights"):
        load_backbone(name)


PROCESSORS = [
    ("ViTImageProcessor", {"size": SQUARE}),
    ("CLIPImageProcessor", {"size": {"shortest_edge": 72}, "crop_size": SQUARE}),
    ("BitImageProcessor", {"size": {"shortest_edge": 64}, "crop_size": SQUARE}),
    ("SiglipImageProcessor", {"size": SQUARE}),
    ("DeiTImageProcessor", {"size": {"height": 72, "width": 72}, "crop_size": SQUARE}),
    ("ConvNextImageProcessor", {"size": {"shortest_edge": 64}, "crop_pct": 0.875}),
    ("ConvNextImageProcessor", {"size": {"shortest_edge": 384}}),
]


@pytest.mark.parametrize(("kind", "settings"), PROCESSORS)
def test_transform_is_the_processors(kind: str, settings: dict[str, Any]) -> None:
    """Pixels of the processor itself against Pillow doing what the transform says."""
    from PIL import Image

    processor = getattr(tr, kind)(**settings)
    transform = hf_transform(processor.to_dict(), Request("hf:x/y", "x/y"))
    ramp = np.linspace(0, 255, 90 * 140 * 3).reshape(90, 140, 3)
    picture = Image.fromarray(ramp.astype(np.uint8))
    expected = np.asarray(processor(picture, return_tensors="np")["pixel_values"][0])
    assert transform.resize is not None
    if transform.squash:
        sides = (transform.resize, transform.resize)
    else:
        sides = (int(transform.resize * 140 / 90), transform.resize)
    filters = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
    resized = np.asarray(picture.resize(sides, filters[transform.interpolation])) / 255
    top, left = (round((side - transform.size) / 2) for side in resized.shape[:2])
    cropped = resized[top : top + transform.size, left : left + transform.size]
    ours = ((cropped - transform.mean) / transform.std).transpose(2, 0, 1)
    assert ours.shape == expected.shape
    assert np.abs(ours - expected).max() < 0.1  # two steps of 255, for its rounding differs


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_processor_type": "LevitImageProcessor"}, "is not supported"),
        ({"do_pad": True}, "is not supported"),
        ({"do_rescale": False}, "is not supported"),
        ({"rescale_factor": 1 / 127.5}, "scales pixels by 0.0078"),
        ({"size": {"height": 64, "width": 32}}, "resizes to"),
        ({"size": {"longest_edge": 64}}, "resizes to"),
        ({"size": {"shortest_edge": 64}}, "does not crop"),
    ],
)
def test_processors_that_do_something_else(settings: dict[str, Any], message: str) -> None:
    base = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "size": SQUARE}
    with pytest.raises(UserError, match=f"^hf:x/y: .*{message}"):
        hf_transform(base | settings, Request("hf:x/y", "x/y"))


def test_failed_download_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match="run 'hf download facebook/dinov2-small' .* give its path"):
        load_backbone("hf:facebook/dinov2-small")
    with pytest.raises(UserError, match="expected hf:owner/model or a folder"):
        load_backbone("hf:no/such/folder")


def test_code_beside_the_weights_does_not_run(tmp_path: Path) -> None:
    name = save(tmp_path, tr.ViTModel(tr.ViTConfig(**SIDES)), tr.ViTImageProcessor(size=SQUARE))
    ran = tmp_path / "ran"
    (tmp_path / "code.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "code.Config", "AutoModel": "code.Model"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="custom code"):
        load_backbone(name)
    assert not ran.exists()


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "no-such-thing"}')
    (tmp_path / "preprocessor_config.json").write_text('{"size": 224}')
    with pytest.raises(UserError, match="no-such-thing"):
        load_backbone(f"hf:{tmp_path}")

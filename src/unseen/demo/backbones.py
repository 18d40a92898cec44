"""The demo's five backbones: three trained networks, one untrained, and no network at all."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from unseen.backbones.tiny_cnn import FEATURES, SIDE, Block, TinyCNN, load

WEIGHTS = Path(__file__).parent / "weights"
BATCH = 10  # small enough that memory is not released and requested again at every batch


@dataclass(frozen=True)
class DemoBackbone:
    """A backbone of the demo; without weights, features are the pixels."""

    name: str
    category: str
    description: str
    weights: Path | None

    @property
    def dimension(self) -> int:
        return FEATURES if self.weights else SIDE * SIDE

    def about(self) -> dict[str, str]:
        """Everything that its features depend on."""
        transform = (
            "pixels / 255" if self.weights is None else "pixels / 255, drawing centred, penultimate layer, mean pooling"
        )
        digest = hashlib.sha256(self.weights.read_bytes()).hexdigest() if self.weights else ""
        return {"name": self.name, "transform": transform, "weights_sha256": digest}


def _cnn(name: str, category: str, description: str) -> DemoBackbone:
    return DemoBackbone(name, category, description, WEIGHTS / f"{name}.safetensors")


BACKBONES = (
    _cnn("supervised", "supervised", "tiny CNN, cross-entropy on the 100 seen concepts"),
    _cnn("mixup", "regularized", "the same with mixup"),
    _cnn("simclr", "self-supervised", "the same network, SimCLR on the same drawings without labels"),
    _cnn("untrained", "baseline", "the same network with random weights"),
    DemoBackbone("pixels", "baseline", "the 784 grey values themselves", None),
)


def extract(backbone: DemoBackbone, images: NDArray[np.uint8]) -> Iterator[NDArray[np.float32]]:
    """Features of (n, 28, 28) images in small batches, in order."""
    network = folded(load(backbone.weights)) if backbone.weights else None
    for start in range(0, len(images), BATCH):
        batch = torch.from_numpy(images[start : start + BATCH]).float()[:, None] / 255
        with torch.inference_mode():
            features: Tensor = network(batch) if network else batch.flatten(1)
        yield features.numpy()


def folded(network: TinyCNN) -> nn.Module:
    """The same function with every BatchNorm folded into the preceding convolution, which is twice as fast."""
    layers = network.layers
    for place in (0, 6):
        layers[place], layers[place + 1] = _fused(layers[place], layers[place + 1]), nn.Identity()
    for block in layers:
        if isinstance(block, Block):
            for conv, norm in (("conv1", "norm1"), ("conv2", "norm2")):
                setattr(block, conv, _fused(getattr(block, conv), getattr(block, norm)))
                setattr(block, norm, nn.Identity())
            if isinstance(block.skip, nn.Sequential):
                block.skip = _fused(block.skip[0], block.skip[1])
    return network.to(memory_format=torch.channels_last)


def _fused(conv: nn.Module, norm: nn.Module) -> nn.Module:
    return fuse_conv_bn_eval(cast("nn.Conv2d", conv), cast("nn.BatchNorm2d", norm))

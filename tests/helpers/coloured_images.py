"""A data set whose classes differ in colour, and the smallest network that can be trained on it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.arrays import array_images
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.registry import DATASETS

SIDE = 6
SPLITS = ("train",) * 24 + ("val",) * 12 + ("test",) * 12


def small_network(name: str = "tiny", weights: str = "seed 0") -> Backbone:
    """A frozen network of one convolution."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    module.eval().requires_grad_(False)
    return Backbone(Spec(name, weights, "output", "none", 4, 0, Transform(size=SIDE, resize=SIDE)), module)


def coloured(name: str = "digits", *, splits: Sequence[str] = SPLITS, seed: int = 0) -> OpenDataset:
    """Three classes, an image of each in turn, as the data set of that name."""
    rng = np.random.default_rng(seed)
    labels = np.arange(len(splits)) % 3
    pixels = rng.integers(0, 150, (len(splits), SIDE, SIDE, 3))
    pixels[np.arange(len(splits)), ..., labels] += 70
    source = array_images(pixels.astype(np.uint8), ["abc"[label] for label in labels])
    return OpenDataset(replace(DATASETS[name], classes=3), source, Manifest(source.entries, list(splits)))

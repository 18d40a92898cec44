"""A small network, and pictures of five colours, for tests of what watches a training."""

# ruff: noqa: NPY002  (trainings draw from NumPy's global generator)

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

import unseen
from unseen.studies.study import Study

SIDE = 16


class Small(nn.Module):
    """Has BatchNorm and Dropout, which behave otherwise in evaluation mode."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.2), nn.Conv2d(8, 8, 3, 2),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Linear(32, 3)

    def forward(self, images: Tensor) -> Tensor:
        scores: Tensor = self.head(self.encoder(images))
        return scores


def small() -> Small:
    """The same network at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Small()


def pictures(folder: Path) -> Path:
    """Training and test pictures of five colours that are hard to tell apart, in folders."""
    centres = np.random.default_rng(0).normal(0, 22, (5, 3))
    for seed, (split, count) in enumerate((("train", 14), ("test", 8))):
        rng = np.random.default_rng([1, seed])
        for name, centre in zip("abcde", centres, strict=True):
            (folder / split / name).mkdir(parents=True)
            for number in range(count):
                pixels = 128 + centre + rng.normal(0, 15, 3) + rng.normal(0, 20, (SIDE, SIDE, 3))
                image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
                image.save(folder / split / name / f"{number}.png")
    return folder


def study_of(folder: Path, *probes: str, **keys: object) -> Study:
    """Nearest neighbours, or other probes, on these pictures."""
    return unseen.study(
        "ericsson-2021", datasets=[folder], probes=list(probes or ("knn",)), **{"seeds": 1, "shots": "all", **keys}
    )


def trained(network: nn.Module, steps: int, after: Callable[[int], object] = lambda step: None) -> Tensor:
    """All parameters and buffers after some steps on random images, which draw from every generator."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        images = torch.randn(8, 3, SIDE, SIDE) + random.random() + np.random.rand()
        loss = nn.functional.cross_entropy(network(images), torch.randint(3, (8,)))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        after(step)
    return torch.cat([each.detach().double().flatten() for each in network.state_dict().values()])

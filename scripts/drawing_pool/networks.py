"""The networks of the drawing pool: how wide and deep each is, what it is trained on, and how.

They vary in everything that is cheap to vary and include weak ones, since a panel of concepts has to reproduce the
scores of networks that are unlike those it was chosen on.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from unseen.backbones.tiny_cnn import FEATURES, Block, TinyCNN
from unseen.demo.train import Augmentation, Recipe, fit, settle_norms

METHODS = {"supervised": 20, "mixup": 10, "simclr": 12, "untrained": 6}
"""Family → number of its networks."""
PLAIN = Augmentation(
    rotation=0, shear=0, scale=(0.9, 1.1), aspect=0, elastic=0, thin=0, thick=0, ink=(1, 1), cutout=0
)  # fmt: skip
AUGMENTATIONS = {
    "none": replace(PLAIN, shift=0, scale=(1, 1), flip=False),
    "shifts": PLAIN,
    "usual": Augmentation(),
    "strong": Augmentation(rotation=40, scale=(0.6, 1.4), elastic=3, cutout=0.9),
}


@dataclass(frozen=True)
class Setup:
    """A network of the pool and its training.

    Attributes:
        width: channels of the first layer.
        depth: residual blocks at half of the side.
        classes, drawings: number of seen concepts that train it, and drawings of each.
    """

    name: str
    family: str
    seed: int
    width: int
    depth: int
    classes: int
    drawings: int
    epochs: int
    augmentation: str
    smoothing: float


def setups(seed: int = 0) -> list[Setup]:
    """All networks; their settings are drawn at random, each from a few values."""
    rng = np.random.default_rng(seed)

    def one_of(*values: float) -> float:
        return values[int(rng.integers(len(values)))]

    return [
        Setup(
            f"{family}-{number}", family, number,
            width=int(one_of(4, 8, 16, 32)),
            depth=int(one_of(0, 1, 3)),
            classes=int(one_of(10, 30, 100, 100)),
            drawings=int(one_of(10, 30, 80, 80)),
            epochs=int(one_of(6, 22, 60, 100)),
            augmentation=[*AUGMENTATIONS][int(rng.integers(4))],
            smoothing=one_of(0, 0.1),
        )
        for family, count in METHODS.items()
        for number in range(count)
    ]  # fmt: skip


def network(setup: Setup) -> TinyCNN:
    """The demo's network with another width and depth, and as many features."""
    torch.manual_seed(setup.seed)
    made, width = TinyCNN(), setup.width
    layers: list[nn.Module] = [nn.Conv2d(1, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    layers += [Block(width, 2 * width, 2), *(Block(2 * width, 2 * width, 1) for _ in range(setup.depth))]
    layers += [Block(2 * width, 4 * width, 2), nn.Conv2d(4 * width, FEATURES, 1, bias=False)]
    made.layers = nn.Sequential(*layers, nn.BatchNorm2d(FEATURES), nn.ReLU())
    return made


def trained(setup: Setup, images: Tensor, labels: Tensor, *, epochs_scale: float = 1) -> TinyCNN:
    """Train a network on its share of the drawings.

    Args:
        images, labels: all training drawings of the seen concepts, those of each concept together.
        epochs_scale: factor on the number of epochs.
    """
    device, made = images.device, network(setup).to(images.device)
    place = torch.arange(len(labels), device=device) - torch.searchsorted(labels, labels)
    kept = (labels < setup.classes) & (place < setup.drawings)
    if setup.family == "untrained":
        settle_norms(made, images)
        return made
    contrastive = setup.family == "simclr"
    recipe = Recipe(
        "simclr" if contrastive else "supervised",
        epochs=max(1, round(setup.epochs * epochs_scale)),
        batch=500 if contrastive else 250,
        smoothing=setup.smoothing,
        mixup=1.0 if setup.family == "mixup" else 0.0,
        augmentation=AUGMENTATIONS[setup.augmentation],
    )
    fit(made, images[kept], labels[kept], recipe, torch.Generator(device).manual_seed(setup.seed))
    return made

"""The classifiers of the emoji pool: small convolutional networks, trained for a fixed number of steps."""

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from unseen.studies.shifts.model_pool import FoldTraining, Images, Labelled, Labels, Predict

WIDTHS = {"narrow": 8, "wide": 12}
"""Network → channels of its first layer."""


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; amounts of change are drawn evenly from their ranges, anew for each picture."""

    classes: int
    steps: int = 240
    batch: int = 32  # at most; all of them where there are fewer
    rate: float = 0.01  # AdamW's learning rate at its highest
    decay: float = 0.05
    smoothing: float = 0.05
    rotation: float = 10.0  # degrees, either way
    scale: tuple[float, float] = (0.85, 1.15)
    shift: float = 2.0  # pixels, either way
    jitter: float = 0.1  # of each colour channel's level and range, either way
    grey: float = 0.0  # how often a picture loses its colour


def network(name: str, classes: int) -> nn.Sequential:
    """Four 3 × 3 convolutions, 32 × 32 down to 4 × 4, their mean, and a linear layer."""
    width = WIDTHS[name]
    channels = (3, width, 2 * width, 2 * width, 4 * width)
    layers: list[nn.Module] = []
    for before, after, stride in zip(channels[:-1], channels[1:], (2, 2, 1, 2), strict=True):
        layers += [nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels[-1], classes))


def train_classifier(data: Labelled, job: FoldTraining) -> Predict:
    """Train a network on pictures (n, 32, 32, 3) in bytes; what comes back classifies such pictures.

    Everything random follows the seed and the fold, so the same machine gives the same network again.
    """
    setup, recipe = job.setup, job.setup.recipe
    torch.manual_seed(1000 * setup.seed + job.fold)
    model = network(setup.network, recipe.classes)
    images, labels = _floats(data.images), torch.from_numpy(data.labels)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, recipe.rate, total_steps=recipe.steps, pct_start=0.2)
    for _ in range(recipe.steps):
        batch = torch.randint(len(images), (min(recipe.batch, len(images)),))
        outputs = model(augment(images[batch], recipe))
        loss = F.cross_entropy(outputs, labels[batch], label_smoothing=recipe.smoothing)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        schedule.step()
    model.eval()

    def predict(pictures: Images) -> Labels:
        with torch.inference_mode():
            parts = [model(part).argmax(dim=1) for part in torch.split(_floats(pictures), 500)]
        found: Labels = torch.cat(parts).numpy()
        return found

    return predict


def augment(images: Tensor, recipe: Recipe) -> Tensor:
    """Pictures, (n, 3, side, side) with white as 0, each turned, sized, moved, flipped and tinted."""
    count, side = len(images), images.shape[-1]

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return torch.rand(count, *shape) * (high - low) + low

    angle = torch.deg2rad(uniform(-recipe.rotation, recipe.rotation))
    scale = torch.exp(uniform(math.log(recipe.scale[0]), math.log(recipe.scale[1])))
    flip = torch.where(torch.rand(count) < 0.5, -1.0, 1.0)
    move = recipe.shift * 2 / side
    cos, sin = torch.cos(angle) / scale, torch.sin(angle) / scale
    rows = [
        torch.stack([cos * flip, -sin, uniform(-move, move)], dim=1),
        torch.stack([sin * flip, cos, uniform(-move, move)], dim=1),
    ]
    grid = F.affine_grid(torch.stack(rows, dim=1), list(images.shape), align_corners=False)
    images = F.grid_sample(images, grid, align_corners=False)
    if recipe.grey:
        grey = torch.rand(count, 1, 1, 1) < recipe.grey
        images = torch.where(grey, images.mean(dim=1, keepdim=True), images)
    ink = images < -0.02  # the background stays white
    return images * uniform(1 - recipe.jitter, 1 + recipe.jitter, 3, 1, 1) + ink * uniform(
        -recipe.jitter, recipe.jitter, 3, 1, 1
    )


def _floats(pictures: Images) -> Tensor:
    """(n, 3, side, side) in [−1, 0]: white is 0, so that pixels outside a picture are white, as its background is."""
    return torch.from_numpy(np.ascontiguousarray(pictures)).permute(0, 3, 1, 2).float() / 255 - 1

"""Logits of classifiers, kept once for each model and test set and scored as often as wanted.

A store of logits is a feature store whose dimensions are the model's classes, kept in 16 bits. What is kept is each
logit minus the greatest of its image: no argmax over any classes and no softmax changes, and rounding is finest where
classes compete. A classifier's names of classes are in the store's manifest with the rest of its specification.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone
from unseen.backbones.classifier import LAYER
from unseen.errors import UserError
from unseen.features.about import StoreAbout
from unseen.features.extract import extract
from unseen.features.features import Rows
from unseen.features.progress import Progress
from unseen.features.settings import Settings
from unseen.features.store import read_store
from unseen.images.manifest import Manifest
from unseen.images.source import ImageSource


@dataclass(frozen=True)
class LogitSettings(Settings):
    """Settings of an extraction that keeps 16 bits, whatever it computes with."""

    @property
    def dtype(self) -> Literal["float16"]:
        return "float16"


class BelowGreatest(nn.Module):
    """Logits minus the greatest of each image."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.module(images).float()
        return logits - logits.amax(dim=1, keepdim=True)


@dataclass(frozen=True, eq=False)
class Logits:
    """Logits of a model on a test set.

    Attributes:
        values: (n, c) 16-bit, a row per image and a column per class of the model.
        columns: (c,) names of the model's classes.
        labels: names of the test set's classes.
        y: (n,) indices into `labels`.
        damaged: images that were left out, and `examples` of them with what is wrong.
    """

    values: Rows
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    y: NDArray[np.int64]
    damaged: int
    examples: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    @property
    def image_labels(self) -> list[str]:
        """(n,) the label of each image."""
        return [self.labels[number] for number in self.y]


def logit_settings(settings: Settings) -> LogitSettings:
    """How logits are computed where features are extracted with some settings."""
    return LogitSettings(**{field.name: getattr(settings, field.name) for field in fields(settings)})


def store_logits(
    source: ImageSource,
    manifest: Manifest,
    split: str,
    classifier: Backbone,
    folder: Path,
    settings: Settings,
    *,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Path:
    """Compute the logits of a split into a store below `folder`; what is there already is not computed again."""
    if classifier.spec.layer != LAYER:
        raise UserError(f"{classifier.spec.id}: gives features, not logits; it needs a classifier")
    below = replace(classifier, module=BelowGreatest(classifier.module))
    return extract(source, manifest, split, [below], folder, logit_settings(settings), watch=watch)[0]


def read_logits(folder: Path) -> Logits:
    """Open a store of logits, every byte checked against its hash; one of plain features is refused."""
    features = read_store(folder, verify=True)
    spec = features.provenance.get("backbone", {})
    columns = tuple(spec.get("classes", ()))
    if spec.get("layer") != LAYER or len(columns) != features.dimension:
        raise UserError(f"{folder}: holds features, not logits")
    damaged = StoreAbout.of(features.provenance).damaged
    examples = tuple(f"{image.id}: {image.reason}" for image in damaged)
    return Logits(features.X, columns, features.classes, features.y, len(damaged), examples)

"""Logits of classifiers, stored once for each model and test set and scored any number of times.

A store of logits is a feature store with one dimension per class of the model, in 16 bits. Each logit is stored minus
the largest logit of its image: this changes no argmax and no softmax over any subset of classes, and rounding is finest
where classes compete. The class names are in the store's manifest, as part of the classifier's specification.
"""

from collections.abc import Sequence
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
from unseen.features.features import Rows
from unseen.features.settings import Settings
from unseen.features.store import read_store


@dataclass(frozen=True)
class LogitSettings(Settings):
    """Extraction settings that store 16 bits, whatever the computing precision."""

    @property
    def dtype(self) -> Literal["float16"]:
        return "float16"


class BelowGreatest(nn.Module):
    """Logits minus the largest logit of each image."""

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
        values: (n, c) 16-bit, one row per image and one column per class of the model.
        columns: (c,) names of the model's classes.
        labels: names of the test set's classes.
        y: (n,) indices into `labels`.
        damaged: number of images left out, and `examples` of them with the reasons.
        ids: (n,) names of the images.
    """

    values: Rows
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    y: NDArray[np.int64]
    damaged: int
    examples: tuple[str, ...] = ()
    ids: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.y)

    @property
    def image_labels(self) -> list[str]:
        """(n,) the label of each image."""
        return [self.labels[number] for number in self.y]


def logit_settings(settings: Settings) -> LogitSettings:
    """Settings for computing logits that correspond to some settings for features."""
    return LogitSettings(**{field.name: getattr(settings, field.name) for field in fields(settings)})


def logit_backbone(classifier: Backbone) -> Backbone:
    """The classifier as a backbone whose features are its logits, minus the largest of each image."""
    if classifier.spec.layer != LAYER:
        raise UserError(f"{classifier.spec.id}: gives features, not logits; it needs a classifier")
    return replace(classifier, module=BelowGreatest(classifier.module))


def read_logits(folder: Path) -> Logits:
    """Open a store of logits, with every byte checked against its hash; a store of plain features is refused."""
    features = read_store(folder, verify=True)
    spec = features.provenance.get("backbone", {})
    columns = tuple(spec.get("classes", ()))
    if spec.get("layer") != LAYER or len(columns) != features.dimension:
        raise UserError(f"{folder}: contains features, not logits")
    damaged = StoreAbout.of(features.provenance).damaged
    examples = tuple(f"{image.id}: {image.reason}" for image in damaged)
    return Logits(features.X, columns, features.classes, features.y, len(damaged), examples, features.ids)

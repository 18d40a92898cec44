"""A backbone and everything that it says of itself."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from unseen.images.transform import Transform

Pool = Literal["avg", "cls", "cls+avg", "none"]


@dataclass(frozen=True)
class Spec:
    """What decides the features of a backbone; all of it is in the key of extracted features.

    Attributes:
        id: as given by the user, `source:name`, without options.
        weights: what identifies the weights: a tag or revision, or the SHA-256 of their file.
        layer: where features are taken, for instance "penultimate" or the name of a module.
        pool: how the positions of the layer's output become one vector; "none" where it is one already.
        dimension: of the features.
        parameters: of the backbone without its classifier.
    """

    id: str
    weights: str
    layer: str
    pool: Pool
    dimension: int
    parameters: int
    transform: Transform


@dataclass(frozen=True, eq=False)
class Backbone:
    """A specification and the module that follows it: normalised images (b, 3, size, size) → features (b, d)."""

    spec: Spec
    module: nn.Module

    def __call__(self, images: Tensor) -> Tensor:
        features: Tensor = self.module(images)
        return features

"""A backbone and its specification."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Literal

from unseen.data.core.decoding.transform import Transform

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

Pool = Literal["avg", "cls", "cls+avg", "none"]
Kept = Pool | Literal["patches"]
"""How positions become features: pooled into one vector, or all kept."""
RANDOM = "random, seed 0"
"""Identifier of the weights of an untrained network."""


@dataclass(frozen=True)
class Spec:
    """Everything that determines the features of a backbone; all of it is in the key of extracted features.

    Attributes:
        id: as given by the user, `source:name`, without a checkpoint file and other options.
        weights: identifier of the weights: a tag or revision, or the SHA-256 of their file.
        layer: where features are taken, for instance "penultimate" or the name of a module.
        pool: how the positions of the layer's output become one vector; "none" if it already is one, "patches" if the
            features of all positions are kept.
        dimension: number of dimensions of the features.
        parameters: number of parameters without the classifier.
        digest: SHA-256 of the backbone's tensors; unlike a tag, it cannot come to mean other weights.
    """

    id: str
    weights: str
    layer: str
    pool: Kept
    dimension: int
    parameters: int
    transform: Transform
    digest: str = ""


@dataclass(frozen=True, eq=False)
class Backbone:
    """A specification and its module: normalised images (b, 3, size, size) → features (b, d).

    Attributes:
        notes: sentences for the user on how it was loaded, for instance about unused keys of a checkpoint.
        name: its name in tables and pages, if that is not its id. Features do not depend on it.
        load: loads it again on a given device, in another process or on another machine; None if that is not possible.
    """

    spec: Spec
    module: "nn.Module"
    notes: tuple[str, ...] = ()
    name: str = ""
    load: "Callable[..., Backbone] | None" = None

    @property
    def label(self) -> str:
        """Its name in tables and pages."""
        return self.name or self.spec.id

    def __repr__(self) -> str:
        spec = self.spec
        return f"Backbone({self.label}: {spec.dimension} dimensions from {spec.layer}, {spec.parameters:,} parameters)"

    def __call__(self, images: "Tensor") -> "Tensor":
        features: Tensor = self.module(images)
        return features


def device_of(module: "nn.Module") -> "torch.device":
    """The device of a module's parameters and buffers; the CPU if it has none."""
    import torch

    return next((tensor.device for tensor in chain(module.parameters(), module.buffers())), torch.device("cpu"))


def describe(spec: Spec) -> list[tuple[str, str]]:
    """A specification in words: (property, value) per line."""
    transform = spec.transform
    numbers = ", ".join(f"{value:g}" for value in transform.mean), ", ".join(f"{value:g}" for value in transform.std)
    lines = [
        ("backbone", spec.id),
        ("weights", spec.weights),
        ("tensors", f"sha256:{spec.digest}"),
        ("features", f"{spec.dimension} dimensions, from {_LAYERS.get(spec.layer, f'the layer {spec.layer}')}"),
        ("pooling", _POOLS[spec.pool]),
        ("parameters", f"{spec.parameters:,} without the classifier"),
        ("resize", resized(transform)),
        ("crop", f"centre, {transform.size} × {transform.size} pixels"),
        ("pixels", f"{transform.channels} in 0…1, minus ({numbers[0]}), divided by ({numbers[1]})"),
    ]
    return [line for line in lines if line != ("tensors", "sha256:")]


def resized(transform: Transform) -> str:
    """How images are resized, in words."""
    if transform.resize is None:
        return "as it is"
    sides = "both sides" if transform.squash else "shortest side"
    return f"{sides} to {transform.resize} pixels, {transform.interpolation}"


_LAYERS = {
    "penultimate": "the layer before the classifier",
    "embedding": "the image embedding",
    "output": "the network's output",
}
_POOLS: dict[Kept, str] = {
    "avg": "mean over positions",
    "cls": "class token",
    "cls+avg": "class token, then the mean over the other positions",
    "none": "none: the network already gives one vector",
    "patches": "none: the features of all positions are kept",
}

"""Classifiers: backbones whose features are logits over named classes.

As backbones, they are extracted, stored and resumed in the same way. The class names are part of the specification, and
therefore of the key and the manifest of stored logits.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear, normalize

from unseen.backbones.backbone import Backbone, Spec, device_of
from unseen.backbones.checkpoint import file_sha256, load_checkpoint
from unseen.backbones.load import tensor_digest
from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading

LAYER = "logits"


@dataclass(frozen=True)
class ClassifierSpec(Spec):
    """A specification whose features are logits; `classes` names them in order."""

    classes: tuple[str, ...] = ()


def classifier_digest(spec: ClassifierSpec) -> str:
    """Hash of everything that determines a classifier's outputs: its tensors, preprocessing and class names."""
    decides = [spec.id, spec.digest, asdict(spec.transform), spec.classes]
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]


class LinearHead(nn.Module):
    """A network and a linear layer on its features, which are ℓ2-normalised first if the layer was fitted that way."""

    def __init__(self, network: nn.Module, weight: Tensor, bias: Tensor | None, *, normalise: bool) -> None:
        super().__init__()
        self.network, self.normalise = network, normalise
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)

    def forward(self, images: Tensor) -> Tensor:
        features = self.network(images)
        return linear(normalize(features) if self.normalise else features, self.weight, self.bias)


def classifier(
    module: nn.Module, like: Spec, classes: Sequence[str], *, weights: str, notes: Sequence[str] = ()
) -> Backbone:
    """A module that gives logits, as a backbone with the id and the transform of another specification.

    Args:
        weights: identifier of the weights, in addition to the digest of all of the module's tensors.
    """
    names = tuple(classes)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"{like.id}: two of its classes are called {twice}")
    facts = asdict(like) | {
        "transform": like.transform,
        "weights": weights,
        "layer": LAYER,
        "pool": "none",
        "dimension": len(names),
        "digest": tensor_digest(module),
    }
    spec = ClassifierSpec(**facts, classes=names)
    device = device_of(module)
    with torch.inference_mode():
        shape = module.eval()(torch.zeros(1, 3, like.transform.size, like.transform.size, device=device)).shape
    if shape != (1, len(names)):
        raise UserError(f"{like.id}: gives {shape[-1]} logits, but {len(names)} classes are named")
    return Backbone(spec, module.requires_grad_(False), tuple(notes))


def fine_tuned(backbone: Backbone, classes: Sequence[str], checkpoint: Path) -> Backbone:
    """A backbone and a linear layer on its features, both from a checkpoint written by `unseen.probes.finetuning`."""
    model = nn.Sequential(backbone.module, nn.Linear(backbone.spec.dimension, len(classes)))
    device = device_of(backbone.module)
    report = load_checkpoint(model, checkpoint)
    return classifier(
        model.to(device), backbone.spec, classes, weights=f"sha256:{report.sha256}", notes=[report.sentence()]
    )


def with_probe(backbone: Backbone, file: Path) -> Backbone:
    """A backbone and the linear probe in a file that `write_probe` wrote, or in any file with the same arrays."""
    with reading(file, "a probe with the arrays weights, bias, classes and normalised"):
        arrays = read_npz(file, ("weights", "bias", "classes", "normalised"))
        weight, bias = (torch.from_numpy(arrays[name].astype(np.float32)) for name in ("weights", "bias"))
        classes, normalise = list(arrays["classes"]), bool(arrays["normalised"])
    dimension = backbone.spec.dimension
    if weight.shape != (len(classes), dimension) or bias.shape != (len(classes),):
        raise UserError(
            f"{file}: weights of shape {tuple(weight.shape)} for {len(classes)} classes, where {backbone.spec.id} has "
            f"{dimension} features; was the probe fitted on another backbone?"
        )
    device = device_of(backbone.module)
    head = LinearHead(backbone.module, weight.to(device), bias.to(device), normalise=normalise)
    words = f"{backbone.spec.weights}, probe sha256:{file_sha256(file)}"
    return classifier(head, backbone.spec, [str(name) for name in classes], weights=words, notes=backbone.notes)


def write_probe(file: Path, weights: Tensor, bias: Tensor, classes: Sequence[str], *, normalised: bool = True) -> None:
    """Store a linear probe from `probe_logistic`: weights (c, d) and bias (c,) for ℓ2-normalised features."""
    arrays = {"weights": weights.numpy(), "bias": bias.numpy(), "classes": np.array(classes), "normalised": normalised}
    with atomic_write(file) as handle:
        np.savez(handle, **arrays)  # type: ignore[arg-type]

"""Networks that a pool trains from scratch: classifiers of timm and torchvision, and CLIP models of open_clip."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.files import read_text, write_text

if TYPE_CHECKING:
    from torch import Tensor, nn

    from unseen.backbones.backbone import Backbone
    from unseen.probes.finetuning.train import Objective

Kind = Literal["classifier", "clip"]
MOST_SCALE = log(100)
"""Largest logarithm of the scale of CLIP's logits (Radford et al. 2021, section 2.5)."""
CONFIG, WEIGHTS = "open_clip_config.json", "open_clip_model.safetensors"
"""Files of a folder from which open_clip loads a model."""


@dataclass(frozen=True, eq=False)
class PoolNetwork:
    """A network to be trained.

    Attributes:
        targets: the targets of the objective, for images given by their numbers.
        write: writes the trained network to a path.
    """

    module: "nn.Module"
    transform: Transform
    objective: "Objective"
    targets: "Callable[[NDArray[np.int64]], Tensor]"
    write: Callable[[Path], None]


def kind_of_network(name: str) -> Kind:
    """The kind of a network, by its source."""
    source = name.partition(":")[0]
    if source in ("timm", "torchvision"):
        return "classifier"
    if source == "openclip":
        return "clip"
    raise UserError(
        f"{name}: a pool trains networks of timm: and torchvision: and CLIP models of openclip:; choose one"
    )


def network_config(name: str) -> str:
    """The configuration of a CLIP model in a folder; empty for a network that is known by its name."""
    file = Path(name.partition(":")[2]) / CONFIG
    return read_text(file) if file.is_file() else ""


def classifier_network(
    name: str, classes: Sequence[str], labels: Sequence[str], *, size: int | None, seed: int
) -> PoolNetwork:
    """A classifier of timm or torchvision.

    Args:
        classes: classes of its outputs, in order.
        labels: class of each image.
    """
    from unseen.backbones.own_head import own_head

    return trained_classifier(own_head(name, classes=classes, weights="random", size=size, seed=seed), classes, labels)


def trained_classifier(backbone: "Backbone", classes: Sequence[str], labels: Sequence[str]) -> PoolNetwork:
    """A loaded classifier, all of whose weights are trained; arguments as in `classifier_network`."""
    import torch

    from unseen.backbones.wise_ft import write_state
    from unseen.probes.finetuning.train import classification

    number = {label: place for place, label in enumerate(classes)}
    y = torch.tensor([number[label] for label in labels])
    module = backbone.module.requires_grad_(True)
    return PoolNetwork(
        module, backbone.spec.transform, classification, lambda rows: y[torch.from_numpy(rows)],
        lambda path: write_state(path, module.state_dict()),
    )  # fmt: skip


def clip_network(name: str, texts: Sequence[str], *, size: int | None, seed: int) -> PoolNetwork:
    """A CLIP model: an architecture that open_clip has, or a folder with its configuration (`openclip:FOLDER`).

    Args:
        texts: caption of each image.
    """
    import torch

    from unseen.backbones.load import load_backbone
    from unseen.backbones.sources.openclip_source import create_model, load_tokenizer

    rest = name.partition(":")[2]
    folder = Path(rest)
    known = f"local-dir:{rest}" if folder.is_dir() else rest
    transform = load_backbone(name, weights="random", size=size).spec.transform
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = create_model(known, None, random=True, size=size)
    tokenise = load_tokenizer(known)
    config = _config(folder / CONFIG if folder.is_dir() else None, rest, size, transform)

    def targets(rows: NDArray[np.int64]) -> "Tensor":
        return tokenise([texts[row] for row in rows.tolist()])

    return PoolNetwork(
        model.requires_grad_(True), transform, contrastive, targets, lambda path: _write_clip(path, model, config)
    )


def contrastive(model: "nn.Module", images: "Tensor", tokens: "Tensor") -> "Tensor":
    """CLIP's loss on a batch: the mean of the cross-entropies of images with texts and of texts with images.

    Before it, the scale of logits is clamped to at most 100, as open_clip does after every step.
    """
    import open_clip
    import torch

    with torch.no_grad():
        model.logit_scale.clamp_(0, MOST_SCALE)  # type: ignore[operator]
    image, text, scale = model(images, tokens)[:3]
    loss: Tensor = open_clip.ClipLoss()(image, text, scale)
    return loss


def clip_texts(labels: Sequence[str], captioned: Sequence[bool], names: Mapping[str, str], sentence: str) -> list[str]:
    """The text of each image for CLIP models: its caption, or a sentence with the name of its class."""
    if "{}" not in sentence:
        raise UserError(f"the sentence '{sentence}' has no {{}} for the name of the class; add it")
    return [
        label if is_caption else sentence.replace("{}", names.get(label, label))
        for label, is_caption in zip(labels, captioned, strict=True)
    ]


def _config(file: Path | None, name: str, size: int | None, transform: Transform) -> dict[str, Any]:
    """The configuration of a model for open_clip: its architecture and the preprocessing of images."""
    import open_clip

    model = json.loads(file.read_text())["model_cfg"] if file else open_clip.get_model_config(name)
    if size is not None:
        model = {**model, "vision_cfg": {**model["vision_cfg"], "image_size": size}}
    preprocess = {
        "mean": list(transform.mean),
        "std": list(transform.std),
        "interpolation": transform.interpolation,
        "resize_mode": "squash" if transform.squash else "shortest",
    }
    return {"model_cfg": model, "preprocess_cfg": preprocess}


def _write_clip(folder: Path, model: "nn.Module", config: Mapping[str, Any]) -> None:
    from unseen.backbones.wise_ft import write_state

    write_text(folder / CONFIG, json.dumps(config, indent=2) + "\n")
    write_state(folder / WEIGHTS, model.state_dict())

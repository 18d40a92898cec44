"""Backbones of torchvision: `torchvision:resnet50.IMAGENET1K_V1`, or without the tag for its default weights.

Features are the input of the classifier's last linear layer (for SqueezeNet: of its last convolution).
"""

from collections import OrderedDict
from math import floor
from pathlib import Path
from typing import Any

import torch
from torch import nn

from unseen.backbones.backbone import Pool
from unseen.backbones.forward_pass import module_step
from unseen.backbones.network import Network, Request, Source, downloading, fill
from unseen.backbones.pooling import Layout, last_map, layout_of
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError, did_you_mean, setting

CLASSIFIERS = ("fc", "classifier", "heads", "head")
AUXILIARY = ("AuxLogits", "aux1", "aux2")


def torchvision_network(request: Request) -> Network:
    from torchvision import models

    architecture, weights = _find(request)
    pretrained = not request.random and request.checkpoint is None
    folder = Path(torch.hub.get_dir()) / "checkpoints"
    random = setting("backbone.weights", "random")
    advice = f"fetch {weights.url} where there is a network and put it into {folder}, or ask for {random}"
    # These two warn unless their original initialisation is requested.
    draw = {"init_weights": True} if architecture in ("googlenet", "inception_v3") and not pretrained else {}
    with downloading(request.id, advice):
        model = models.get_model(architecture, weights=weights if pretrained else None, progress=False, **draw)
    classifier = remove_classifier(model)
    for name in AUXILIARY:
        if hasattr(model, name):
            setattr(model, name, None)
    tag, notes = fill(model, request, f"{architecture}.{weights.name}", (classifier,) if classifier else ())
    if request.size is not None:
        resize_positions(model, request.size)
    layout = layout_of(model)
    return Network(
        module=model,
        weights=tag,
        transform=_transform(weights.transforms(), request),
        pool=_own_pool(model, layout),
        positions=module_step("encoder") if layout.class_token else None,
        spatial=None if layout.class_token else last_map,
        layout=Layout(layout.prefix, layout.class_token, channels_last="swin" in architecture),
        notes=notes,
    )


def resize_positions(model: nn.Module, size: int) -> None:
    """Let a ViT take images of another size, in place: its position embeddings are interpolated as in torchvision.

    Other networks take images of any size.
    """
    from torchvision.models.vision_transformer import VisionTransformer, interpolate_embeddings

    if isinstance(model, VisionTransformer) and size >= model.patch_size:
        state = interpolate_embeddings(size, model.patch_size, OrderedDict(model.state_dict()))
        model.encoder.pos_embedding = nn.Parameter(state["encoder.pos_embedding"])
        model.image_size = size


def remove_classifier(model: nn.Module) -> str | None:
    """Replace the last layer of the classifier by the identity, in place, and return its name."""
    for name in CLASSIFIERS:
        part = getattr(model, name, None)
        if isinstance(part, nn.Linear):
            setattr(model, name, nn.Identity())
            return name
        if isinstance(part, nn.Sequential):
            last = [key for key, layer in part.named_children() if isinstance(layer, nn.Linear | nn.Conv2d)]
            if last:
                setattr(part, last[-1], nn.Identity())
                return f"{name}.{last[-1]}"
    return None


def _find(request: Request) -> tuple[str, Any]:
    from torchvision import models

    architecture, _, tag = request.name.partition(".")
    known = models.list_models(module=models)
    if architecture not in known:
        raise UserError(f"{request.id}: torchvision has no such model{did_you_mean(architecture, known)}")
    weights: Any = models.get_model_weights(architecture)
    if tag and tag not in weights.__members__:
        tags = ", ".join(f"{architecture}.{name}" for name in (member.name for member in weights))
        raise UserError(f"{request.id}: torchvision has no such weights; it has {tags}")
    return architecture, weights[tag] if tag else weights.DEFAULT


def _transform(preset: Any, request: Request) -> Transform:
    crop, resize = preset.crop_size[0], preset.resize_size[0]
    size = request.size or crop
    return Transform(
        size=size,
        resize=floor(size * resize / crop),
        interpolation=preset.interpolation.value,
        mean=tuple(preset.mean),
        std=tuple(preset.std),
    )


def _own_pool(model: nn.Module, layout: Layout) -> Pool:
    if layout.class_token:
        return "cls"
    parts = [part for name, part in model.named_children() if name in CLASSIFIERS]
    hidden = any(isinstance(layer, nn.Linear) for part in parts for layer in part.modules())
    return "none" if hidden else "avg"  # layers after the pooling: AlexNet, VGG, MobileNetV3, MaxViT


SOURCE = Source("torchvision", torchvision_network, ("torchvision",))

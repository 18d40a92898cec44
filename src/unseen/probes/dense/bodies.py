"""The part of a backbone used in dense protocols, and where that extends the paper."""

from typing import Literal

import torch

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError
from unseen.probes.dense.protocols import DenseProtocol
from unseen.probes.dense.pyramid import STRIDES, Frozen, LastMap, Pyramid, dilate
from unseen.probes.dense.simple_pyramid import LAST, SimplePyramid, square_map

Extension = Literal["simple-pyramid", "plain-map", "other-last-stage", "other-dilation"]
"""How a training extends the paper; codes of notices."""


def own_maps(backbone: Backbone) -> Pyramid | None:
    """The four maps of a CNN that provides them and accepts images of any size; shares the backbone's weights."""
    network = getattr(backbone.module, "network", backbone.module)
    try:
        return Pyramid(network)
    except torch.OutOfMemoryError:
        raise
    except Exception:  # a network for a fixed image size can raise any exception
        return None


def extension_of(backbone: Backbone, protocol: DenseProtocol) -> Extension | None:
    """How a backbone in a protocol extends the paper, which only uses ResNets."""
    pyramid = own_maps(backbone)
    if pyramid is None:
        return "plain-map" if protocol.head == "psp" else "simple-pyramid"
    if pyramid.resnet or protocol.backbone not in ("last-stage", "frozen"):
        return None
    return "other-last-stage" if protocol.backbone == "last-stage" else "other-dilation"


def body_with_maps(backbone: Backbone) -> Pyramid | SimplePyramid:
    """Four maps: a CNN's own, or a simple feature pyramid, whose new layers are drawn from PyTorch's generator."""
    return own_maps(backbone) or SimplePyramid(square_map(backbone, LAST))


def frozen_last_map(backbone: Backbone) -> tuple[Frozen, int]:
    """The last map at stride 8 of a frozen backbone, and its channels.

    A CNN is dilated. Other networks have no strides to undo: their map is read on a finer grid.
    """
    pyramid = own_maps(backbone)
    if pyramid is None:
        source = square_map(backbone, STRIDES[1])
        return Frozen(source), source.channels
    try:
        dilate(pyramid)
    except UserError as error:
        raise UserError(f"{backbone.spec.id}: {error}") from None
    return Frozen(LastMap(pyramid)), pyramid.channels[-1]

"""End-to-end networks for maps: a backbone with the head of a protocol, its loss, and its predictions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, interpolate

from unseen.backbones.backbone import Backbone
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.probes.dense.bodies import body_with_maps, frozen_last_map
from unseen.probes.dense.finite import checked
from unseen.probes.dense.heads import PSPHead, UPerHead
from unseen.probes.dense.protocols import DenseProtocol
from unseen.probes.dense.scaling import padded_batch, scaled_image, scaled_size
from unseen.probes.patches.codes import UNLABELLED


class MapPredictor(nn.Module):
    """Images (b, 3, h, w) → scores of codes (b, count, h/stride, w/stride)."""

    def __init__(self, body: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.body, self.head = body, head

    def forward(self, images: Tensor) -> Tensor:
        scores: Tensor = self.head(self.body(images))
        return scores


def map_predictor(backbone: Backbone, count: int, protocol: DenseProtocol, *, seed: int) -> MapPredictor:
    """The network of a protocol: PSP on the last map of a frozen backbone, or UPerNet on a trained one.

    Args:
        count: number of codes to predict.
        seed: seed of the weights of the head, and of a simple feature pyramid.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        if protocol.head == "psp":
            last, channels = frozen_last_map(backbone)
            return MapPredictor(last, PSPHead(channels, count, protocol.width))
        if protocol.head == "upernet":
            body = body_with_maps(backbone).requires_grad_(True)
            return MapPredictor(body, UPerHead(body.channels, count, protocol.width))
    raise UserError(f"{protocol.name}: {protocol.head} predicts no maps")


def map_loss(model: nn.Module, batch: tuple[Tensor, Tensor], device: torch.device) -> Tensor:
    """Mean cross-entropy over the labelled positions of a batch."""
    images, codes = batch
    scores = model(images.to(device, non_blocking=True))
    if scores.shape[2:] != codes.shape[1:]:
        scores = interpolate(scores, size=codes.shape[1:], mode="bilinear", align_corners=False)
    codes = codes.to(device)
    labelled = (codes != UNLABELLED).sum().clamp_min(1)
    return cross_entropy(scores.float(), codes, ignore_index=UNLABELLED, reduction="sum") / labelled


@torch.inference_mode()
def predicted_map(
    model: nn.Module, pixels: NDArray[np.uint8], transform: Transform, protocol: DenseProtocol, device: torch.device
) -> Tensor:
    """(count, h, w) probabilities of codes at the size of an image, averaged over the protocol's test sizes.

    Raises:
        NotFiniteError: if scores of the network are not finite.
    """
    size = (pixels.shape[0], pixels.shape[1])
    total: Tensor | None = None
    for side in protocol.tested:
        scaled = scaled_image(pixels, scaled_size(size, side, protocol.longest), transform)
        batch = padded_batch([scaled]).to(device)
        with torch.autocast(device.type, dtype=torch.float16, enabled=device.type == "cuda"):
            scores = checked(model(batch).float())
        whole = interpolate(scores, size=batch.shape[2:], mode="bilinear", align_corners=False)
        inside = whole[:, :, : scaled.shape[1], : scaled.shape[2]]
        probabilities = interpolate(inside, size=size, mode="bilinear", align_corners=False)[0].softmax(dim=0)
        total = probabilities if total is None else total + probabilities
    assert total is not None
    return total / len(protocol.tested)


def detector_loss(
    model: nn.Module, batch: tuple[Sequence[Tensor], Sequence[dict[str, Tensor]]], device: torch.device
) -> Tensor:
    """The sum of the detector's four losses."""
    images = [each.to(device, non_blocking=True) for each in batch[0]]
    targets = [{name: value.to(device) for name, value in each.items()} for each in batch[1]]
    losses: dict[str, Any] = model(images, targets)
    return torch.stack([value.float() for value in losses.values()]).sum()

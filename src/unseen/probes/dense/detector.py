"""Faster R-CNN with a feature pyramid (Ren et al. 2015, Lin et al. 2017) from torchvision's parts, set as in the paper.

Ericsson et al. 2021 (A.4) used another framework, whose values are used where torchvision's defaults differ: 1000
proposals after suppression in training (torchvision: 2000), L1 box losses (smooth L1 with β = 1/9), RoIAlign at
half-pixel centres with as many samples as a cell has pixels (no half pixel, 2 × 2 samples). torchvision's
initialisation, the matching of anchors (0.7 and 0.3) and of proposals (0.5), 256 anchors per image of which half are
positive, and the weights of box offsets are unchanged; they are the same in both.

Boxes are in 32 bits also if products are in 16: a coordinate above 1024 would be rounded to a whole pixel, and the area
of a box above 256² pixels would be infinite.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, l1_loss
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN
from torchvision.models.detection.image_list import ImageList
from torchvision.models.detection.roi_heads import RoIHeads
from torchvision.models.detection.rpn import RegionProposalNetwork, RPNHead
from torchvision.models.detection.transform import GeneralizedRCNNTransform
from torchvision.ops import FeaturePyramidNetwork, roi_align
from torchvision.ops.feature_pyramid_network import LastLevelMaxPool

from unseen.data.core.decoding.transform import Transform
from unseen.data.core.dense.labels import Objects
from unseen.metrics.boxes import Detections
from unseen.probes.dense.finite import checked
from unseen.probes.dense.pyramid import STRIDES, Frozen, FrozenNorms, Pyramid, freeze_early_stages
from unseen.probes.dense.simple_pyramid import SimplePyramid

WIDTH, HIDDEN, CELLS = 256, 1024, 7
ANCHORS, RATIOS = (32, 64, 128, 256, 512), (0.5, 1.0, 2.0)
TRAINED_SIDES, LONGEST = tuple(range(480, 801, 32)), 1333
"""Short sides, one of which is drawn for an image in training (the last one is used in tests), and the maximum long
side.
"""
CANONICAL_SIDE, CANONICAL_LEVEL = 224, 2
"""A box of 224 pixels is assigned to the third map, one of half the size to the map before it (Lin et al. 2017, eq. 1).
"""


class PyramidNetwork(nn.Module):
    """Maps of one width (FPN), with a fifth, coarser one for the anchors of 512 pixels.

    The maps of a simple feature pyramid already have that width and are not followed by an FPN (Li et al. 2022).
    """

    def __init__(self, pyramid: Pyramid | SimplePyramid, *, frozen: bool) -> None:
        super().__init__()
        pyramid.requires_grad_(True)
        coarser, self.fpn = LastLevelMaxPool(), None
        if isinstance(pyramid, Pyramid):
            if frozen:
                freeze_early_stages(pyramid)
            self.fpn = FeaturePyramidNetwork(list(pyramid.channels), WIDTH, extra_blocks=coarser)
        elif frozen:
            pyramid.source = Frozen(pyramid.source)
        self.body, self.coarser = FrozenNorms(pyramid), coarser
        self.out_channels = WIDTH

    def forward(self, images: Tensor) -> "OrderedDict[str, Tensor]":
        maps: OrderedDict[str, Tensor] = self.body(images)
        if self.fpn is None:
            found, names = self.coarser(list(maps.values()), [], list(maps))
            maps = OrderedDict(zip(names, found, strict=True))
        else:
            maps = self.fpn(maps)
        return maps


def faster_rcnn(
    pyramid: Pyramid | SimplePyramid,
    classes: int,
    transform: Transform,
    *,
    frozen: bool,
    sides: Sequence[int] = TRAINED_SIDES,
    longest: int = LONGEST,
) -> GeneralizedRCNN:
    """The detector; its labels count from 1, since 0 is the background.

    Args:
        transform: the backbone's, whose normalisation is applied to images.
        frozen: freeze the backbone except for its last stage or, under a simple feature pyramid, entirely. Batch norms
            are frozen in either case.
    """
    anchors = WideAnchors(tuple((size,) for size in ANCHORS), (RATIOS,) * len(ANCHORS))
    proposals = L1Proposals(
        anchors,
        WideRPNHead(WIDTH, anchors.num_anchors_per_location()[0]),
        fg_iou_thresh=0.7,
        bg_iou_thresh=0.3,
        batch_size_per_image=256,
        positive_fraction=0.5,
        pre_nms_top_n={"training": 2000, "testing": 1000},
        post_nms_top_n={"training": 1000, "testing": 1000},
        nms_thresh=0.7,
    )
    heads = L1Heads(
        AlignedPooling(),
        TwoMLPHead(WIDTH * CELLS**2, HIDDEN),
        FastRCNNPredictor(HIDDEN, classes + 1),
        fg_iou_thresh=0.5,
        bg_iou_thresh=0.5,
        batch_size_per_image=512,
        positive_fraction=0.25,
        bbox_reg_weights=None,
        score_thresh=0.05,
        nms_thresh=0.5,
        detections_per_img=100,
    )
    resize = GeneralizedRCNNTransform(tuple(sides), longest, list(transform.mean), list(transform.std))
    return GeneralizedRCNN(PyramidNetwork(pyramid, frozen=frozen), proposals, heads, resize)


class WideAnchors(AnchorGenerator):  # type: ignore[misc]
    """Anchors in 32 bits, whatever the maps have."""

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        # Only the shapes, the dtype and the device of maps are used.
        wide = [each.new_zeros((), dtype=torch.float32).expand(each.shape) for each in feature_maps]
        anchors: list[Tensor] = super().forward(image_list, wide)
        return anchors


class WideRPNHead(RPNHead):  # type: ignore[misc]
    """Scores and box offsets in 32 bits, whatever the products have; outside of training they must be finite."""

    def forward(self, x: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        scores, offsets = ([each.float() for each in maps] for maps in super().forward(x))
        if not self.training:  # the proposals would lack those that are not finite
            for each in (*scores, *offsets):
                checked(each)
        return scores, offsets


class L1Proposals(RegionProposalNetwork):  # type: ignore[misc]
    """torchvision's region proposal network with an L1 box loss."""

    def compute_loss(
        self, objectness: Tensor, pred_bbox_deltas: Tensor, labels: list[Tensor], regression_targets: list[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Losses of sampled anchors: of the scores of all of them, and of the boxes of the positive ones."""
        positive, negative = (torch.where(torch.cat(masks))[0] for masks in self.fg_bg_sampler(labels))
        drawn, wanted = torch.cat((positive, negative)), torch.cat(labels)
        targets = torch.cat(regression_targets)
        boxes = l1_loss(pred_bbox_deltas[positive], targets[positive], reduction="sum") / len(drawn)
        return binary_cross_entropy_with_logits(objectness.flatten()[drawn], wanted[drawn]), boxes


class L1Heads(RoIHeads):  # type: ignore[misc]
    """torchvision's box heads with an L1 loss; masks and keypoints are not supported."""

    def forward(
        self,
        features: Mapping[str, Tensor],
        proposals: list[Tensor],
        image_shapes: list[tuple[int, int]],
        targets: list[dict[str, Tensor]] | None = None,
    ) -> tuple[list[dict[str, Tensor]], dict[str, Tensor]]:
        """Detections of each image (none in training), and losses (none in tests).

        Raises:
            NotFiniteError: outside of training, if scores or boxes are not finite.
        """
        labels: list[Tensor] = []
        if self.training:
            proposals, _, labels, wanted = self.select_training_samples(proposals, targets)
        pooled = self.box_head(self.box_roi_pool(features, proposals, image_shapes))
        scores, offsets = (each.float() for each in self.box_predictor(pooled))
        if self.training:
            return [], _box_losses(scores, offsets, torch.cat(labels), torch.cat(wanted))
        found = self.postprocess_detections(checked(scores), checked(offsets), proposals, image_shapes)
        return [dict(zip(("boxes", "scores", "labels"), of, strict=True)) for of in zip(*found, strict=True)], {}


def _box_losses(scores: Tensor, offsets: Tensor, labels: Tensor, wanted: Tensor) -> dict[str, Tensor]:
    positive = torch.where(labels > 0)[0]
    own = offsets.reshape(len(scores), -1, 4)[positive, labels[positive]]
    boxes = l1_loss(own, wanted[positive], reduction="sum") / labels.numel()
    return {"loss_classifier": cross_entropy(scores, labels), "loss_box_reg": boxes}


class AlignedPooling(nn.Module):
    """RoIAlign at half-pixel centres from the map that fits the size of a box: (n, channels, 7, 7) for n boxes."""

    def forward(self, maps: Mapping[str, Tensor], boxes: list[Tensor], _: list[tuple[int, int]]) -> Tensor:
        levels = [maps[str(place)] for place in range(len(STRIDES))]
        numbered = [torch.cat((torch.full_like(each[:, :1], n), each), dim=1) for n, each in enumerate(boxes)]
        rois = torch.cat(numbered)
        sides = ((rois[:, 3] - rois[:, 1]) * (rois[:, 4] - rois[:, 2])).sqrt()
        level = (CANONICAL_LEVEL + torch.log2(sides / CANONICAL_SIDE + 1e-6)).floor().clamp(0, len(STRIDES) - 1)
        found = levels[0].new_zeros(len(rois), levels[0].shape[1], CELLS, CELLS)
        for place, (values, stride) in enumerate(zip(levels, STRIDES, strict=True)):
            chosen = torch.where(level == place)[0]
            pooled = roi_align(values, rois[chosen], CELLS, 1 / stride, sampling_ratio=0, aligned=True)
            found[chosen] = pooled.to(found.dtype)
        return found


def as_targets(objects: Objects, device: torch.device | str) -> dict[str, Tensor]:
    """The training targets of the detector: all objects including difficult ones, but no crowds."""
    kept = ~objects.crowd
    return {
        "boxes": torch.as_tensor(objects.boxes[kept], dtype=torch.float32, device=device),
        "labels": torch.as_tensor(objects.classes[kept] + 1, device=device),
    }


def as_detections(found: Mapping[str, Any]) -> Detections:
    """The detector's output for an image, as detections."""
    boxes, labels, scores = (
        cast("Tensor", found[name]).detach().cpu().numpy() for name in ("boxes", "labels", "scores")
    )
    return Detections.of(boxes, labels - 1, scores)

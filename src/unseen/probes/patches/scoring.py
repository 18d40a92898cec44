"""From predictions for patches to scores of maps at the size of the labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import nan

import numpy as np
import torch
from torch import Tensor

from unseen.data.core.dense.labels import IGNORED, Map
from unseen.errors import UserError
from unseen.metrics.catalogue import METRICS
from unseen.metrics.depth import depth_errors, depth_scores
from unseen.metrics.segmentation import class_areas, confusion, segmentation_scores
from unseen.metrics.surface_normals import THRESHOLDS, angle_sums, angular_errors, normal_scores
from unseen.probes.patches.codes import Codes, value_map
from unseen.probes.units import ScoredImages, Units, smallest

Pairs = tuple[tuple[str, float], ...]
UPSAMPLED = 1 << 28
"""Bytes of shares that are upsampled at once."""
SHOWN = 3
"""Number of best and worst images whose predictions are kept."""


def best_and_worst(scored: Sequence[tuple[float, int]]) -> list[int]:
    """The images to show, from (score, image): the best first, then the worst, with the very worst last."""
    ranked = [image for _, image in sorted(scored, reverse=True)]
    return [*dict.fromkeys([*ranked[:SHOWN], *ranked[-SHOWN:]])]


def picture_name(place: int, shown: int) -> str:
    """The file name of an image by its position among the best and the worst.

    Of few images, the better half is the best and the other half the worst; the one in between is neither.

    Args:
        shown: number of images that are shown.
    """
    half = shown // 2
    return f"{place}-{'best' if place < half else 'worst' if place >= shown - half else 'other'}.png"


def upsampled(patches: Tensor, grid: tuple[int, int], size: tuple[int, int]) -> Tensor:
    """(c, H, W) from values (h·w, c) of patches, interpolated bilinearly between the centres of patches."""
    maps = patches.T.reshape(1, -1, *grid).float()
    enlarged: Tensor = torch.nn.functional.interpolate(maps, size=size, mode="bilinear", align_corners=False)[0]
    return enlarged


def map_prediction(shares: Tensor, grid: tuple[int, int], size: tuple[int, int], codes: Codes) -> Tensor:
    """Predictions (H, W), for normals (H, W, 3), from the shares of codes (h·w, count) of patches.

    A map of all shares would fill gigabytes for a large image. Upsampling is linear, so it is the mean of the values of
    codes that is upsampled, and of classes a few at a time, of which the most probable one is kept.
    """
    if codes.values is not None:
        means = shares.float() @ codes.values.to(shares.device, torch.float32)
        return value_map(codes.kind, upsampled(means, grid, size))
    some = max(1, UPSAMPLED // (4 * size[0] * size[1]))
    best, chosen = upsampled(shares[:, :some], grid, size).max(dim=0)
    for first in range(some, codes.count, some):
        values, place = upsampled(shares[:, first : first + some], grid, size).max(dim=0)
        chosen = torch.where(values > best, place + first, chosen)
        best = torch.maximum(values, best)
    return chosen


@dataclass(eq=False)
class MapScorer:
    """Collects predictions image by image, and computes the scores of their kind.

    Attributes:
        keeps_units: whether sums over the pixels of each image are kept, for `units`.
    """

    codes: Codes
    keeps_units: bool = False
    _counts: Tensor | None = None
    _errors: list[Tensor] = field(default_factory=list)
    _depths: list[tuple[float, float]] = field(default_factory=list)
    _sums: list[Tensor] = field(default_factory=list)

    def add_map(self, predicted: Tensor, labels: Map) -> None:
        """Score an image by its prediction (H, W), for normals (H, W, 3), at the size of its labels."""
        truth = torch.as_tensor(labels, device=predicted.device)
        if self.codes.kind == "classes":
            counts = confusion(predicted, truth, self.codes.count, IGNORED)
            self._counts = counts if self._counts is None else self._counts + counts
            sums = [class_areas(counts)]
        elif self.codes.kind == "normals":
            errors = angular_errors(predicted, truth, truth.any(dim=-1))
            self._errors.append(errors.cpu())
            sums = [angle_sums(errors)] if self.keeps_units else []
        else:
            known = bool((truth > 0).any())
            self._depths += [depth_errors(predicted, truth, truth > 0)] if known else []
            sums = [torch.tensor(self._depths[-1] if known else (nan, nan), dtype=torch.float64)]
        self._sums += sums if self.keeps_units else []

    def scores(self) -> Pairs:
        """(metric, value) of all images together."""
        return tuple(self._scores())

    def units(self, images: ScoredImages) -> Units:
        """What is kept of each image; arrays as in `unseen.metrics.from_units`.

        Args:
            images: those that were added, in order.
        """
        sums = torch.stack(self._sums).cpu().numpy()
        if self.codes.kind == "classes":
            image, label = np.nonzero(sums[:, 1:].any(axis=1))
            areas = dict(zip(("correct", "predicted", "labelled"), sums[image, :, label].T, strict=True))
            arrays = {"images": np.array(len(sums)), "image": image, "label": label, **areas}
            return Units("areas", {name: smallest(each) for name, each in arrays.items()}, images)
        if self.codes.kind == "depth":
            return Units("depths", dict(zip(("rmse", "delta1"), sums.T, strict=True)), images)
        counts = smallest(sums[:, 1:].astype(np.int64))
        within, bins = counts[:, : len(THRESHOLDS)], counts[:, len(THRESHOLDS) :]
        pixels = bins.sum(axis=1, dtype=np.int64)
        return Units("angles", {"total": sums[:, 0], "pixels": pixels, "within": within, "bins": bins}, images)

    @property
    def class_iou(self) -> tuple[float, ...]:
        """IoU of each class; empty for normals and depths."""
        return segmentation_scores(self._counts).iou if self._counts is not None else ()

    def _scores(self) -> Iterator[tuple[str, float]]:
        if self.codes.kind == "classes":
            counts = torch.zeros(self.codes.count, self.codes.count) if self._counts is None else self._counts
            scores = segmentation_scores(counts)
            yield from (("miou", scores.miou), ("pixel-accuracy", scores.pixel_accuracy))
        elif self.codes.kind == "normals":
            errors = normal_scores(self._errors)
            yield from (("angle-mean", errors.mean), ("angle-median", errors.median))
            yield from zip(("within-11.25", "within-22.5", "within-30"), errors.within, strict=True)
        else:
            depths = depth_scores(self._depths)
            yield from (("depth-rmse", depths.rmse), ("delta1", depths.delta1))


def image_score(codes: Codes, predicted: Tensor, labels: Map) -> float | None:
    """How well one image is predicted, larger is better; None for an image without a labelled pixel.

    It is the main metric of its kind: the mean IoU of the classes that are there or predicted, or minus the mean angle,
    or minus the depth error.
    """
    alone = MapScorer(codes)
    alone.add_map(predicted, labels)
    try:
        metric, value = alone.scores()[0]
    except UserError:
        return None
    return value if METRICS[metric].higher_is_better else -value

"""Scores of class maps: mean intersection over union and pixel accuracy."""

from dataclasses import dataclass
from math import isnan, nan

import torch
from torch import Tensor

from unseen.data.core.dense.labels import IGNORED
from unseen.errors import UserError


@dataclass(frozen=True)
class SegmentationScores:
    """Scores from pixel counts over a whole set of images.

    Attributes:
        miou: mean over classes of IoU = TP / (TP + FP + FN); classes that occur in neither truth nor predictions are
            left out.
        pixel_accuracy: share of labelled pixels that are predicted correctly.
        iou: of each class; NaN if undefined.
    """

    miou: float
    pixel_accuracy: float
    iou: tuple[float, ...]


def confusion(predicted: Tensor, truth: Tensor, classes: int, ignored: int = IGNORED) -> Tensor:
    """(c, c) pixel counts, one row per true class and one column per predicted class; to be summed over images.

    Args:
        predicted, truth: class indices of the same shape; pixels whose truth is `ignored` do not count.
    """
    if predicted.shape != truth.shape:
        raise UserError(f"a prediction of {tuple(predicted.shape)} pixels for labels of {tuple(truth.shape)}")
    kept = truth != ignored
    true, guessed = truth[kept].long(), predicted[kept].long()
    for name, labels in (("label", true), ("prediction", guessed)):
        if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < classes:
            wrong = int(labels.max()) if int(labels.max()) >= classes else int(labels.min())
            raise UserError(f"the {name} {wrong} is none of the {classes} classes, counted from 0")
    return torch.bincount(true * classes + guessed, minlength=classes**2).reshape(classes, classes)


def class_areas(counts: Tensor) -> Tensor:
    """(3, c) pixels of each class that are predicted correctly, predicted, and labelled, from `confusion`."""
    return torch.stack([counts.diagonal(), counts.sum(0), counts.sum(1)])


def segmentation_scores(counts: Tensor) -> SegmentationScores:
    """Scores from the counts of `confusion`."""
    if int(counts.sum()) == 0:
        raise UserError("no labelled pixel to score")
    exact = counts.double()
    hits, union = exact.diagonal(), exact.sum(0) + exact.sum(1) - exact.diagonal()
    iou = [float(hit / either) if either > 0 else nan for hit, either in zip(hits, union, strict=True)]
    known = [value for value in iou if not isnan(value)]
    return SegmentationScores(sum(known) / len(known), float(hits.sum() / exact.sum()), tuple(iou))

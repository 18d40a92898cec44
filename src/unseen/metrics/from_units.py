"""Metrics of maps and rankings from what is kept of each image; nothing here needs PyTorch.

Every function takes `weights`, (images,) how often each image counts, by default once: a resample of the images is a
choice of weights.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
Weights = NDArray[np.floating] | NDArray[np.integer]
FINE, COARSE, FINE_UP_TO = 0.25, 1.0, 60.0
ANGLE_EDGES = np.concatenate([np.arange(0, FINE_UP_TO, FINE), np.arange(FINE_UP_TO, 181.0, COARSE)])
"""Edges in degrees of the bins of angular errors: a quarter of a degree wide up to 60°, one degree beyond."""


def area_scores(areas: Arrays, weights: Weights | None = None) -> dict[str, float]:
    """`miou` and `pixel-accuracy`.

    Args:
        areas: `image` and `label` (k,), and how many pixels of that class in that image are predicted correctly
            (`correct`), `predicted` and `labelled` (k,); an image has no pixels of a class that is left out.
    """
    correct, _, labelled = _class_areas(areas, 1 + int(areas["label"].max(initial=0)), weights)
    iou = class_iou(areas, len(correct), weights)
    known = iou[~np.isnan(iou)].tolist()
    return {"miou": sum(known) / len(known), "pixel-accuracy": float(correct.sum() / labelled.sum())}


def class_iou(areas: Arrays, classes: int, weights: Weights | None = None) -> NDArray[np.float64]:
    """(classes,) intersection over union; NaN for a class that is neither predicted nor labelled."""
    correct, predicted, labelled = _class_areas(areas, classes, weights)
    union = predicted + labelled - correct
    iou: NDArray[np.float64] = np.divide(correct, union, out=np.full(classes, np.nan), where=union > 0)
    return iou


def _class_areas(areas: Arrays, classes: int, weights: Weights | None) -> list[NDArray[Any]]:
    often = 1.0 if weights is None else weights[areas["image"]]
    names = ("correct", "predicted", "labelled")
    return [np.bincount(areas["label"], areas[name].astype(np.float64) * often, classes) for name in names]


def angle_scores(angles: Arrays, weights: Weights | None = None) -> dict[str, float]:
    """`angle-mean`, `angle-median` and the shares within three angles; the median is known to the width of its bin.

    Args:
        angles: of each image the sum of its angular errors (`total`), its number of `pixels`, how many are `within`
            each threshold (images, 3), and in each bin of `ANGLE_EDGES` (`bins`, (images, bins)).
    """
    often = np.ones(len(angles["pixels"])) if weights is None else weights
    pixels = float(often @ angles["pixels"])
    within = (often @ angles["within"]) / pixels
    counts = np.cumsum(often @ angles["bins"])
    place = int(np.searchsorted(counts, pixels / 2))
    before = counts[place - 1] if place else 0.0
    share = (pixels / 2 - before) / (counts[place] - before)
    low, high = ANGLE_EDGES[place : place + 2]
    names = ("within-11.25", "within-22.5", "within-30")
    return {
        "angle-mean": float(often @ angles["total"]) / pixels,
        "angle-median": float(low + share * (high - low)),
        **dict(zip(names, within.tolist(), strict=True)),
    }


def depth_means(depths: Arrays, weights: Weights | None = None) -> dict[str, float]:
    """`depth-rmse` and `delta1`, which are means over images.

    Args:
        depths: `rmse` and `delta1` (images,), NaN for images without a true depth.
    """
    return known_means({"depth-rmse": depths["rmse"], "delta1": depths["delta1"]}, weights)


def known_means(values: Arrays, weights: Weights | None = None) -> dict[str, float]:
    """The mean of each of several (images,) arrays over the images for which it is known: NaN is not."""
    means = dict[str, float]()
    for name, each in values.items():
        known = ~np.isnan(each)
        often = (np.ones(len(known)) if weights is None else weights)[known]
        means[name] = float(often @ each[known] / often.sum())
    return means

"""Saliency: attention maps of images, their diffusion, and that of the paper's models."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dense.pictures import overlay
from unseen.papers.image_settings import TITLES
from unseen.probes.saliency.grid import EXACT, Grid
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.tasks.image_data import ImageResult
from unseen.report.tasks.image_parts import (
    box_figure,
    correlation_sentence,
    galleries,
    image_table,
    imagenet_figure,
    images_text,
    over_images,
    results_of,
    value_text,
)
from unseen.report.tasks.page_data import TaskPage

METRIC, PROBE = "diffusion", "saliency"
NOTE = (
    "A square mask slides over the image. The attention at a pixel is the root relative squared error of the features "
    "of the masked image, averaged over all masks that cover the pixel. Diffusion is the share of pixels above the "
    "mean of the map: a higher value means wider attention, which is neither better nor worse. Images are resized to "
    "242/224 of the input size and cropped at the centre. Masked pixels are 0 after normalisation; features are "
    "pooled; errors are relative to the spread of the clean features around their mean. In each map, dark is the "
    "lowest and bright the highest attention."
)


def build(page: TaskPage) -> Section | None:
    """The section, for runs with attention maps."""
    results = results_of(page, PROBE)
    if not results:
        return None
    beside = imagenet_figure(page, results, METRIC)
    return Section(
        PROBE,
        "Where the backbones look",
        [*_finding(results), correlation_sentence(page, PROBE, METRIC)],
        [box_figure(page, results, METRIC), *([beside] if beside else [])],
        NOTE,
        [image_table(page, results, [METRIC], PROBE, _caption(results))],
        galleries=galleries(results, METRIC, _panels, "attention of"),
        menu="Saliency",
    )


def _finding(results: Sequence[ImageResult]) -> list[str]:
    means = {name: float(np.mean(of)) for name, of in over_images(results, METRIC).items()}
    order = sorted(means, key=lambda name: -means[name])
    of = f"on average over {images_text(results)}"
    if len(order) == 1:
        return [f"{value_text(METRIC, means[order[0]])} of pixels are above the mean attention of {order[0]}, {of}."]
    widest, narrowest = order[0], order[-1]
    return [
        f"{widest} has the widest attention, with {value_text(METRIC, means[widest])} of pixels above the mean of the "
        f"map, and {narrowest} the narrowest, with {value_text(METRIC, means[narrowest])}, {of}."
    ]


def _caption(results: Sequence[ImageResult]) -> str:
    grids = {Grid(result.protocol["mask"], result.protocol["stride"]) for result in results}
    bits = " and ".join(dict.fromkeys(result.precision for result in results))
    grid = " and ".join(map(str, grids))
    other = "" if grids == {EXACT} else " and with its grid of 10/1"
    return (
        f"{TITLES[METRIC]} over {images_text(results)}; masks of {grid} pixels (side/stride), {bits} precision. Grey "
        f"rows are from the paper's Table 9: means over its own images{other}."
    )


def _panels(result: ImageResult, arrays: Mapping[str, NDArray[Any]]) -> list[NDArray[np.uint8]]:
    """The map of a backbone over the image in grey."""
    return [overlay(arrays["image"], arrays["map"])]


SECTION = PageSection("tasks", 70, build)

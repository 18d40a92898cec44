"""Inversion: images reconstructed from features, their errors, and those of the paper's models."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.colour import COLOURS
from unseen.papers.image_settings import TITLES
from unseen.papers.transfer import IMAGENET
from unseen.probes.by_name.inversion import Inversion
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.tasks.image_data import ImageResult
from unseen.report.tasks.image_parts import (
    box_figure,
    galleries,
    image_table,
    imagenet_figure,
    images_text,
    over_images,
    results_of,
    seeds_note,
    value_text,
)
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.tables import backbone_row, minus

PROBE = Inversion.name
NOTE = (
    "An untrained convolutional network (a deep image prior) is optimised until the image that it draws has the same "
    "features in the backbone's last spatial map as the original. The result shows the information in the features "
    "together with the preferences of such a network. Perceptual distances (LPIPS 0.1) compare activations of AlexNet, "
    "VGG-16 and SqueezeNet; colour errors are mean squared differences of each channel on a scale of 0 to 255. Lower "
    "values mean that the features keep more of the image."
)


def build(page: TaskPage) -> Section | None:
    """The section, for runs with reconstructions."""
    results = results_of(page, PROBE)
    if not results:
        return None
    metrics = [metric for metric in Inversion.metrics if over_images(results, metric)]
    first = metrics[0]
    beside = imagenet_figure(page, results, first)
    parts = {"perceptual-distance": [m for m in metrics if m not in COLOURS], "colour-error": list(COLOURS)}
    return Section(
        PROBE,
        "How much of an image the features keep",
        _finding(results, first),
        [*(box_figure(page, results, metric) for metric in metrics), *([beside] if beside else [])],
        f"{NOTE} {_absent(metrics)}".strip(),
        [
            *(image_table(page, results, of, name, _caption(results)) for name, of in parts.items() if of),
            *_feature_errors(results),
            *_correlations(page, metrics),
        ],
        galleries=galleries(results, first, _panels, "its reconstruction from the features of"),
        menu="Inversion",
    )


def _finding(results: Sequence[ImageResult], metric: str) -> list[str]:
    means = {name: float(np.mean(of)) for name, of in over_images(results, metric).items()}
    order = sorted(means, key=lambda name: means[name])
    kind, _, by = TITLES[metric].partition(", ")
    what, of = f"mean {kind.lower()} ({by})", images_text(results)
    if len(order) == 1:
        return [f"The {what} of {order[0]} is {value_text(metric, means[order[0]])} over {of}."]
    low, high = (f"{value_text(metric, means[name])} (features of {name})" for name in (order[0], order[-1]))
    return [f"Over {of}, the {what} goes from {low} to {high}; the difference has no interval."]


def _absent(metrics: Sequence[str]) -> str:
    missing = [TITLES[m].rpartition(" ")[2] for m in Inversion.metrics if m not in metrics]
    return f"Not measured, because weights were missing or images too small: {', '.join(missing)}." if missing else ""


def _caption(results: Sequence[ImageResult]) -> str:
    steps = " and ".join(f"{count:,}" for count in sorted({int(result.protocol["steps"]) for result in results}))
    bits = " and ".join(dict.fromkeys(result.precision for result in results))
    how = f"{bits} precision{seeds_note(results)}"
    return (
        f"Reconstructions of {images_text(results)} in {steps} steps, {how}. Grey rows are from the paper's "
        "Table 9: means over its own images, 3,000 steps."
    )


def _feature_errors(results: Sequence[ImageResult]) -> list[Table]:
    """The error that was minimised, and that of the clamped pictures; runs of earlier versions have neither."""
    errors: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        for _, arrays in result.arrays():
            if {"loss", "clamped_loss", "scale"} <= arrays.keys():
                ends = (float(arrays[name] / arrays["scale"]) for name in ("loss", "clamped_loss"))
                errors.setdefault(result.backbone, []).append((next(ends), next(ends)))
    if not errors:
        return []
    rows = []
    for name, pairs in errors.items():
        means = np.mean(pairs, axis=0).tolist()
        rows.append(backbone_row(name, [Cell(str(len(pairs))), *(Cell(f"{mean:.3f}", (mean,)) for mean in means)]))
    columns = [
        Column(number=False, names=("backbone",)),
        Column("images"),
        Column("before clamping", "what the optimisation minimises", names=("before clamping",)),
        Column("of the picture", "the clamped picture that is shown and scored", names=("of the picture",)),
    ]
    said = (
        "Mean squared error of the features relative to their mean square, mean over images: of the optimised output, "
        "whose colours may be out of range, and of the clamped picture that is shown and scored"
    )
    said += ", for the first seed" if seeds_note(results) else ""
    return [Table("feature-errors", columns, rows, said, head=True)]


def _correlations(page: TaskPage, metrics: Sequence[str]) -> list[Table]:
    """As in the last row of Table 9: ImageNet accuracy with logits of perceptual distances, and with colour errors."""
    found = {
        (table.title, pair.second.partition(" ")[0]): pair.correlation
        for table in page.correlations
        for pair in table.pairs
        if pair.first == IMAGENET
    }
    titles = list(dict.fromkeys(title for title, setting in found if setting.startswith(f"{PROBE}-")))
    if not titles:
        return []
    rows = []
    for title in titles:
        cells = [Cell(title)]
        for metric in metrics:
            each = found.get((title, f"{PROBE}-{metric}"))
            cells.append(Cell(minus(each.pearson.value), (each.pearson.value,)) if each else Cell())
        rows.append(Row(cells))
    columns = [Column("models", number=False), *(Column(TITLES[metric], names=(metric,)) for metric in metrics)]
    said = "Pearson's correlation of accuracy on ImageNet with logits of perceptual distances, and with colour errors"
    return [Table("inversion-correlations", columns, rows, said, head=True)]


def _panels(_: ImageResult, arrays: Mapping[str, NDArray[Any]]) -> list[NDArray[np.uint8]]:
    return [arrays["reconstruction"]]


SECTION = PageSection("tasks", 61, build)

"""Parts shared by the sections on single images: box plots, tables, pictures with panels, sentences."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.tasks.averages import scaled
from unseen.metrics.catalogue import METRICS
from unseen.metrics.correlation import Correlation
from unseen.papers.image_settings import PRINTED, TITLES
from unseen.papers.transfer import IMAGENET
from unseen.report.core.model import Cell, Column, Figure, Gallery, Picture, Series, Table
from unseen.report.core.ticks import percent_ticks
from unseen.report.tasks.image_data import ImageResult
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.section_parts import PUBLISHED, SELF_SUPERVISED
from unseen.report.tasks.tables import backbone_row, minus
from unseen.text.words import counted

if TYPE_CHECKING:
    from unseen.runs.score import Score

PAPER = "the paper's 14 models"
MOST_BYTES = 3_000_000
"""Limit for all pictures of a section together."""
PANEL = 224
"""Smallest side of a panel in pixels; smaller images are enlarged without smoothing."""
MOST_PANELS = 6
QUALITY = 85
LONG_WORD = 10
"""Words longer than this may be broken, so that labels fit side by side on a phone."""
Panels = Callable[[ImageResult, Mapping[str, NDArray[Any]]], Sequence[NDArray[np.uint8]]]
"""The panels of a backbone for an image, (h, w, 3) each, from its stored arrays."""


def results_of(page: TaskPage, probe: str) -> list[ImageResult]:
    """The results of an analysis, in the order of the backbones of the page."""
    found = [result for result in page.by_image if result.probe == probe]
    return sorted(found, key=lambda result: page.backbones.index(result.backbone))


def value_text(metric: str, value: float, *, unit: bool = True) -> str:
    """A value for a page: shares in percent, squared errors of colours as whole numbers."""
    if METRICS[metric].unit == "share":
        return f"{100 * value:.2f}{'%' if unit else ''}"
    return f"{value:,.0f}" if metric.startswith("colour") else f"{value:.3f}"


def over_images(results: Sequence[ImageResult], metric: str) -> dict[str, list[float]]:
    """Backbone → the numbers of all its images."""
    found: dict[str, list[float]] = {}
    for result in results:
        found.setdefault(result.backbone, []).extend(result.values.get(metric, ()))
    return {name: values for name, values in found.items() if values}


def image_findings(page: TaskPage) -> Iterator[str]:
    """The main number of each analysis for every backbone, the best or the widest first."""
    for probe in dict.fromkeys(result.probe for result in page.by_image):
        results = results_of(page, probe)
        metric = next(iter(results[0].values))
        means = {name: float(np.mean(of)) for name, of in over_images(results, metric).items()}
        order = sorted(means, key=lambda name: means[name], reverse=METRICS[metric].ranks_high)
        found = ", ".join(f"{name} {value_text(metric, means[name])}" for name in order)
        yield f"{TITLES[metric]}, mean over {images_text(results)}: {found}."


def images_text(results: Sequence[ImageResult]) -> str:
    """The images of some results, in words."""
    titles = list(dict.fromkeys(result.title for result in results))
    if len(titles) <= 2:
        return " and ".join(titles)
    images = len({(result.domain, name) for result in results for name in result.images})
    return f"{counted(images, 'image')} of {len(titles)} data sets"


def seeds_note(results: Sequence[ImageResult], rest: str = "") -> str:
    """`, means over 2 seeds`, with the rest in the same clause; empty for one seed."""
    most = max(result.seeds for result in results)
    return f", means over {most} seeds{rest}" if most > 1 else ""


def box_figure(page: TaskPage, results: Sequence[ImageResult], metric: str) -> Figure:
    """One box per backbone over its images, and the means of the published models beside them."""
    factor = 100 if METRICS[metric].unit == "share" else 1
    series, ticks = list[Series](), list[tuple[float, str]]()
    for place, (name, values) in enumerate(over_images(results, metric).items()):
        ids = [image for result in results if result.backbone == name for image in result.images]
        series.append(
            Series(
                name, [float(place)] * len(values), [factor * value for value in values], strong=True, mode="box",
                backbone=name,
                hover=[f"{name}, {image}: {value_text(metric, v)}" for image, v in zip(ids, values, strict=True)],
            )
        )  # fmt: skip
        ticks.append((float(place), _foldable(name)))
    at = float(len(ticks))
    series += [
        Series(
            group, [at] * len(of), [factor * s.value for s in of], colour, group, mode="markers",
            symbol="diamond", hover=[f"{s.backbone} (paper): {value_text(metric, s.value)}" for s in of],
        )
        for (group, colour), of in _published_groups(page, metric)
    ]  # fmt: skip
    unit = " (%)" if factor == 100 else ""
    return Figure(
        f"{TITLES[metric]} by image", "", f"{TITLES[metric].partition(', ')[0]}{unit}", series, (*ticks, (at, PAPER)),
        caption="One point per image; the marks of the paper's models are means over the paper's own images.",
    )  # fmt: skip


def _foldable(name: str) -> str:
    """A name with spaces where its long words may be broken."""
    words = name.split(" ")
    return " ".join(re.sub(r"(?<=[-:_/@])(?=\w)", " ", word) if len(word) > LONG_WORD else word for word in words)


def imagenet_figure(page: TaskPage, results: Sequence[ImageResult], metric: str) -> Figure | None:
    """Means over images against accuracy on ImageNet; None if no backbone of the run has a known accuracy."""
    top1 = {(s.backbone, s.published): s for s in page.scores if s.domain == IMAGENET}
    factor = 100 if METRICS[metric].unit == "share" else 1
    means = {name: float(np.mean(of)) for name, of in over_images(results, metric).items()}
    own = {name: mean for name, mean in means.items() if (name, False) in top1}
    if not own:
        return None
    series = [
        Series(
            group, [scaled(top1[s.backbone, True]) for s in of], [factor * s.value for s in of], colour, group,
            mode="markers",
            hover=[f"{s.backbone} (paper): {value_text(metric, s.value)}" for s in of],
        )
        for (group, colour), of in _published_groups(page, metric)
    ]  # fmt: skip
    series += [
        Series(
            name, [scaled(top1[name, False])], [factor * mean], strong=True, mode="markers", backbone=name,
            hover=[f"{name}: {value_text(metric, mean)}"],
        )
        for name, mean in own.items()
    ]  # fmt: skip
    places = [x for each in series for x in each.x]
    unit = " (%)" if factor == 100 else ""
    return Figure(
        "Against accuracy on ImageNet", "ImageNet (%)", f"{TITLES[metric]}{unit}", series, percent_ticks(places)
    )


def correlation_sentence(page: TaskPage, probe: str, metric: str) -> str:
    """The correlation with accuracy on ImageNet, over the paper's models and, if there are enough, over the run's."""
    setting = f"{probe}-{metric}"
    found: dict[str, Correlation] = {
        table.title: pair.correlation
        for table in page.correlations
        for pair in table.pairs
        if pair.first == IMAGENET and pair.second.partition(" ")[0] == setting
    }
    words = [
        f"{title[:1].lower()}{title[1:]} {minus(each.pearson.value)} "
        f"({minus(each.pearson.low)} to {minus(each.pearson.high)})"
        for title, each in found.items()
    ]
    return f"Pearson's correlation with accuracy on ImageNet (95% interval): {'; '.join(words)}." if words else ""


def image_table(page: TaskPage, results: Sequence[ImageResult], metrics: Sequence[str], name: str, said: str) -> Table:
    """One row per backbone: means over images with the lowest and the highest; then the paper's models."""
    own = {metric: over_images(results, metric) for metric in metrics}
    names = list(dict.fromkeys(result.backbone for result in results))
    printed: dict[str, dict[str, Score]] = {}
    for metric in metrics:
        for score in _published(page, metric):
            printed.setdefault(score.backbone, {})[metric] = score
    columns = [Column(number=False, names=("backbone",)), Column("images")]
    for metric in metrics:
        unit = " (%)" if METRICS[metric].unit == "share" else ""
        columns.append(Column(f"{TITLES[metric]}{unit}", names=(metric,)))
        columns.append(Column("lowest to highest", names=(f"{metric} lowest", f"{metric} highest")))
    rows = [
        backbone_row(
            each,
            [
                Cell(str(max(len(own[metric].get(each, ())) for metric in metrics))),
                *(cell for metric in metrics for cell in _cells(metric, own[metric].get(each, ()))),
            ],
        )
        for each in names
    ]
    rows += [
        backbone_row(each, [Cell(), *(cell for m in metrics for cell in _printed_cells(m, of.get(m)))], published=True)
        for each, of in printed.items()
    ]
    return Table(name, columns, rows, said, head=True)


def image_tables(page: TaskPage) -> list[Table]:
    """The tables of all analyses of a page, for the terminal."""
    probes = dict.fromkeys(result.probe for result in page.by_image)
    by_probe = {probe: results_of(page, probe) for probe in probes}
    return [
        image_table(page, results, list(results[0].values), probe, f"{probe.capitalize()}, {what}")
        for probe, results in by_probe.items()
        for what in [f"{images_text(results)}{seeds_note(results)}"]
    ]


def _cells(metric: str, values: Sequence[float]) -> list[Cell]:
    if not values:
        return [Cell(), Cell()]
    mean, low, high = float(np.mean(values)), min(values), max(values)
    spread = f"{value_text(metric, low, unit=False)} to {value_text(metric, high, unit=False)}"
    return [Cell(value_text(metric, mean, unit=False), (mean,)), Cell(spread, (low, high))]


def _printed_cells(metric: str, score: "Score | None") -> list[Cell]:
    if score is None:
        return [Cell(), Cell()]
    return [Cell(value_text(metric, score.value, unit=False), (score.value,)), Cell()]


def galleries(results: Sequence[ImageResult], metric: str, panels: Panels, what: str) -> list[Gallery]:
    """For each set of images, pictures with a row of panels: the image, then the panels of every backbone.

    Args:
        what: the panels of a backbone, in words.
    """
    found, size = list[Gallery](), 0
    for title in dict.fromkeys(result.title for result in results):
        of_set = [result for result in results if result.title == title]
        for some in (of_set[at : at + MOST_PANELS] for at in range(0, len(of_set), MOST_PANELS)):
            pictures, left, widest = list[Picture](), 0, 1
            for image, rows in _together(some):
                shown = [rows[0][1]["image"], *(p for result, arrays in rows for p in panels(result, arrays))]
                picture, widest = side_by_side(shown), max(widest, len(shown))
                if size + len(picture) > MOST_BYTES:
                    left += 1
                    continue
                size += len(picture)
                place = [list(result.images).index(image) for result, _ in rows]
                numbers = [
                    f"{result.backbone} {value_text(metric, result.values[metric][at])}"
                    for (result, _), at in zip(rows, place, strict=True)
                ]
                pictures.append(Picture(picture, [image, ", ".join(numbers)], "jpeg"))
            order = ", ".join(result.backbone for result in some)
            more = f"; {left} more in {_folder(some)}" if left else ""
            if pictures:
                name = TITLES[metric][:1].lower() + TITLES[metric][1:]
                name += seeds_note(some, ", shown for the first")
                said = f"{title}: the image, then {what} {order}, with {name}{more}"
                found.append(Gallery(said, pictures, panels=widest))
    return found


def _folder(results: Sequence[ImageResult]) -> str:
    return ", ".join(str(result.folder) for result in results)


def _together(
    results: Sequence[ImageResult],
) -> Iterator[tuple[str, list[tuple[ImageResult, dict[str, NDArray[Any]]]]]]:
    """For each image, the stored arrays of every backbone."""
    kept = {result.backbone: dict(result.arrays()) for result in results}
    for image in dict.fromkeys(name for result in results for name in result.images):
        rows = [(result, kept[result.backbone][image]) for result in results if image in kept[result.backbone]]
        if rows:
            yield image, rows


def side_by_side(panels: Sequence[NDArray[np.uint8]]) -> bytes:
    """A JPEG of panels in a row, all of one height."""
    from PIL import Image

    side = max(PANEL, *(panel.shape[0] for panel in panels))
    row = Image.new("RGB", (side * len(panels) + 4 * (len(panels) - 1), side), "white")
    for place, panel in enumerate(panels):
        smooth = Image.Resampling.BICUBIC if 2 * panel.shape[0] > side else Image.Resampling.NEAREST
        row.paste(Image.fromarray(panel).resize((side, side), smooth), (place * (side + 4), 0))
    content = BytesIO()
    row.save(content, format="JPEG", quality=QUALITY)
    return content.getvalue()


def _published(page: TaskPage, metric: str) -> "list[Score]":
    probe = next(probe for probe, printed in PRINTED.values() if printed == metric)
    return [s for s in page.scores if s.published and (s.probe, s.metric, s.domain) == (probe, metric, "")]


def _published_groups(page: TaskPage, metric: str) -> "list[tuple[tuple[str, int], list[Score]]]":
    groups: dict[tuple[str, int], list[Score]] = {}
    for score in _published(page, metric):
        groups.setdefault(PUBLISHED.get(score.backbone, SELF_SUPERVISED), []).append(score)
    return list(groups.items())

"""Dense tasks: one section per data set with boxes or maps, with tables, classes and pictures."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np

from unseen.data.core.dense.pictures import legend
from unseen.papers.dense_settings import METRIC_TITLES, text_with_unit
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Gallery, Picture, Section, Series
from unseen.report.tasks.dense_data import DenseProbe, DenseResult, DenseTask
from unseen.report.tasks.dense_tables import class_metric, class_table, probe_table, slug
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.section_parts import NONE_BOLD, kept_picture

MOST_BYTES = 3_000_000
"""Limit for all pictures of a page together."""
MOST_BARS = 40
"""Classes in a figure; with more, only the best and the worst."""
NAMED = 3
"""Classes that a sentence names."""
Caption = tuple[Path, Sequence[str]]
"""A picture and the lines of its caption."""
PANELS = {
    "classes": "the true class of each pixel, and the predicted one; white pixels have none",
    "normals": "the true direction of each surface as a colour, and the predicted one",
    "depth": "the true depth, darker where farther, and the predicted one",
    "boxes": "the true boxes, and the detections, a colour for each class",
}
OTHER_AXES = {"nyuv2-normals"}
"""Data sets whose normals have axes of their own."""
MOST_COLOURS = 40
"""Classes of a legend if it is not known which of them pictures show."""


def build(page: TaskPage) -> Iterator[Section]:
    """One section per data set."""
    kept = _kept_pictures(page)
    for task in page.dense:
        tables = [probe_table(page, task, probe) for probe in task.probes]
        with_classes = [probe for probe in task.probes if any(_some(result) for result in probe.results)]
        shown = [gallery for probe in task.probes for gallery in _galleries(task, probe, kept)]
        panels = f" Pictures have three panels: the image, {PANELS[task.kind]}." if shown else ""
        yield Section(
            f"dense-{slug(task.name)}",
            f"{task.title[:1].upper()}{task.title[1:]}",
            [sentence for probe in with_classes for sentence in _words(task, probe)],
            [_bars(task, probe) for probe in with_classes],
            f"{NONE_BOLD}{panels}",
            [*tables, *(class_table(task, probe) for probe in with_classes)],
            galleries=shown,
        )


def _some(result: DenseResult) -> bool:
    return any(value is not None for value in result.by_class)


def _words(task: DenseTask, probe: DenseProbe) -> Iterator[str]:
    """The classes at both ends of the scores of each backbone."""
    for result in probe.results:
        found = sorted(
            ((value, name) for value, name in zip(result.by_class, task.classes, strict=True) if value is not None),
            reverse=True,
        )
        if len(found) > 2 * NAMED:
            high, low = (
                ", ".join(f"{name} ({100 * value:.1f}%)" for value, name in part)
                for part in (found[:NAMED], found[: -NAMED - 1 : -1])
            )
            yield f"{result.backbone}, {probe.title}: from {low} to {high}."


def _bars(task: DenseTask, probe: DenseProbe) -> Figure:
    """Every class, ordered by the mean score over backbones, the best first."""
    results = [result for result in probe.results if _some(result)]
    table = np.array([[np.nan if v is None else v for v in result.by_class] for result in results], dtype=float)
    known = np.flatnonzero(np.isfinite(table).any(axis=0))
    order = known[np.argsort(-np.nanmean(table[:, known], axis=0), kind="stable")]
    which = "by class"
    if len(order) > MOST_BARS:
        half = MOST_BARS // 2
        which = f"the {half} best and the {half} worst of {len(order)} classes"
        order = np.concatenate([order[:half], order[-half:]])
    metric = class_metric(task)
    series = [
        Series(
            result.backbone, [float(place) for place in range(len(order))],
            [None if np.isnan(row[at]) else 100 * float(row[at]) for at in order], mode="bars", strong=True,
            backbone=result.backbone,
            hover=[f"{result.backbone}, {task.classes[at]}: {100 * row[at]:.1f}%" for at in order],
        )
        for result, row in zip(results, table, strict=True)
    ]  # fmt: skip
    ticks = tuple((float(place), task.classes[at]) for place, at in enumerate(order))
    return Figure(f"{probe.title}, {which}", "", f"{metric} (%)", series, ticks)


def _galleries(task: DenseTask, probe: DenseProbe, kept: dict[Path, Picture]) -> Iterator[Gallery]:
    for result in probe.results:
        paths = [path for path in result.pictures if path in kept]
        if paths:
            left = len(result.pictures) - len(paths)
            more = f"; {left} more in {result.pictures[0].parent}" if left else ""
            chosen = ", the threshold with the highest F1 on the test images" if result.known else ""
            drawn = f"; detections with scores from {result.drawn_from:.3f} on{chosen}"
            title = f"{probe.title}, {result.backbone}: image, truth, prediction"
            yield Gallery(
                f"{title}{drawn if task.kind == 'boxes' else ''}{more}",
                [kept[path] for path in paths],
                panels=3,
                colours=legend(
                    task.kind, task.classes, _classes(task, result, paths), other_axes=task.name in OTHER_AXES
                ),
            )


def _classes(task: DenseTask, result: DenseResult, paths: Sequence[Path]) -> list[int]:
    """The classes in some pictures; of results of earlier versions all classes, unless there are many."""
    if all(path.name in result.known for path in paths):
        return sorted({number for path in paths for number in result.known[path.name].classes})
    return [*range(len(task.classes))] if len(task.classes) <= MOST_COLOURS else []


def _kept_pictures(page: TaskPage) -> dict[Path, Picture]:
    """As many pictures as fit on a page: the first of every result, then the second of every result, and so on."""
    told = [_captions(result) for task in page.dense for probe in task.probes for result in probe.results]
    kept: dict[Path, Picture] = {}
    size = 0
    for turn in zip_longest(*(_ends_first(each) for each in told)):
        for path, caption in filter(None, turn):
            picture = kept_picture(path, caption)
            if picture is None or size + len(picture.content) > MOST_BYTES:
                continue
            kept[path] = picture
            size += len(picture.content)
    return kept


def _ends_first(items: Sequence[Caption]) -> list[Caption]:
    """The best, the worst, the second best, and so on, so that those in between are left out."""
    order = [place for pair in zip_longest(range(len(items)), reversed(range(len(items)))) for place in pair]
    return [items[place] for place in dict.fromkeys(order)]


def _captions(result: DenseResult) -> list[Caption]:
    """The caption of each picture: the best test images, then the worst, the worst last, each with its score.

    Of an odd number of few test images, the one in the middle is neither.

    Pictures of earlier versions have only numbers as names, and not all were chosen by their scores.
    """
    pictures, metric = result.pictures, result.scores[0].metric
    best, worst = ([path for path in pictures if path.stem.endswith(f"-{end}")] for end in ("best", "worst"))
    others = [path for path in pictures if path not in {*best, *worst}]
    named = [
        *((path, f"best test image {place}") for place, path in enumerate(best, 1)),
        *((path, "middle test image" if best else f"test image {place}") for place, path in enumerate(others, 1)),
        *((path, f"worst test image {place}") for path, place in zip(worst, range(len(worst), 0, -1), strict=True)),
    ]
    title = METRIC_TITLES[metric]
    scores = {name: f"{title} {text_with_unit(metric, of.score)}" for name, of in result.known.items()}
    return [(path, [name, *([scores[path.name]] if path.name in scores else [])]) for path, name in named]


SECTION = PageSection("tasks", 25, build)

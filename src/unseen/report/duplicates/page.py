"""The page of near-duplicates: how similar the nearest images are, the closest pairs, and scores without them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.duplicates.pairs import Duplicates, Named, ScoreWithout, SetPairs
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import option
from unseen.report.core.metric_words import metric_words
from unseen.report.core.model import (
    Band,
    Cell,
    Column,
    Figure,
    Gallery,
    Page,
    Picture,
    Row,
    Section,
    Series,
    Table,
)
from unseen.report.core.render import write_page
from unseen.report.core.thumbnails import WHOLE, jpeg, thumbnails
from unseen.runs.tables import write_table

TITLE = "Near-duplicates of test images"
CLOSEST, BELOW = 48, 12
"""Numbers of pairs that are shown: the closest ones, and the closest ones below the threshold."""
THRESHOLDS = (0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.999)
BINS = 50
GAP = 6
Images = Mapping[str, OpenDataset]


def write_duplicates(duplicates: Duplicates, path: Path, *, images: Images | None = None) -> None:
    """Write the page (.html), or a table with one row per test image.

    Args:
        images: data sets by name, for the pictures of pairs; without them, pairs are in words.
    """
    if path.suffix != ".html":
        write_table(duplicates.to_frame(), path)
        return
    write_page(duplicates_page(duplicates, images or {}), path)


def duplicates_page(duplicates: Duplicates, images: Images) -> Page:
    """The page of a search."""
    sections = [_section(pairs, duplicates.threshold, images) for pairs in duplicates.sets]
    if duplicates.scores:
        sections.append(_scores(duplicates.scores))
    facts = [
        f"features of {duplicates.backbone}",
        f"near-duplicates: cosine similarity of at least {duplicates.threshold:g}",
    ]
    notices = [
        "Similarity depends on the backbone: features that ignore crops, flips or colours find such copies, and "
        "confuse alike pictures of different things. Look at the pairs on both sides of the threshold before you rely "
        "on it."
    ]
    findings = [finding(pairs, duplicates.threshold) for pairs in duplicates.sets]
    return Page(TITLE, sections, facts=facts, notices=[*notices, *duplicates.notices], findings=findings)


def finding(pairs: SetPairs, threshold: float) -> str:
    """How many test images of a data set have a near-duplicate, in a sentence."""
    above, tested = pairs.above(threshold), len(pairs.test.features)
    among = " and ".join(f"{part.words} ({len(part.features):,})" for part in pairs.parts)
    count = f"{int(above.sum()):,} of {tested:,} test images of {pairs.dataset} ({above.mean():.2%})"
    same = f"; {pairs.same_class[above].mean():.0%} of these pairs have the same class" if above.any() else ""
    return f"{count} have a near-duplicate among the images of {among}{same}."


def _section(pairs: SetPairs, threshold: float, images: Images) -> Section:
    order, above = pairs.order, pairs.above(threshold)
    closest = [row for row in order[:CLOSEST].tolist() if above[row]]
    below = [row for row in order.tolist() if not above[row]][:BELOW]
    pictures = _pictures(pairs, [*closest, *below], images)
    galleries = [
        Gallery(title, [Picture(pictures.get(row, b""), _words(pairs, row), "jpeg") for row in rows], panels=2)
        for title, rows in (
            (f"The closest pairs ({len(closest):,} of {int(above.sum()):,} near-duplicates)", closest),
            ("The closest pairs below the threshold, which do not count", below),
        )
        if rows
    ]
    note = "" if pictures else f"The images were not found, so pairs are in words: give them ({option('data')})."
    return Section(
        f"pairs-{pairs.dataset}",
        f"Test images of {pairs.dataset}",
        sentences=["In each pair, the test image is on the left."],
        figures=[_histogram(pairs, threshold)],
        tables=[_counts(pairs, threshold)],
        galleries=galleries,
        note=note,
    )


def _histogram(pairs: SetPairs, threshold: float) -> Figure:
    """The similarities of all test images to their nearest image, as shares of the test images."""
    similarity = pairs.nearest.similarity.astype(float)
    low = min(float(similarity.min()), threshold - 0.01)
    width = (1 - low) / BINS
    below = threshold - width * np.arange(np.ceil((threshold - low) / width) + 1)  # the threshold is an edge
    above = threshold + width * np.arange(1, max(1, np.ceil((1 - threshold) / width)) + 1)
    counts, edges = np.histogram(similarity, bins=np.concatenate([below[::-1], above]))
    middle = (edges[:-1] + edges[1:]) / 2
    hover = [
        f"{count:,} test images, {first:.3f} to {last:.3f}"
        for count, first, last in zip(counts.tolist(), edges[:-1], edges[1:], strict=True)
    ]
    series = Series(pairs.dataset, middle.tolist(), counts.tolist(), 0, mode="bars", hover=hover)
    return Figure(
        f"Similarity of the nearest image, {pairs.dataset}",
        "cosine similarity of a test image and the nearest other image",
        "test images",
        [series],
        bands=[Band(threshold, 1.0, "near-duplicates", "#d0d0d0")],
        x_range=(low, 1.0),
    )


def _counts(pairs: SetPairs, threshold: float) -> Table:
    tested = len(pairs.test.features)
    rows = []
    for each in sorted({*THRESHOLDS, threshold}):
        above = pairs.above(each)
        count = int(above.sum())
        same = float(pairs.same_class[above].mean()) if count else None
        rows.append(
            Row(
                [
                    Cell(f"{each:g}", [each]),
                    Cell(f"{count:,}", [count]),
                    Cell(f"{count / tested:.2%}", [count / tested]),
                    Cell("–" if same is None else f"{same:.0%}", [same]),
                ],
                "main" if each == threshold else "",
            )
        )
    columns = [
        Column("similarity of at least", names=["threshold"]),
        Column("test images", names=["images"]),
        Column("share", names=["share"]),
        Column("pairs of one class", "share of these pairs whose images have the same class", names=["same_class"]),
    ]
    return Table(f"thresholds-{pairs.dataset}", columns, rows, "Test images with a nearest image this similar")


def _scores(scores: Sequence[ScoreWithout]) -> Section:
    rows = [
        Row(
            [
                Cell(each.backbone, style="model"),
                Cell(each.dataset),
                Cell(each.probe),
                Cell("all" if each.shots is None else f"{each.shots}", ["all" if each.shots is None else each.shots]),
                Cell(metric_words(each.metric), [each.metric]),
                Cell(f"{100 * each.value:.2f}", [each.value]),
                Cell(f"{100 * each.without:.2f}", [each.without]),
                Cell(_points(each), [each.without - each.value]),
            ]
        )
        for each in scores
    ]
    columns = [
        Column("backbone", number=False, names=["backbone"]),
        Column("data set", number=False, names=["data_set"]),
        Column("probe", number=False, names=["probe"]),
        Column("shots", names=["shots"]),
        Column("metric", number=False, names=["metric"]),
        Column("all test images", names=["all_images"]),
        Column("without", names=["without"]),
        Column("difference", "percentage points", names=["difference"]),
    ]
    table = Table("without", columns, rows, "Scores in percent, means over seeds", sortable=True, head=True)
    most = max(scores, key=lambda each: abs(each.without - each.value))
    return Section(
        "scores",
        "Scores without near-duplicates",
        sentences=[
            f"The largest change is {_points(most)} points: {most.probe} of {most.backbone} "
            f"on {most.dataset}. The probes were not trained again: only the test images change."
        ],
        tables=[table],
    )


def _points(score: ScoreWithout) -> str:
    """The change of a score in percentage points."""
    return f"{100 * (score.without - score.value):+.2f}".replace("-", "−")


def _words(pairs: SetPairs, row: int) -> list[str]:
    image, other = pairs.image(row), pairs.other(row)
    labels = image.label if image.label == other.label else f"{image.label} – {other.label}"
    where = f"{other.dataset}, {other.split}: {other.image}" if other.split else f"{other.dataset}: {other.image}"
    return [f"{pairs.nearest.similarity[row]:.4f}", labels, image.image, where]


def _pictures(pairs: SetPairs, rows: Sequence[int], images: Images) -> dict[int, bytes]:
    """Both images of some pairs, side by side."""
    named = {row: (pairs.image(row), pairs.other(row)) for row in rows}
    pixels = dict[Named, NDArray[np.uint8]]()
    for (dataset, split), some in _by_place(each for pair in named.values() for each in pair):
        if dataset in images:
            source, _ = images[dataset].part(split)
            found = thumbnails(source, {each.image for each in some}, dataset, WHOLE)
            pixels |= {each: found[each.image] for each in some if each.image in found}
    white = np.full((WHOLE.size, GAP, 3), 255, np.uint8)
    return {
        row: jpeg(np.concatenate([pixels[image], white, pixels[other]], axis=1))
        for row, (image, other) in named.items()
        if image in pixels and other in pixels
    }


def _by_place(images: Iterator[Named]) -> Iterator[tuple[tuple[str, str], list[Named]]]:
    """The images of each data set and split."""
    places: dict[tuple[str, str], list[Named]] = {}
    for each in images:
        places.setdefault((each.dataset, each.split or "test"), []).append(each)
    yield from places.items()

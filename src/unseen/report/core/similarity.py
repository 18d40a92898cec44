"""The section about how alike the backbones of a page represent the same images."""

from collections.abc import Sequence
from itertools import combinations

from unseen.analyses.feature_similarity import FeatureSimilarity, SimilarBackbones
from unseen.report.core.model import Cell, Choice, Column, Figure, Row, Section, Table
from unseen.text.words import counted, joined

CHOICE = "similar-on"
MOST_ROWS = 1000
MOST_SENTENCES = 3
OPEN_ROWS = 15
"""Rows of a table that is open at first."""
COLUMNS = (
    Column("Backbone", number=False, names=("first",)),
    Column("Other backbone", number=False, names=("second",)),
    Column("CKA", "linear, unbiased", names=("cka",)),
    Column("Chance", "of 100 random orders of the images, 95 have at most this", names=("cka_level",)),
    Column("Above", "share of what is possible above chance, in percent", names=("cka_above",)),
    Column("Neighbours", "share of the nearest neighbours that both have", names=("mutual_knn",)),
    Column("Chance", "of 100 random orders of the images, 95 have at most this", names=("mutual_knn_level",)),
    Column("Above", "share of what is possible above chance, in percent", names=("mutual_knn_above",)),
)
GROUPS = (("", 1), ("Linear CKA", 3), ("Mutual nearest neighbours", 3))


def similarity_section(found: FeatureSimilarity, titles: dict[str, str]) -> Section | None:
    """The matrix of each data set, chosen by the reader, and its table; None if there are none.

    Args:
        titles: data set → its title.
    """
    if not found.every:
        if not found.left_out:
            return None
        return Section("similarity", "Similarity of backbones", [f"Not compared: {'; '.join(found.left_out)}."])
    figures = [_figure(each, titles[each.dataset]) for each in found.every]
    options = [(str(number), titles[each.dataset]) for number, each in enumerate(found.every)]
    parts = [part for figure in figures for part in figure.data["parts"]]
    shown = Figure(
        figures[0].title if len(figures) == 1 else "Similarity of backbones", "", "",
        caption=figures[0].caption, drawing="matrix", data={"choice": CHOICE, "parts": parts},
    )  # fmt: skip
    return Section(
        "similarity",
        "Similarity of backbones",
        [_sentence(each, titles[each.dataset]) for each in found.every[:MOST_SENTENCES]],
        [shown],
        _note(found),
        [_table(each, titles[each.dataset], number) for number, each in enumerate(found.every)],
        choices=[Choice("Data set", CHOICE, options, "0")] if len(options) > 1 else (),
        menu="Similarity",
        exported=figures,
    )


def _figure(each: SimilarBackbones, title: str) -> Figure:
    """CKA above the diagonal, and mutual neighbours below it."""
    found, names = each.similarities, each.backbones
    cells, hover = list[list[float]](), list[list[str]]()
    for row, first in enumerate(names):
        pairs = [(found.cka if column >= row else found.mutual_knn) for column in range(len(names))]
        values = [float(pair.value[row, column]) for column, pair in enumerate(pairs)]
        cells.append([round(min(max(value, 0.0), 1.0), 3) for value in values])
        hover.append([
            f"{first} and {second}: {'CKA' if column >= row else 'mutual neighbours'} {_number(value, 3)}, "
            f"chance {pairs[column].level[row, column]:.3f}"
            for column, (second, value) in enumerate(zip(names, values, strict=True))
        ])  # fmt: skip
    ticks = tuple((float(place), name) for place, name in enumerate(names))
    return Figure(
        f"Similarity on {title}", "", "", x_ticks=ticks, y_ticks=ticks, drawing="matrix", cells=cells,
        data={"choice": CHOICE, "parts": [{"names": list(names), "cells": cells, "hover": hover}]},
        caption=f"Linear CKA above the diagonal, mutual nearest neighbours below it; {each.images:,} images.",
    )  # fmt: skip


def _sentence(each: SimilarBackbones, title: str) -> str:
    """The range of CKA over the pairs, and its level by chance."""
    cka, names = each.similarities.cka, each.backbones
    pairs = sorted(combinations(range(len(names)), 2), key=lambda pair: cka.value[pair])
    ends = [
        f"{_number(cka.value[i, j], 2)} ({names[i]} and {names[j]})" for i, j in dict.fromkeys((pairs[0], pairs[-1]))
    ]
    images = f"{counted(each.images, 'test image')}{_drawn(each)}"
    level = max(float(cka.level[pair]) for pair in pairs)
    between = f"from {' to '.join(ends)}" if len(ends) > 1 else ends[0]
    return f"CKA on {title} is {between}, on {images}; 95% of random orders of the images give at most {level:.3f}."


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def _drawn(each: SimilarBackbones) -> str:
    return f" drawn from {each.of:,}" if each.of > each.images else ""


def _table(each: SimilarBackbones, title: str, number: int) -> Table:
    found, names = each.similarities, each.backbones
    pairs = sorted(combinations(range(len(names)), 2), key=lambda pair: -found.cka.value[pair])
    rows = [
        Row([Cell(names[i]), Cell(names[j]), *(
            cell for measure in (found.cka, found.mutual_knn)
            for cell in _cells(measure.value[i, j], measure.level[i, j], measure.above[i, j])
        )])
        for i, j in pairs[:MOST_ROWS]
    ]  # fmt: skip
    caption = f"Similarity on {title}, {counted(each.images, 'image')}"
    left = len(pairs) - len(rows)
    note = f"{left:,} pairs of lower CKA are left out; feature_similarity() of a run in Python has all." if left else ""
    folded = f"{counted(len(rows), 'pair')} on {title}" if len(rows) > OPEN_ROWS or number else ""
    return Table(f"similarity-{number + 1}", COLUMNS, rows, caption, sortable=True, folded=folded, note=note)


def _cells(value: float, level: float, above: float) -> Sequence[Cell]:
    numbers = [Cell(_number(each, 3), (float(each),)) for each in (value, level)]
    return [*numbers, Cell(f"{100 * above:.1f}", (float(above),), style="main")]


def _note(found: FeatureSimilarity) -> str:
    left = f" Not compared: {joined(found.left_out)}." if found.left_out else ""
    k = found.every[0].similarities.neighbours
    return (
        "Above the diagonal is linear CKA, 1 for features that differ by a rotation and a scale, with the unbiased "
        f"estimator; below it the share of the {k} nearest neighbours by cosine similarity that an image has in both. "
        "Chance is what the same features give if the images of one backbone are in another order. Similarities are "
        "inflated by wide features and few images, mutual neighbours also by k, so compare values only for equal "
        "numbers of images, and read the share above chance (arXiv 2602.14486). "
        f"High similarity says nothing about quality.{left}"
    )

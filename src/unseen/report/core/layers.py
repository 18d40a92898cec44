"""The section about the layers of networks: which one to take, on every page of a run that has several of one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from markupsafe import Markup

from unseen.analyses.core.comparable import Comparable
from unseen.analyses.core.layers import LayerScores, layer_scores, layered_backbones
from unseen.metrics.paired.crossed import Crossed
from unseen.report.core.compared import Resolution, amount, ends_text, score_text
from unseen.report.core.looks import COLOURS, DASHES, SYMBOLS
from unseen.report.core.metric_words import metric_words, probe_words
from unseen.report.core.model import Cell, Column, Figure, Row, Section, Series, Table
from unseen.runs.score import shots_name
from unseen.text.words import counted

MOST_FIGURES = 6
MOST_SENTENCES = 6
OWN_PLACE = 1.12
"""Place of the features before the classifier, where 1 is the last layer."""
DEPTHS = tuple((depth, f"{100 * depth:.0f}%") for depth in (0, 0.5, 1.0))
COLUMNS = (
    Column("Data set", number=False, names=("domain",)),
    Column("Probe", number=False, names=("probe",)),
    Column("Backbone", number=False, names=("backbone",)),
    Column("Best layer", number=False, names=("best", "depth")),
    Column("Score", names=("score",)),
    Column("Not resolved from it", "layers of the same network", number=False, names=("tied",)),
    Column("Earliest of these", number=False, names=("earliest", "earliest_depth")),
    Column("The last layer loses", "best minus last, 95% interval", names=("lost", "lost_low", "lost_high")),
    Column("Its own features lose", "best minus these, 95% interval", names=("own_lost", "own_low", "own_high")),
)


def layer_section(shown: Resolution) -> Section | None:
    """The section; None if the run has several layers of no network."""
    backbones = layered_backbones(shown.data)
    found = [of for each in shown.every.every if (of := layer_scores(each, backbones))]
    if not found:
        return None
    number = {backbone.name: place for place, backbone in enumerate(backbones)}
    figures = [*_means(found, number), *(_figure(shown, of, number) for of in found)]
    every = [scores for of in found for scores in of]
    return Section(
        "layers", "Which layer should I take?", [_sentence(shown, each) for each in every[:MOST_SENTENCES]],
        figures[:MOST_FIGURES], _note(every), [_table(shown, every)], menu="Layers", exported=figures[MOST_FIGURES:],
    )  # fmt: skip


def _sentence(shown: Resolution, scores: LayerScores) -> Markup:
    """The best layer, what is not resolved from it, and what the last one loses."""
    others = len(scores.tied) - 1
    if others == 0:
        tie = "it is better than every other layer"
    elif others == len(scores.layers) - 1:
        tie = "no layer is resolved to be worse"
    else:
        tie = f"{counted(others, 'other')} ({_ranges(scores)}) {'is' if others == 1 else 'are'} not resolved from it"
    lost = scores.lost_by_last()
    if scores.best == scores.last:
        last = "It is the last of them."
    elif lost is None:
        last = ""
    else:
        unclear = ", which is not resolved" if scores.last in scores.tied else ""
        last = f"The last of them loses {amount(scores.each.metric, lost.value)}{_interval(scores, lost)}{unclear}."
    return Markup("{}: of {} of <code>{}</code>, <code>{}</code> scores best ({}, at {:.0f}% depth); {}. {}{}").format(
        _where(shown, scores.each), counted(len(scores.layers), "layer"), scores.backbone.name, scores.best,
        _score(scores.each, scores.score(scores.best)), 100 * scores.backbone.depth(scores.best), tie, last,
        _own_words(scores),
    )  # fmt: skip


def _own_words(scores: LayerScores) -> str:
    """That the features before the classifier are better than every layer, if so."""
    lost = scores.lost_by_own()
    if lost is None or lost.value * (1 if scores.each.metric.higher_is_better else -1) >= 0:
        return ""
    gained = amount(scores.each.metric, abs(lost.value))
    resolved = "" if lost.interval().high < 0 or lost.interval().low > 0 else ", which is not resolved"
    return f" Its own features, before the classifier, are better by {gained}{resolved}."


def _interval(scores: LayerScores, lost: Crossed) -> str:
    return f" ({ends_text(scores.each.metric, lost)})"


def _score(each: Comparable, value: float) -> str:
    return f"{score_text(each.metric, value)}{'%' if each.metric.unit == 'share' else ''}"


def _where(shown: Resolution, each: Comparable) -> str:
    place = each.place
    shots = "" if place.shots is None else f", {counted(place.shots, 'shot')}"
    return f"{shown.titles.get(place.dataset, place.dataset)} ({probe_words(place.probe)}{shots})"


def _ranges(scores: LayerScores) -> str:
    """The layers that are not resolved from the best one; neighbours are written `from to`."""
    order = {layer: place for place, layer in enumerate(scores.layers)}
    runs = list[list[str]]()
    for layer in scores.tied:
        if layer == scores.best:
            continue
        if runs and order[layer] == order[runs[-1][-1]] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return ", ".join(of[0] if len(of) == 1 else f"{of[0]} to {of[-1]}" for of in runs)


def _note(every: Sequence[LayerScores]) -> str:
    own = (
        " The open mark at the right shows the features before the classifier, with the pooling of the network."
        if any(each.own_score is not None for each in every)
        else ""
    )
    return (
        "Depth is the place of a layer among those of its network in this run, by the numbers in their names; 100% is "
        "the last one. A star marks the best layer, filled marks those that are not resolved from it: paired tests on "
        "the same test images, corrected by Holm's method for all layers of the network. Intervals beside "
        f"differences are not corrected, so one without 0 may still be not resolved.{own} The earliest filled mark is "
        "the cheapest "
        "choice. The best of many layers was chosen on these test images, so its score is slightly too high; layers "
        "before the last block have no final norm."
    )


def _figure(shown: Resolution, of: Sequence[LayerScores], number: dict[str, int]) -> Figure:
    each = of[0].each
    series = [line for scores in of for line in _series(scores, number[scores.backbone.name])]
    return _axes(f"Accuracy against depth: {_where(shown, each)}", each, series, of)


def _axes(title: str, each: Comparable, series: Sequence[Series], of: Iterable[LayerScores]) -> Figure:
    own = any(scores.own_score is not None for scores in of)
    share = each.metric.unit == "share"
    return Figure(
        title, "Depth of the layer", metric_words(each.metric.name) + (" (%)" if share else ""), series,
        (*DEPTHS, *([(OWN_PLACE, "own")] if own else [])), x_range=(0.0, OWN_PLACE + 0.03),
        caption="Star: best layer. Filled marks: not resolved from it",
    )  # fmt: skip


def _scale(each: Comparable) -> float:
    return 100.0 if each.metric.unit == "share" else 1.0


def _series(scores: LayerScores, number: int) -> Iterator[Series]:
    """The line of a network, with marks of its best layer and of those that are not resolved from it."""
    scale, name = _scale(scores.each), scores.backbone.name
    line, marks = _looks(name, number)

    def points(layers: Sequence[str]) -> tuple[list[float], list[float], list[str]]:
        texts = [f"{name}, {layer}: {_score(scores.each, scores.score(layer))}" for layer in layers]
        return (
            [scores.backbone.depth(layer) for layer in layers], [scale * scores.score(layer) for layer in layers], texts
        )  # fmt: skip

    x, y, hover = points(scores.layers)
    yield replace(line, x=x, y=y, hover=hover)
    x, y, hover = points([layer for layer in scores.tied if layer != scores.best])
    yield replace(marks, x=x, y=y, hover=hover)
    x, y, hover = points([scores.best])
    yield replace(marks, x=x, y=y, hover=hover, symbol="star", labels=[scores.best])
    if scores.own_score is not None:
        text = f"{name}, its own features: {_score(scores.each, scores.own_score)}"
        symbol = f"{marks.symbol}-open"
        yield replace(marks, x=[OWN_PLACE], y=[scale * scores.own_score], hover=[text], symbol=symbol)


def _looks(name: str, number: int) -> tuple[Series, Series]:
    """The line and the marks of a network, without points."""
    colour, dash = number % len(COLOURS), DASHES[number // len(COLOURS) % len(DASHES)]
    symbol = SYMBOLS[number % len(SYMBOLS)]
    line = Series(name, [], [], colour=colour, dash=dash, symbol=symbol, strong=True, mode="lines")
    return line, replace(line, name="", mode="markers")


def _means(found: Sequence[Sequence[LayerScores]], number: dict[str, int]) -> Iterator[Figure]:
    """Means over the data sets of each probe that has several, of networks with scores on all of them."""
    by_probe = dict[tuple[str, int | None, str], list[Sequence[LayerScores]]]()
    for of in found:
        each = of[0].each
        by_probe.setdefault((each.place.probe, each.place.shots, each.metric.name), []).append(of)
    for (probe, shots, metric), several in by_probe.items():
        if len(several) < 2 or several[0][0].each.metric.unit != "share":
            continue
        lines = list[Series]()
        for first in several[0]:
            name = first.backbone.name
            same = [scores for of in several for scores in of if scores.backbone.name == name]
            if len(same) < len(several) or len({scores.layers for scores in same}) > 1:
                continue
            y = 100 * np.mean([[scores.score(layer) for layer in first.layers] for scores in same], axis=0)
            x = [first.backbone.depth(layer) for layer in first.layers]
            hover = [f"{name}, {layer}: {value:.1f}%" for layer, value in zip(first.layers, y, strict=True)]
            best, values = int(np.argmax(y)), [float(value) for value in y]
            line, marks = _looks(name, number[name])
            lines.append(replace(line, x=x, y=values, hover=hover))
            lines.append(
                replace(
                    marks, x=[x[best]], y=[values[best]], hover=[hover[best]], symbol="star",
                    labels=[first.layers[best]],
                )
            )  # fmt: skip
        if lines:
            words = probe_words(probe) + ("" if shots is None else f", {counted(shots, 'shot')}")
            yield Figure(
                f"Accuracy against depth: mean of {len(several)} data sets ({words})", "Depth of the layer",
                f"{metric_words(metric)} (%)", lines, DEPTHS, x_range=(0.0, 1.03),
                caption="Star: best layer of the mean, without a test",
            )  # fmt: skip


def _table(shown: Resolution, every: Sequence[LayerScores]) -> Table:
    own = any(scores.own_score is not None for scores in every)
    columns = COLUMNS if own else COLUMNS[:-1]
    rows = [Row(_cells(shown, scores)[: len(columns)]) for scores in every]
    bold = "Bold: the best layer, which others may tie with, and losses whose interval excludes 0."
    return Table("layers", columns, rows, "The best layer of each network", sortable=True, bold=bold)


def _cells(shown: Resolution, scores: LayerScores) -> list[Cell]:
    place, first = scores.each.place, scores.tied[0]
    depth = scores.backbone.depth
    shots = "" if place.shots is None else f", {shots_name(place.shots)} shots"
    return [
        Cell(shown.titles.get(place.dataset, place.dataset), (place.dataset,)),
        Cell(f"{place.probe}{shots}", (place.probe,)),
        Cell(scores.backbone.name),
        Cell(scores.best, (scores.best, depth(scores.best)), small=f"{100 * depth(scores.best):.0f}%", style="strong"),
        Cell(score_text(scores.each.metric, scores.score(scores.best)), (scores.score(scores.best),), style="main"),
        Cell(_ranges(scores) or "none", (" ".join(layer for layer in scores.tied if layer != scores.best),)),
        Cell(first, (first, depth(first)), small=f"{100 * depth(first):.0f}%"),
        _lost(scores, scores.lost_by_last(), "it is the best" if scores.best == scores.last else "–"),
        _lost(scores, scores.lost_by_own(), "–"),
    ]


def _lost(scores: LayerScores, lost: Crossed | None, without: str) -> Cell:
    if lost is None:
        return Cell(without, (None, None, None))
    interval = lost.interval()
    style = "strong" if interval.low > 0 or interval.high < 0 else ""
    return Cell(
        amount(scores.each.metric, lost.value).replace("-", "−"),
        (interval.value, interval.low, interval.high), style=style,
        small=ends_text(scores.each.metric, lost),
    )  # fmt: skip

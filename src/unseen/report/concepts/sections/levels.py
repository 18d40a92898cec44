"""Accuracy by level: as the drop from the seen concepts, absolute, and relative to a baseline."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import stdev

from unseen.report.concepts.context import MOST_BASELINES, ConceptContext
from unseen.report.concepts.rows import Row, main_row, metric_title, seen_domain, shots_order, unique
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Choice, Figure, Section, Series

MODES = (("drop", "Drop from seen"), ("absolute", "Absolute"), ("relative", "Relative to baseline"))
Point = tuple[float, tuple[float, float] | None]
"""A value and the ends of its error bar, in percent or points."""


def build(context: ConceptContext) -> Section | None:
    """The first section: what it shows first is the main row's metric, setting and shots."""
    if not context.plotted:
        return None
    data, rows, chosen = context.data, context.plotted, main_row(context.plotted)
    drops = _drop_lines(context, chosen)
    off = [*([] if drops else ["drop"]), *(["relative"] if len(data.backbones) < 2 else [])]
    shots = sorted({row.shots for row in context.rows}, key=shots_order)
    several = len(context.main.domains) > 1 and len(data.backbones) > 1  # else, no choice is shown
    differences = " Choosing a baseline shows the differences from it." if several else ""
    return Section(
        "levels", "Accuracy by level" if context.has_levels else "Accuracy",
        menu="By level" if context.has_levels else "", legend=True,
        choices=[
            Choice("What is shown", "mode", MODES, "drop" if drops else "absolute", off, buttons=True),
            Choice("Baseline", "baseline", [(b.name, b.name) for b in data.backbones], data.baseline),
            Choice("Shots", "shots", [(name, name) for name in shots], chosen.shots),
            *row_choices(rows),
        ],
        figures=[_figure(context, chosen, drops)],
        exported=[_absolute(context, chosen)] if drops else [],
        note=f"{error_bars(context)}{differences}",
    )  # fmt: skip


def row_choices(rows: list[Row]) -> list[Choice]:
    """Which metric, and of which protocol and probe."""
    chosen = main_row(rows)
    metrics = [(name, metric_title(name)) for name in unique(row.metric for row in rows)]
    settings = [(name, name) for name in unique(row.setting for row in rows)]
    return [Choice("Metric", "metric", metrics, chosen.metric), Choice("Protocol", "setting", settings, chosen.setting)]


def error_bars(context: ConceptContext) -> str:
    """What points and their error bars are."""
    rows = context.plotted
    several = any(len(row.values) > 1 for row in rows)
    known = [row for row in rows if row.concept_low is not None]
    means = "Points are means over seeds" if several else "Points are of one seed"
    if not known:
        bars = "error bars are the standard deviation over seeds" if several else "there are no error bars over seeds"
        return f"{means}; {bars}. This run has no results per concept, so there are no intervals over concepts."
    sentences = [
        f"{means}; error bars are 95% intervals over concepts{' and seeds' if several else ''}, which show "
        f"how much a value would vary with other concepts{' of the same level' if context.has_levels else ''}."
    ]
    if several and len(known) < len(rows):
        sentences.append(
            "Runs store results per concept for top-1 accuracy of the logistic probe only; other error bars are the "
            "standard deviation over seeds."
        )
    if several and len(context.main.backbones) > MOST_BASELINES:
        sentences.append(
            f"With more than {MOST_BASELINES} backbones, differences from a baseline other than "
            f"{context.main.baseline} have the standard deviation over seeds."
        )
    return " ".join(sentences)


def _cells(context: ConceptContext, chosen: Row) -> dict[tuple[str, str], Row]:
    return {
        (row.backbone, row.domain): row for row in context.plotted
        if (row.setting, row.shots, row.metric) == (chosen.setting, chosen.shots, chosen.metric)
    }  # fmt: skip


def _drop_lines(context: ConceptContext, chosen: Row) -> dict[str, list[Point | None]]:
    """Backbone → its drop on each domain; empty where there is none to show."""
    cells, seen = _cells(context, chosen), seen_domain(context.main)
    names = [backbone.name for backbone in context.data.backbones if seen and (backbone.name, seen) in cells]
    if seen is None or not any(name in names and domain != seen for name, domain in cells):
        return {}
    lines = dict[str, list[Point | None]]()
    for name in names:
        base, line = cells[name, seen], list[Point | None]()
        for domain in context.main.domains:
            row = cells.get((name, domain.name))
            drop = context.drops.get((name, domain.name, chosen.shots)) if row and row.concept_low is not None else None
            ends = (100 * drop.low, 100 * drop.high) if drop else _ends_over_seeds(row, base)
            line.append((100 * (row.mean - base.mean), ends) if row else None)
        lines[name] = line
    return lines


def _ends_over_seeds(row: Row | None, base: Row) -> tuple[float, float] | None:
    """A deviation over seeds either way of a drop, from the differences seed by seed."""
    shared = [100 * (row.values[seed] - base.values[seed]) for seed in base.values if seed in row.values] if row else []
    if row is None or row is base or len(shared) < 2:
        return None
    middle, spread = 100 * (row.mean - base.mean), stdev(shared)
    return middle - spread, middle + spread


def _figure(context: ConceptContext, chosen: Row, drops: dict[str, list[Point | None]]) -> Figure:
    domains = context.main.domains
    places = [float(place) for place in range(len(domains))]
    ticks = tuple(zip(places, (domain.title for domain in domains), strict=True))
    metric = metric_title(chosen.metric).capitalize()
    if drops:
        series = [_line(name, places, points) for name, points in drops.items()]
        label = f"{metric} minus that on seen (points)"
        return Figure("", "Domain", label, series, ticks, zero=True, drawing="levels", caption=error_bars(context))
    return replace(_absolute(context, chosen), title="", drawing="levels")


def _absolute(context: ConceptContext, chosen: Row) -> Figure:
    domains, cells = context.main.domains, _cells(context, chosen)
    places = [float(place) for place in range(len(domains))]
    ticks = tuple(zip(places, (domain.title for domain in domains), strict=True))
    metric = metric_title(chosen.metric).capitalize()
    series = [
        accuracy_line(backbone.name, places, [cells.get((backbone.name, domain.name)) for domain in domains])
        for backbone in context.data.backbones
    ]
    return Figure("Accuracy", "Domain", f"{metric} (%)", series, ticks, caption=error_bars(context))


def accuracy_line(backbone: str, places: list[float], rows: Sequence[Row | None]) -> Series:
    """A backbone's accuracies in percent with their error bars; None leaves a hole."""
    points = list[Point | None]()
    for row in rows:
        ends = row.ends if row else None
        points.append((100 * row.mean, (100 * ends[0], 100 * ends[1]) if ends else None) if row else None)
    return _line(backbone, places, points)


def _line(backbone: str, places: list[float], points: Sequence[Point | None]) -> Series:
    bars = [point[1] if point else None for point in points]
    return Series(
        backbone, places, [point[0] if point else None for point in points], strong=True, backbone=backbone,
        low=[bar[0] if bar else None for bar in bars] if any(bars) else (),
        high=[bar[1] if bar else None for bar in bars] if any(bars) else (),
    )  # fmt: skip


SECTION = PageSection("concepts", 10, build)

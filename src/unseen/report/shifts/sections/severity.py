"""How severe the mistakes of models on ID test sets are."""

from collections.abc import Iterator
from math import isnan

from unseen.analyses.robustness.severity import UNITS, Severity
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Figure, Row, Section, Series, Table
from unseen.report.shifts.page_data import ShiftPage
from unseen.report.shifts.parts import group_looks
from unseen.text.words import joined

MOST_FIGURES, MOST_OPEN = 3, 12
"""OOD test sets with a figure, and models of a table that is open at first."""
WORDS = {"information": "by information", "depth": "by depth"}


def build(page: ShiftPage) -> Section | None:
    """One table per ID column: the mean distance of mistakes of every model."""
    if not page.severities:
        return None
    sources = "; ".join(dict.fromkeys(f"{each.column}: {each.source}" for each in page.severities))
    note = (
        "The mean distance of wrong predictions from the true classes, with its 95% interval over mistakes: f(true) − "
        "f(lowest common ancestor), where f is the information content in bits (of the classes, each counted once) or "
        f"the depth in edges (Shi et al. 2024). Lower is better: nearer misses. Hierarchy of {sources}."
    )
    tables = [_table(number, each) for number, each in enumerate(page.severities, 1)]
    return Section(
        "severity", "Severity of mistakes", menu="Severity", note=note, tables=tables, figures=[*_figures(page)],
        sentences=[*filter(None, map(_least, page.severities)), *page.severity_notes],
    )  # fmt: skip


def _least(found: Severity) -> str:
    """Which model makes the least severe mistakes, if that is resolved."""
    least = found.least_severe(found.by[0])
    if least is None:
        return ""
    model, tied = least
    if not tied:
        return (
            f"{found.column}: the mistakes of {model} are the least severe, resolved from those of all other "
            "models that make enough mistakes to be compared."
        )
    some = joined([*tied[:3], *([f"{len(tied) - 3} more"] if len(tied) > 3 else [])])
    return f"{found.column}: the mistakes of {model} are the least severe, but not resolved from those of {some}."


def _figures(page: ShiftPage) -> Iterator[Figure]:
    """OOD accuracy against the severity of ID mistakes, for the first OOD test sets with it."""
    by_column = {each.column: each for each in page.severities}
    for panel in [panel for panel in page.panels if panel.id_columns[0] in by_column][:MOST_FIGURES]:
        found = by_column[panel.id_columns[0]]
        by = found.by[0]
        means = {model: mean.value for model in found.values if (mean := found.mean(model, by))}
        series = []
        for name, colour, symbol in group_looks(page):
            own = [point for point in panel.points if point.group == name and point.model in means]
            x, y = [means[point.model] for point in own], [100 * point.accuracy for point in own]
            hover = [point.model for point in own]
            several = len(page.groups) > 1
            series.append(Series(name, x, y, colour, strong=several, mode="markers", symbol=symbol, hover=hover))
        x_label = f"severity of mistakes on {panel.id_columns[0]}, {WORDS[by]} ({UNITS[by]})"
        caption = "Each point is a model; mistakes farther to the left are nearer misses"
        yield Figure(panel.name, x_label, f"accuracy on {panel.name} (%)", series, caption=caption)


def _table(number: int, found: Severity) -> Table:
    columns = [Column("Model", number=False), Column("Mistakes", f"of {found.images:,} images")]
    columns += [
        Column(f"Severity {WORDS[by]}", UNITS[by], names=(f"lca-{by}", f"{by} low", f"{by} high")) for by in found.by
    ]
    rows = []
    for model in found.values:
        cells = [Cell(model), Cell(f"{found.mistakes(model):,}", (found.mistakes(model),))]
        for by in found.by:
            mean = found.mean(model, by)
            if mean is None:
                cells.append(Cell("not defined", (None,) * 3, about="no mistakes", style="faint"))
            elif isnan(mean.error):
                few = "too few mistakes for an interval, or all at one distance"
                cells.append(Cell(f"{mean.value:.3f}", (mean.value, None, None), about=few))
            else:
                ends = mean.interval()
                small = f"({ends.low:.3f} to {ends.high:.3f})"
                cells.append(Cell(f"{ends.value:.3f}", (ends.value, ends.low, ends.high), small=small))
        rows.append(Row(cells))
    folded = f"{found.column}: {len(rows)} models" if len(rows) > MOST_OPEN else ""
    title = "" if folded else found.column
    return Table(f"severity-{number}", columns, rows, title, sortable=True, head=True, folded=folded)


SECTION = PageSection("shifts", 54, build)

"""How severe the mistakes of models on ID test sets are."""

from unseen.analyses.robustness.severity import UNITS, Severity
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.shifts.page_data import ShiftPage

WORDS = {"information": "by information", "depth": "by depth"}


def build(page: ShiftPage) -> Section | None:
    """One table per ID column: the mean distance of mistakes of every model."""
    if not page.severities:
        return None
    sources = "; ".join(dict.fromkeys(f"{each.column}: {each.source}" for each in page.severities))
    note = (
        "The mean distance of wrong predictions from the true classes, with its 95% interval over images: f(true) − "
        "f(lowest common ancestor), where f is the information content in bits (of the classes, each counted once) or "
        f"the depth in edges (Shi et al. 2024). Lower is better: nearer misses. Hierarchy of {sources}."
    )
    tables = [_table(number, each) for number, each in enumerate(page.severities, 1)]
    return Section(
        "severity",
        "Severity of mistakes",
        menu="Severity",
        sentences=list(page.severity_notes),
        note=note,
        tables=tables,
    )


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
            else:
                ends = mean.interval()
                small = f"({ends.low:.3f} to {ends.high:.3f})"
                cells.append(Cell(f"{ends.value:.3f}", (ends.value, ends.low, ends.high), small=small))
        rows.append(Row(cells))
    return Table(f"severity-{number}", columns, rows, found.column, sortable=True, head=True)


SECTION = PageSection("shifts", 54, build)

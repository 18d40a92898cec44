"""Tables in place of figures with all values at a single x."""

from dataclasses import replace

from unseen.report.core.model import Cell, Column, Figure, Row, Section, Table


def without_single_points(section: Section) -> Section:
    """The section with a table in place of each figure of single points; without figures, choices are removed too."""
    single = [figure for figure in section.figures if figure.is_single_points]
    if not single:
        return section
    left = [figure for figure in section.figures if not figure.is_single_points]
    tables = [_table(figure, f"{section.name}-values-{number}") for number, figure in enumerate(single, 1)]
    shown = replace(section, figures=left, tables=[*tables, *section.tables])
    return shown if left else replace(shown, choices=(), legend=False)


def _table(figure: Figure, name: str) -> Table:
    """One row per series, the strong ones first."""
    rows = []
    place = ""
    for series in sorted(figure.series, key=lambda series: not series.strong):
        for number, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
            if y is None:
                continue
            place = next((text for at, text in figure.x_ticks if at == x), "")
            ends = (series.low[number], series.high[number]) if series.low else (None, None)
            known = ends[0] is not None and ends[1] is not None and ends[0] != ends[1]
            between = f"{_number(ends[0])} to {_number(ends[1])}" if known else "–"  # type: ignore[arg-type]
            cells = [Cell(series.name), Cell(_number(y), (y,), style="main"), Cell(between, ends if known else ())]
            rows.append(Row(cells, "" if series.strong else "published"))
    columns = [
        Column("", number=False, names=("name",)),
        Column(f"{figure.y_label}"),
        Column("Error bar", names=("low", "high")),
    ]
    if all(row.cells[2].text == "–" for row in rows):
        columns, rows = columns[:2], [replace(row, cells=row.cells[:2]) for row in rows]
    where = f"{place} {figure.x_label.lower()}".strip() if place.isdecimal() else place
    caption = ", ".join(filter(None, [figure.title, where]))
    return Table(name, columns, rows, caption, sortable=len(rows) > 1)


def _number(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 2 or value == 0 else f"{value:.3f}"

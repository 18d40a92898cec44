"""Tables of a page as CSV, with numbers that are not rounded."""

from collections.abc import Iterator

from unseen.report.core.model import Cell, Column, Table, Value


def csv_header(table: Table) -> list[str]:
    """The names of all columns; a column without names has its title."""
    return [name for column in table.columns for name in _names(column)]


def csv_rows(table: Table) -> Iterator[list[Value]]:
    """One list of values per row, as many as there are names; the totals at the foot are left out."""
    for row in table.rows:
        if row.style != "foot":
            yield [value for column, cell in zip(table.columns, row.cells, strict=True) for value in _of(column, cell)]


def _names(column: Column) -> list[str]:
    return list(column.names) or [column.title]


def _of(column: Column, cell: Cell) -> list[Value]:
    values = list(cell.values) or [None if cell.text == "–" else cell.text]
    return [*values, *[None] * (len(_names(column)) - len(values))]

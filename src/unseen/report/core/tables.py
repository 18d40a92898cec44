"""Tables of a page as CSV, with numbers that are not rounded, and as LaTeX, rounded as on the page."""

from collections.abc import Iterator

from unseen.report.core.model import Cell, Column, Table, Value
from unseen.text.latex import escaped, tabular


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


def latex_table(table: Table) -> str:
    """A table with booktabs rules, after a comment with the package to load.

    Bold are only numbers that an interval supports, not the main column of a table. Small texts beside a number are put
    in brackets unless they already have some.
    """
    columns = "".join("r" if column.number else "l" for column in table.columns)
    header = [escaped(column.title) for column in table.columns]
    rows = [[_latex_cell(cell) for cell in row.cells] for row in table.rows]
    about = f"% {escaped(table.caption)}\n" if table.caption else ""
    return f"% \\usepackage{{booktabs}}\n{about}{tabular(columns, header, rows, table.groups)}"


def _latex_cell(cell: Cell) -> str:
    text = escaped(cell.text)
    if {"best", "strong"} & {*cell.style.split()}:
        text = f"\\textbf{{{text}}}"
    beside = " ".join(part for part in (cell.small, cell.below) if part)
    if not beside:
        return text
    return f"{text} {{\\footnotesize {escaped(beside if beside.startswith('(') else f'({beside})')}}}"

"""Tables of a page as LaTeX, rounded as on the page."""

from unseen.latex import escaped, tabular
from unseen.report.core.model import Cell, Row, Table


def latex_table(table: Table) -> str:
    """A table with booktabs rules, after a comment with the package to load; the best is bold, the second underlined.

    Small texts beside a number are put in brackets unless they already have some.
    """
    columns = "".join("r" if column.number else "l" for column in table.columns)
    header = [escaped(column.title) for column in table.columns]
    rows = [[_cell(cell, row) for cell in row.cells] for row in table.rows]
    about = f"% {escaped(table.caption)}\n" if table.caption else ""
    return f"% \\usepackage{{booktabs}}\n{about}{tabular(columns, header, rows, table.groups)}"


def _cell(cell: Cell, row: Row) -> str:
    text = escaped(cell.text)
    if {"best", "strong"} & {*cell.style.split()} or row.style == "strong":
        text = f"\\textbf{{{text}}}"
    elif "second" in cell.style.split():
        text = f"\\underline{{{text}}}"
    beside = " ".join(part for part in (cell.small, cell.below) if part)
    if not beside:
        return text
    return f"{text} {{\\footnotesize {escaped(beside if beside.startswith('(') else f'({beside})')}}}"

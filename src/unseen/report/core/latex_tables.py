"""Tables of a page as LaTeX, rounded as on the page."""

from unseen.latex import escaped, tabular
from unseen.report.core.model import Cell, Table


def latex_table(table: Table) -> str:
    """A table with booktabs rules, after a comment with the package to load.

    Bold are only numbers that an interval supports, not the main column of a table. Small texts beside a number are put
    in brackets unless they already have some.
    """
    columns = "".join("r" if column.number else "l" for column in table.columns)
    header = [escaped(column.title) for column in table.columns]
    rows = [[_cell(cell) for cell in row.cells] for row in table.rows]
    about = f"% {escaped(table.caption)}\n" if table.caption else ""
    return f"% \\usepackage{{booktabs}}\n{about}{tabular(columns, header, rows, table.groups)}"


def _cell(cell: Cell) -> str:
    text = escaped(cell.text)
    if {"best", "strong"} & {*cell.style.split()}:
        text = f"\\textbf{{{text}}}"
    beside = " ".join(part for part in (cell.small, cell.below) if part)
    if not beside:
        return text
    return f"{text} {{\\footnotesize {escaped(beside if beside.startswith('(') else f'({beside})')}}}"

"""Tables of a page in LaTeX: floats for papers with two columns, with captions, that no table leaves."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from unseen.report.core.latex_layout import Layout, chosen_layout, heading, lines_of, printed_letters
from unseen.report.core.model import Cell, Row, Table
from unseen.text.latex import escaped, tabular, with_definitions

PACKAGES = r"% \usepackage{booktabs}"
HEIGHT = 560.0
"""Points of a page for the rows and titles of a table, below its caption; a longer one is continued in the next."""
FLOATS = 8
"""Parts of one table after which LaTeX prints those that wait; it keeps no more than 52."""
RULED = {"foot", "published"}
"""Styles of rows that a rule separates from the others."""
EMPTY = {"", "–"}
BOLD = {"best", "tied", "strong"}


def latex_table(table: Table, label: str = "") -> str:
    """A table as one float, or several where it is too long for a page, with booktabs rules.

    The layout is the widest that fits: one column of the paper, both columns, smaller type down to 7 points, and last
    parts below each other. Bold are only numbers that a comparison supports, not the main column of a table. Small
    texts beside a number are put in brackets unless they already have some, or are what follows ±.

    Args:
        label: what `\\ref` calls it, after `tab:`; by default its name.
    """
    table = _without_empty_columns(table)
    layout = chosen_layout(table)
    pages = [
        (replace(layout, parts=of), rows)
        for of in _together(table, layout)
        for rows in _pages(table.rows, layout, len(of))
    ] or [(layout, [])]
    parts = [_float(table, of, rows, label or table.name, number) for number, (of, rows) in enumerate(pages)]
    waiting = [part + "\\clearpage\n" * (number % FLOATS == 0) for number, part in enumerate(parts, 1)]
    return "\n".join([PACKAGES, with_definitions("\n".join(waiting))])


def _together(table: Table, layout: Layout) -> list[list[Sequence[int]]]:
    """The parts of each float: all of them if the rows fit below each other, else one float after another for each."""
    high = layout.header + sum(layout.line * lines_of(row, layout) for row in table.rows)
    return [[*layout.parts]] if high * len(layout.parts) <= HEIGHT else [[part] for part in layout.parts]


def _pages(rows: Sequence[Row], layout: Layout, parts: int) -> Iterator[list[Row]]:
    """The rows of each float of this number of parts."""
    page, taken = list[Row](), 0.0
    room = HEIGHT / parts - layout.header
    for row in rows:
        height = layout.line * lines_of(row, layout)
        if page and taken + height > room:
            yield page
            page, taken = [], 0.0
        page.append(row)
        taken += height
    if page:
        yield page


def _float(table: Table, layout: Layout, rows: Sequence[Row], label: str, number: int) -> str:
    environment = "table*" if layout.wide else "table"
    parts = "\\\\[1ex]\n".join(_tabular(table, layout, rows, columns).rstrip("\n") for columns in layout.parts)
    caption = escaped(caption_of(table)) if number == 0 else f"{escaped(table.caption.rstrip('.'))} (continued)."
    named = "" if number else f"\\label{{tab:{label}}}"
    shown = [f"\\caption{{{caption}}}{named}"] if caption else [named] if named else []
    lines = [
        f"\\begin{{{environment}}}[tp]", "\\centering", "\\setlength{\\belowcaptionskip}{4pt}", *shown, layout.size,
        f"\\setlength{{\\tabcolsep}}{{{layout.gap:g}pt}}", parts, f"\\end{{{environment}}}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def caption_of(table: Table) -> str:
    """The caption with what bold numbers are, in sentences."""
    first = table.caption.rstrip(".")
    return " ".join(filter(None, [f"{first}." if first else "", table.bold]))


def _tabular(table: Table, layout: Layout, rows: Sequence[Row], columns: Sequence[int]) -> str:
    letters = "".join("r" if table.columns[place].number else "l" for place in columns)
    header = [
        heading(column.title, layout.headers[place], turned=layout.turned and column.number)
        for place in columns for column in [table.columns[place]]
    ]  # fmt: skip
    above = _above(table)
    cells = list[list[str]]()
    for before, row in pairwise([None, *rows]):
        assert row is not None
        if before is not None and (before.style in RULED or row.style in RULED) and before.style != row.style:
            cells.append([])
        cells.append([latex_cell(row.cells[place], layout.boxes.get(place)) for place in columns])
    return tabular(letters, header, cells, [above[place] for place in columns])


def _above(table: Table) -> list[str]:
    """The title of the group of each column; empty for none."""
    titles = ["", *(title for title, width in table.groups for _ in range(width))]
    return [*titles, *[""] * (len(table.columns) - len(titles))]


def _without_empty_columns(table: Table) -> Table:
    """The table without columns that say nothing in any row; files in CSV keep them."""
    kept = [
        place for place in range(len(table.columns))
        if place == 0 or any(row.cells[place].text not in EMPTY for row in table.rows)
    ]  # fmt: skip
    if len(kept) == len(table.columns) or not table.rows:
        return table
    above = [_above(table)[place] for place in kept[1:]]
    return replace(
        table,
        columns=[table.columns[place] for place in kept],
        rows=[replace(row, cells=[row.cells[place] for place in kept]) for row in table.rows],
        groups=[(title, len([*of])) for title, of in groupby(above)] if table.groups else (),
    )


def latex_cell(cell: Cell, points: float | None = None) -> str:
    """A cell; in a box of this width if it is of several lines."""
    shown = "" if cell.again else cell.text
    text = escaped(shown) if points is None else breakable(shown)
    if BOLD & {*cell.style.split()}:
        text = f"\\textbf{{{text}}}"
    beside = " ".join(part for part in (cell.small, cell.below) if part)
    if beside:
        text = f"{text} {{\\scriptsize {escaped(beside if beside[0] in '(±' else f'({beside})')}}}"
    return text if points is None else f"\\parbox[t]{{{points:.0f}pt}}{{\\raggedright {text}\\strut}}"


def breakable(text: str) -> str:
    """Escaped text that may be broken within words of many letters, such as paths and hashes."""
    parts, since = list[str](), 0.0
    for character in text:
        since = 0 if character.isspace() else since + printed_letters(character)
        parts.append(escaped(character))
        if since >= 12 or (since > 3 and character in "/_-.,:;=@"):
            parts.append("\\allowbreak{}")
            since = 0
    return "".join(parts)

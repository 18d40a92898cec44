"""The parts of a page as files: tables as CSV and LaTeX, figures as PDF, SVG and PNG, and the papers behind them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from unseen.errors import UserError
from unseen.files import atomic_write, write_table, write_text
from unseen.report.core.latex import latex_table
from unseen.report.core.looks import dressed
from unseen.report.core.model import Figure, Page, Section, Table
from unseen.report.core.panels import with_shared_ranges
from unseen.report.core.tables import csv_header, csv_rows
from unseen.text.words import joined

if TYPE_CHECKING:
    from unseen.report.core.static import PaperFigure, PaperWidth

Part = TypeVar("Part", Figure, Table)
REFERENCES = "results.bib"
"""The file of BibTeX entries in the folder of an export."""


def export_page(page: Page, folder: Path) -> list[Path]:
    """Write all tables and figures of a page, and a document of them, into a folder, and return their paths.

    Figures are in the sizes of papers: `-column.pdf` for one column, `.pdf`, `.svg` and `.png` for both.
    """
    from unseen.report.core.paper import figures_latex, paper_latex, tables_latex
    from unseen.report.core.references import page_references
    from unseen.report.core.static.canvas import static_files

    folder.mkdir(parents=True, exist_ok=True)  # before any work
    tables, figures, paths = page_tables(page), page_figures(page), list[Path]()

    def write(name: str, content: bytes | str) -> None:
        paths.append(folder / name)
        if isinstance(content, str):
            write_text(paths[-1], content)
            return
        with atomic_write(paths[-1]) as file:
            file.write(content)

    for name, table in tables.items():
        paths.append(folder / f"{name}.csv")
        write_table(paths[-1], csv_header(table), csv_rows(table))
        write(f"{name}.tex", latex_table(table, name))
    for name, figure in figures.items():
        for ending, content in static_files(figure):
            write(f"{name}{ending}", content)
    write("all-tables.tex", tables_latex(tables))
    write("all-figures.tex", figures_latex(page, figures))
    write(REFERENCES, "\n".join(page.references or page_references(page)))
    write("paper.tex", paper_latex(page))
    return paths


def check_paper_figure(width: str, path: Path | None) -> None:
    """Refuse widths and formats that no figure for a paper has, before work starts."""
    from unseen.report.core.static import PAPER_WIDTHS
    from unseen.report.core.static.canvas import DATES

    if width not in PAPER_WIDTHS:
        raise UserError(f"width is one of {joined([*PAPER_WIDTHS])}, not {width!r}")
    if path is not None and path.suffix.lower().removeprefix(".") not in DATES:
        raise UserError(f"{path}: a figure for a paper is written as .pdf, .svg or .png")


def paper_figure(page: Page, name: str, width: "PaperWidth", path: Path | None = None) -> "PaperFigure":
    """A figure of a page in its size in a paper, which is also written if there is a path."""
    from unseen.report.core.static import drawn
    from unseen.report.core.static.canvas import written

    canvas = drawn(_named(page_figures(page), name, "figure"), width)
    if path is not None:
        with atomic_write(path) as file:
            file.write(written(canvas, path.suffix.lower().removeprefix(".")))
    return canvas


def tables_as_latex(page: Page, name: str | None = None) -> str:
    """One table of a page, or all of the scores."""
    if name is not None:
        return latex_table(_named(page_tables(page), name, "table"), name)
    return "\n".join(latex_table(table, table.name) for table in page.paper_tables)


def _named(parts: Mapping[str, Part], name: str, noun: str) -> Part:
    if name not in parts:
        there = joined([*parts]) if parts else "none"
        raise UserError(f"this report has no {noun} {name!r}; there {'are' if len(parts) > 1 else 'is'} {there}")
    return parts[name]


def page_tables(page: Page) -> dict[str, Table]:
    """The tables for papers, and those of the page, by the names of their files."""
    tables = {table.name: table for table in page.paper_tables}
    for section in page.sections:
        for table in section.tables:
            # Beside other tables, a table without a caption is known by its section.
            tables[file_name(section, table.name)] = replace(table, caption=table.caption or section.title)
    return tables


def page_figures(page: Page) -> dict[str, Figure]:
    """The figures of a page by the names of their files, in the colours and symbols of the page."""
    sections = map(with_shared_ranges, dressed(page).sections)
    return {name: figure for section in sections for name, figure in _figures(section)}


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the file name: .png, .svg, .pdf or .html."""
    suffix = path.suffix.lower()
    # The drawing libraries are heavy: only the one in use is imported.
    if suffix in (".png", ".svg", ".pdf"):
        from unseen.report.core.static import static_bytes

        content = static_bytes(figure, suffix.removeprefix("."))
    elif suffix == ".html":
        from unseen.report.core.render import page_html

        write_text(path, page_html(figure_page(figure)))
        return
    else:
        raise UserError(f"{path}: a figure is written as .png, .svg, .pdf or .html")
    with atomic_write(path) as file:
        file.write(content)


def figure_page(figure: Figure) -> Page:
    """A page of one figure."""
    return Page(
        figure.title, [Section("figure", "Figure", figures=[figure])], findings=[*filter(None, [figure.caption])]
    )


def file_name(section: Section, name: str) -> str:
    """The name of a file of a section, without its ending; the name of the section is not repeated."""
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-").removeprefix(f"{section.name}-")
    return section.name if not words or words == section.name else f"{section.name}-{words}"


def _figures(section: Section) -> Iterator[tuple[str, Figure]]:
    """The figures with unique file names."""
    used = set[str]()
    for figure in (*section.figures, *section.exported):
        if not figure.series and not figure.cells:
            continue
        first = file_name(section, figure.title)[:80]
        name = next(name for number in range(1, 999) if (name := first + f"-{number}" * (number > 1)) not in used)
        used.add(name)
        yield name, figure

"""The parts of a page as files: every table as CSV and LaTeX, every figure as SVG and PNG."""

import re
from collections.abc import Iterator
from pathlib import Path

from unseen.errors import UserError
from unseen.files import atomic_write, write_table
from unseen.report.core.looks import dressed
from unseen.report.core.model import Figure, Page, Section
from unseen.report.core.panels import with_shared_ranges
from unseen.report.core.tables import csv_header, csv_rows, latex_table

KINDS = ("svg", "png")


def export_page(page: Page, folder: Path) -> list[Path]:
    """Write all tables and figures of a page into a folder, and return their paths."""
    from unseen.report.core.static import static_bytes

    written = []
    for section in map(with_shared_ranges, dressed(page).sections):
        for table in section.tables:
            path = folder / f"{file_name(section, table.name)}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_table(path, csv_header(table), csv_rows(table))
            written.append(path)
            with atomic_write(path.with_suffix(".tex")) as file:
                file.write(latex_table(table).encode())
            written.append(path.with_suffix(".tex"))
    for name, figure in page_figures(page).items():
        for kind in KINDS:
            path = folder / f"{name}.{kind}"
            with atomic_write(path) as file:
                file.write(static_bytes(figure, kind))
            written.append(path)
    return written


def page_figures(page: Page) -> dict[str, Figure]:
    """The figures of a page by the names of their files, in the colours and symbols of the page."""
    return {name: figure for section in dressed(page).sections for name, figure in _figures(section)}


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the file name: .png, .svg, .pdf or .html."""
    suffix = path.suffix.lower()
    # The drawing libraries are heavy: only the one in use is imported.
    if suffix in (".png", ".svg", ".pdf"):
        from unseen.report.core.static import static_bytes

        content = static_bytes(figure, suffix.removeprefix("."))
    elif suffix == ".html":
        from unseen.report.core.render import page_html

        content = page_html(figure_page(figure)).encode(errors="replace")
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
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
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

"""What commands that run studies share: processes, and the page at the end."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.output import console, note
from unseen.errors import JobsError, UserError

if TYPE_CHECKING:
    from unseen.report.core.model import Page

WorkersOption = Annotated[int | None, typer.Option(help="Processes that run jobs. Default: one per CPU core.")]
ExportOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Also write what a paper needs: tables as LaTeX and CSV, figures as PDF, SVG and PNG, and results.bib.",
    ),
]
REPORT = "report.html"
MOST_SHOWN = 10
"""Characters without a font that a notice shows."""


def processes(workers: int | None, *, least: int = 1) -> int:
    """The number of processes; one per core by default."""
    if workers is not None and workers < least:
        raise UserError(f"--workers must be at least {least}, not {workers}")
    if workers is not None:
        return workers
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def finish_run(folder: Path, *, quiet: bool = False) -> None:
    """Write the pages and tables of a run into its folder, including results of other processes; print a summary.

    Args:
        quiet: print only notices, to stderr.
    """
    from unseen.cli.summaries import print_summary, write_quietly
    from unseen.report.of_runs import write_run_pages
    from unseen.runs.lock import folder_lock

    with folder_lock(folder):
        for page, found in write_run_pages(folder).items():
            table = page.with_name(f"{page.stem.replace('report', 'scores')}.csv")
            if quiet:
                write_quietly(found, table)
            else:
                print_summary(found, table)
                console().print(f"\nReport: {page}")


@contextmanager
def others_shown(folder: Path, show: Callable[[], object]) -> Iterator[None]:
    """If jobs fail inside, show the run of the others, which names the failures, before they become the error."""
    from unseen.runs.record import RUN

    try:
        yield
    except JobsError:
        if (folder / RUN).is_file():
            show()
        raise


def write_export(page: "Page", folder: Path) -> None:
    """Write the tables and figures of a page as files."""
    from unseen.report.core.export import export_page, page_figures
    from unseen.report.core.static.fonts import boxes

    lost = boxes(page_figures(page).values())
    if lost:
        shown = f"{' '.join(lost[:MOST_SHOWN])}{' …' if len(lost) > MOST_SHOWN else ''}"
        note(
            f"No installed TrueType font has {shown}: figures show boxes there as PNG and PDF, and the text as SVG. "
            "Install such a font to change that."
        )
    console().print(f"{len(export_page(page, folder))} files of tables, figures and references: {folder}")

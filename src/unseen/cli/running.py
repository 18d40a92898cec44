"""What commands that run studies share: processes, and the page at the end."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.output import console, print_table
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.report.core.model import Page
    from unseen.runs.data import RunData
    from unseen.studies.concepts.comparison import PairComparison

WorkersOption = Annotated[int | None, typer.Option(help="Processes that run jobs. Default: one per CPU core.")]
REPORT = "report.html"


def processes(workers: int | None) -> int:
    """The number of processes; one per core by default."""
    if workers is not None and workers < 1:
        raise UserError(f"--workers must be at least 1, not {workers}")
    if workers is not None:
        return workers
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def finish(folder: Path, data: "RunData", open_: bool) -> None:
    """Write the page and the table of a run into its folder, including results of other processes."""
    from unseen.runs.lock import folder_lock
    from unseen.runs.record import read_again
    from unseen.studies.concepts.comparison import compare_with_baseline

    with folder_lock(folder):
        whole = read_again(folder, data)
        write_page(whole, folder / REPORT, folder / "scores.csv", compare_with_baseline([folder], whole))
    if open_:
        typer.launch(str((folder / REPORT).resolve()))


def write_page(data: "RunData", page: Path, table: Path | None, pairs: "Sequence[PairComparison]" = ()) -> None:
    """Write page and table, and print a summary."""
    from unseen.report.concepts.page import write_report

    write_report(data, page, pairs)
    print_scores(data, table)
    console().print(f"\nReport: {page}")


def write_export(page: "Page", folder: Path) -> None:
    """Write the tables and figures of a page as files."""
    from unseen.report.core.export import export_page

    console().print(f"{len(export_page(page, folder))} tables and figures: {folder}")


def print_scores(data: "RunData", table: Path | None) -> None:
    """Print a summary of the scores of a run, and write the table."""
    from unseen.runs.comparability_words import comparison_notices
    from unseen.runs.tables import (
        score_table,
        summarise,
        wide,
        with_comparisons,
        with_concept_intervals,
        write_table,
    )

    scores = score_table(data.scores)
    summary = with_concept_intervals(summarise(scores), data.concept_intervals)
    seen = next((domain.name for domain in data.domains if domain.seen), None)
    if table:
        write_table(with_comparisons(summary, seen=seen, baseline=data.baseline, metrics=data.metrics), table)
    shown = wide(summary).rename(columns={domain.name: domain.title for domain in data.domains})
    over = "mean ± standard deviation over seeds" if (summary["seeds"] > 1).any() else "one seed"
    print_table(f"{data.title}: top-1, percent, {over}", list(shown.columns), shown.itertuples(index=False))
    for sentence in [*data.notices, *comparison_notices(data)]:
        console().print(f"\n{sentence}")
    if table:
        console().print(f"\nScores: {table}")

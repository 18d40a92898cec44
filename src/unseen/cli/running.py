"""What commands that run studies share: processes, and the page at the end."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.output import console, note, print_table
from unseen.errors import JobsError, UserError

if TYPE_CHECKING:
    import pandas as pd

    from unseen.report.core.model import Page
    from unseen.runs.data import RunData

WorkersOption = Annotated[int | None, typer.Option(help="Processes that run jobs. Default: one per CPU core.")]
REPORT = "report.html"


def processes(workers: int | None) -> int:
    """The number of processes; one per core by default."""
    if workers is not None and workers < 1:
        raise UserError(f"--workers must be at least 1, not {workers}")
    if workers is not None:
        return workers
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def finish(folder: Path, data: "RunData", open_: bool, *, quiet: bool = False) -> None:
    """Write the page and the table of a run into its folder, including results of other processes; print a summary.

    Args:
        quiet: print no summary; notices go to stderr.
    """
    from unseen.report.concepts.page import write_report
    from unseen.runs.lock import folder_lock
    from unseen.runs.record import read_again
    from unseen.studies.concepts.comparison import compare_with_baseline

    page, table = folder / REPORT, folder / "scores.csv"
    with folder_lock(folder):
        whole = read_again(folder, data)
        write_report(whole, page, compare_with_baseline([folder], whole))
        if quiet:
            write_scores(whole, table)
            for sentence in whole.notices:
                note(sentence)
        else:
            print_scores(whole, table)
            console().print(f"\nReport: {page}")
    if open_:
        typer.launch(str(page.resolve()))


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


def finish_read(folder: Path, *, quiet: bool = False) -> None:
    """`finish` with the run as it is in the folder."""
    from unseen.runs.record import read_run

    finish(folder, read_run(folder), open_=False, quiet=quiet)


def write_export(page: "Page", folder: Path) -> None:
    """Write the tables and figures of a page as files."""
    from unseen.report.core.export import export_page

    console().print(f"{len(export_page(page, folder))} tables and figures: {folder}")


def print_scores(data: "RunData", table: Path | None) -> None:
    """Print a summary of the scores of a run, and write the table."""
    from unseen.report.core.metric_words import metric_words
    from unseen.runs.comparability_words import comparison_notices
    from unseen.runs.tables import wide

    summary = write_scores(data, table)
    over = "mean ± standard deviation over seeds" if (summary["seeds"] > 1).any() else "one seed"
    measured = [str(name) for name in summary["metric"].unique()]
    for metric in ["top1"] if "top1" in measured else measured:
        share = data.metrics[metric].unit == "share"
        shown = wide(summary, metric, share=share).rename(columns={each.name: each.title for each in data.domains})
        name = "top-1" if metric == "top1" else metric_words(metric)
        caption = f"{data.title}: {name}{', percent' if share else ''}, {over}"
        print_table(caption, list(shown.columns), shown.itertuples(index=False))
    for sentence in [*data.notices, *comparison_notices(data)]:
        console().print(f"\n{sentence}")
    if table:
        console().print(f"\nScores: {table}")


def write_scores(data: "RunData", table: Path | None) -> "pd.DataFrame":
    """Write the table of the scores of a run, if it has a path, and return the summary that it is made from."""
    from unseen.runs.tables import score_table, summarise, with_comparisons, with_concept_intervals, write_table

    summary = with_concept_intervals(summarise(score_table(data.scores)), data.concept_intervals)
    seen = next((domain.name for domain in data.domains if domain.seen), None)
    if table:
        write_table(with_comparisons(summary, seen=seen, baseline=data.baseline, metrics=data.metrics), table)
    return summary

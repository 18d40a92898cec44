"""The end of commands of the task study: run the jobs, write the page, print the scores."""

from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.output import console, print_table
from unseen.cli.running import REPORT, others_shown
from unseen.cli.watching import CommandWatch
from unseen.runs.means import Means

if TYPE_CHECKING:
    from unseen.runs.parts import Part
    from unseen.studies.study import Request
    from unseen.studies.tasks.page_data import TaskPage


def carry_out(request: "Request", out: Path, means: Means, part: "Part" = (1, 1), *, ignore_disk: bool = False) -> None:
    """Run the missing jobs of a study and write its page, which names jobs that failed."""
    from unseen.studies.study import run_study

    with others_shown(out, lambda: _write(out)):
        run_study(request, out, means=means, watch=CommandWatch(means, part), ignore_disk=ignore_disk, part=part)
    _write(out)


def _write(out: Path) -> None:
    from unseen.runs.lock import folder_lock
    from unseen.studies.tasks.results import task_page

    with folder_lock(out):
        write_task_results(task_page(out), out / REPORT, out / "scores.csv")


def write_task_results(page: "TaskPage", report: Path, table: Path) -> None:
    """Write the page and the table, and print the scores."""
    from unseen.report.tasks.page import write_task_page

    write_task_page(page, report)
    print_task_results(page, table)
    console().print(f"\nReport: {report}")


def print_task_results(page: "TaskPage", table: Path | None) -> None:
    """Print every score of a page, and write the table."""
    import pandas as pd

    from unseen.report.tasks.dense_tables import dense_tables
    from unseen.report.tasks.image_parts import image_tables
    from unseen.report.tasks.page import findings
    from unseen.report.tasks.sections.further_probes import further_table
    from unseen.report.tasks.sections.many_shot import fit_sentences
    from unseen.report.tasks.tables import score_rows, score_tables, text_of
    from unseen.runs.tables import write_table

    if table:
        write_table(pd.DataFrame(score_rows(page)).astype({"limit": "Int64"}), table)
    further = [further_table(page)] if page.further_scores else []
    for each in [*score_tables(page), *dense_tables(page), *image_tables(page), *further]:
        titles = [column.title for column in each.columns[1:]]
        rows = [[text_of(cell) for cell in row.cells] for row in each.rows if row.style != "published"]
        print_table(each.caption, ("backbone", *titles), rows, titles)
        console().print()
    for sentence in (*page.notices, *findings(page), *fit_sentences(page), *page.notes):
        console().print(sentence)
    if table:
        console().print(f"\nScores: {table}")

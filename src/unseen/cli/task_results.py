"""What commands that end with a page of the task study share: writing it, and printing every score of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.output import console, print_table
from unseen.cli.running import REPORT
from unseen.cli.watching import CommandWatch

if TYPE_CHECKING:
    from unseen.studies.tasks.finetune_request import FinetuneRequest
    from unseen.studies.tasks.page_data import TaskPage
    from unseen.studies.tasks.request import TaskRequest

FINETUNING_PAGE, FINETUNING_TABLE = "fine-tuning.html", "fine-tuning.csv"


def probe_tasks(request: "TaskRequest", out: Path, workers: int, *, ignore_disk: bool) -> None:
    """Do what is missing of a study of features, and write its page."""
    from unseen.runs.lock import folder_lock
    from unseen.studies.study import run_study
    from unseen.studies.tasks.results import task_page

    run_study(request, out, workers=workers, watch=CommandWatch(workers), ignore_disk=ignore_disk)
    with folder_lock(out):
        write_task_results(task_page(out), out / REPORT, out / "scores.csv")


def finetune_tasks(request: "FinetuneRequest", out: Path, workers: int) -> None:
    """Train what is missing, and write the page, with what failed on it."""
    from unseen.studies.study import run_study
    from unseen.studies.tasks.finetune_request import TrainingError

    try:
        run_study(request, out, workers=workers, watch=CommandWatch(workers))
    except TrainingError as error:
        if error.done:
            _write_finetuning(out, error.failures)
        raise
    _write_finetuning(out, [])


def write_task_results(page: "TaskPage", report: Path, table: Path | None) -> None:
    """Write the page, and a table where one is asked for, and print them in short."""
    import pandas as pd

    from unseen.report.tasks.page import findings, write_task_page
    from unseen.report.tasks.sections import fit_sentences
    from unseen.report.tasks.tables import score_rows, task_tables
    from unseen.runs.tables import write_table

    write_task_page(page, report)
    if table:
        write_table(pd.DataFrame(score_rows(page)).astype({"limit": "Int64"}), table)
    for each in task_tables(page):
        own = [row for row in each.rows if not row.published]
        if each.kind == "scores" and own:
            rows = [(row.name, *(cell.text for cell in row.cells)) for row in own]
            print_table(each.caption, ("backbone", *each.columns), rows, each.columns)
            console().print()
    for sentence in (*page.notices, *findings(page), *fit_sentences(page), *page.notes):
        console().print(sentence)
    console().print(f"\nReport: {report}" + (f"\nScores: {table}" if table else ""))


def _write_finetuning(out: Path, failures: Sequence[str]) -> None:
    """Write page and table, and print them in short.

    Args:
        failures: for the page alone, and not for the run: the next time they may not be.
    """
    import pandas as pd

    from unseen.report.tasks.finetune_page import findings, finetune_tables, write_finetune_page
    from unseen.report.tasks.tables import score_row
    from unseen.runs.lock import folder_lock
    from unseen.runs.record import read_record
    from unseen.runs.tables import write_table
    from unseen.studies.tasks.finetune import finetune_page, finetuned_results

    with folder_lock(out):
        data, keys = read_record(out)
        said = [*(each.sentence for each in data.told), *(f"Failed: {line}." for line in failures)]
        page = finetune_page(data, finetuned_results(out, keys), said)
        write_finetune_page(page, out / FINETUNING_PAGE)
        scores = [score_row(score) for each in page.tuned for score in each.scores]
        write_table(pd.DataFrame(scores), out / FINETUNING_TABLE)
    for table in finetune_tables(page):
        rows = [(row.name, *(cell.text for cell in row.cells)) for row in table.rows if not row.published]
        print_table(table.caption, ("backbone", *table.columns), rows, table.columns)
        console().print()
    for sentence in (*page.notices, *findings(page)):
        console().print(sentence)
    console().print(f"\nReport: {out / FINETUNING_PAGE}\nScores: {out / FINETUNING_TABLE}")

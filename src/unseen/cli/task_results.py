"""The summary of the page of tasks in the terminal."""

from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.output import console, print_table

if TYPE_CHECKING:
    from unseen.report.tasks.page_data import TaskPage


def print_task_results(page: "TaskPage", table: Path | None) -> None:
    """Print every score of a page, and write the table."""
    from unseen.report.tasks.dense_tables import dense_tables
    from unseen.report.tasks.image_parts import image_tables
    from unseen.report.tasks.page import findings
    from unseen.report.tasks.score_table import write_task_table
    from unseen.report.tasks.section_parts import fit_sentences
    from unseen.report.tasks.sections.further_probes import further_table
    from unseen.report.tasks.tables import score_tables, text_of

    if table:
        write_task_table(page, table)
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

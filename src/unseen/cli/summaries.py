"""Summaries of pages in the terminal, and their tables."""

from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.across_axes import print_axes
from unseen.cli.concept_tables import show_relative
from unseen.cli.output import console, note, print_table

if TYPE_CHECKING:
    import pandas as pd

    from unseen.analyses.paired import PairComparison
    from unseen.report.of_runs import Reported
    from unseen.runs.data import RunData


def print_summary(found: "Reported", table: Path | None) -> None:
    """Print a summary of a page, and write its table if it has a path."""
    from unseen.report.axes.page_data import AxesPage
    from unseen.report.shifts.page_data import ShiftPage
    from unseen.runs.data import RunData

    if found.pair is not None:
        _print_comparison(found, found.pair, table)
    elif isinstance(found.source, AxesPage):
        print_axes(found.source)
    elif isinstance(found.source, ShiftPage):
        from unseen.cli.shifts.results import print_shift_results

        print_shift_results(found.source, table)
    elif isinstance(found.source, RunData):
        print_scores(found.source, table)
    elif found.source is not None:
        from unseen.cli.task_results import print_task_results

        print_task_results(found.source, table)
    else:
        for sentence in found.page.findings:
            console().print(sentence)
    _print_choice(found)
    _print_suites(found)


def _print_choice(found: "Reported") -> None:
    """Print which backbone to take and what it costs, as the page begins."""
    from markupsafe import Markup

    from unseen.report.core.costs import NAME as CHOICE

    first = found.page.findings[:1] if any(section.name == CHOICE for section in found.page.sections) else ()
    for sentence in first if found.pair is None else ():
        console().print(f"\n{Markup(sentence).striptags()}")  # noqa: S704 (it is escaped)


def _print_suites(found: "Reported") -> None:
    """Print the tables of suites, and what they lack."""
    from unseen.report.tasks.tables import text_of

    for section in found.page.sections:
        for each in section.tables if section.name.startswith("suite-") else ():
            titles = [column.title for column in each.columns]
            print_table(each.caption, titles, [[text_of(cell) for cell in row.cells] for row in each.rows], titles[1:])
        for sentence in section.sentences if section.name.startswith("suite-") else ():
            console().print(f"\n{sentence}")


def write_quietly(found: "Reported", table: Path) -> None:
    """Write the table of a page, and print only its notices, to stderr."""
    from unseen.report.shifts.page_data import ShiftPage
    from unseen.report.tasks.page_data import TaskPage
    from unseen.runs.data import RunData

    if isinstance(found.source, RunData):
        write_scores(found.source, table)
    elif isinstance(found.source, TaskPage):
        from unseen.report.tasks.score_table import write_task_table

        write_task_table(found.source, table)
    elif isinstance(found.source, ShiftPage) and found.source.accuracies:
        from unseen.runs.tables import score_table, summarise, write_table

        write_table(summarise(score_table(found.source.accuracies.data.scores)), table)
    for sentence in found.page.notices:
        note(sentence)


def print_scores(data: "RunData", table: Path | None) -> None:
    """Print a summary of the scores of a run, and write the table."""
    from unseen.report.core.metric_words import metric_words
    from unseen.runs.comparability_words import comparison_notices
    from unseen.runs.tables import shown_probe, wide

    summary = write_scores(data, table)
    over = "mean ± standard deviation over seeds" if (summary["seeds"] > 1).any() else "one seed"
    measured = [str(name) for name in summary["metric"].unique()]
    for metric in ["top1"] if "top1" in measured else measured:
        share = data.metrics[metric].unit == "share"
        shown = wide(summary, metric, share=share).rename(columns={each.name: each.title for each in data.domains})
        probe = f"{shown_probe(summary, metric)} probe, "
        name = "top-1" if metric == "top1" else metric_words(metric)
        caption = f"{data.title}: {probe}{name}{', percent' if share else ''}, {over}"
        print_table(caption, list(shown.columns), shown.itertuples(index=False))
    show_relative(data)
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


def _print_comparison(found: "Reported", pair: "PairComparison", table: Path | None) -> None:
    """Print the differences of two backbones on the same test images, with intervals and p-values."""
    from markupsafe import Markup

    from unseen.analyses.paired import comparison_table
    from unseen.runs.tables import write_table

    if table is not None:
        write_table(comparison_table(pair), table)
    [section] = [each for each in found.page.sections if each.name == "comparison"]
    [shown] = [each for each in section.tables if each.name == "comparison"]
    columns, names = [column.title for column in shown.columns[1:]], (pair.first, pair.second)
    rows = [[cell.text for cell in row.cells[1:]] for row in shown.rows if row.cells[0].values == names]
    print_table(f"{pair.first} minus {pair.second}", columns, rows, right=columns[2:])
    for sentence in (section.sentences[0], section.note):
        console().print(f"\n{sentence.striptags() if isinstance(sentence, Markup) else sentence}")
    if table is not None:
        console().print(f"\nTable: {table}")

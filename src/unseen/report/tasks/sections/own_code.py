"""Probes and metrics of the user's own, by data set."""

from unseen.report.core.discover import PageSection
from unseen.report.core.metric_words import metric_words
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.core.own_code import NOTE, code_table
from unseen.runs.data import known_metrics
from unseen.runs.score import shots_name
from unseen.studies.tasks.page_data import TaskPage

COLUMNS = (
    Column("Backbone", number=False, names=("backbone",)),
    Column("Data set", number=False, names=("dataset",)),
    Column("Probe", number=False, names=("probe",)),
    Column("Shots", names=("shots",)),
    Column("Metric", number=False, names=("metric",)),
    Column("Value", "percent for metrics that are shares", names=("value",)),
)


def build(page: TaskPage) -> Section | None:
    """All their scores in one table, and a table of the code."""
    if not page.own_scores:
        return None
    metrics, titles = known_metrics(page.own_code), {dataset.name: dataset.title for dataset in page.datasets}
    rows = []
    for score in page.own_scores:
        share = score.metric in metrics and metrics[score.metric].unit == "share"
        text = f"{100 * score.value:.1f}" if share else f"{score.value:.3f}"
        names = [Cell(score.backbone), Cell(titles.get(score.domain, score.domain), (score.domain,)), Cell(score.probe)]
        value = Cell(text, (score.value,), style="main")
        rows.append(
            Row(
                [*names, Cell(shots_name(score.shots)), Cell(metric_words(score.metric), (score.metric,)), value],
                backbone=score.backbone,
            )
        )
    tables = [Table("own-scores", COLUMNS, rows, sortable=True), code_table(page.own_code)]
    return Section("own-code", "Your own code", note=NOTE, tables=tables)


SECTION = PageSection("tasks", 90, build)

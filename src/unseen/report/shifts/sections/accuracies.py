"""Accuracies of every model of runs on every test set."""

from unseen.metrics.leaders import METHOD, RULE
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.shifts.page_data import ShiftPage
from unseen.text.words import counted


def build(page: ShiftPage) -> Section | None:
    """One row per model, one column per test set and choice of classes."""
    runs = page.accuracies
    if runs is None:
        return None
    cells = {(score.backbone, score.domain): score.value for score in runs.data.scores}
    leaders = {name: runs.leader(name) for name in runs.columns}
    grouped = any(each.category for each in runs.data.backbones)
    columns = [Column("Model", number=False, names=("model",))]
    columns += [Column("Group", number=False, names=("group",))] if grouped else []
    columns += [
        Column(name, f"{of.test_set}: {counted(of.images, 'image')} of {counted(of.classes, 'class')}", names=(name,))
        for name, of in runs.columns.items()
    ]
    rows = []
    for each in runs.data.backbones:
        about = [Cell(each.name, about=each.description), *([Cell(each.category or "–")] if grouped else [])]
        own = [_cell(cells.get((each.name, name)), leads=each.name == leaders[name]) for name in runs.columns]
        rows.append(Row([*about, *own]))
    table = Table("accuracies", columns, rows, sortable=True, filter="words in any column", head=True)
    note = (
        "Top-1 accuracy in percent among the classes of each column. A column named after another test set is "
        f"restricted to the classes of that test set. An accuracy is bold if {RULE}: {METHOD}."
    )
    return Section("accuracies", "Accuracies", tables=[table], note=note)


def _cell(value: float | None, *, leads: bool) -> Cell:
    if value is None:
        return Cell("–", (None,))
    return Cell(f"{100 * value:.2f}", (value,), style="best" if leads else "")


SECTION = PageSection("shifts", 58, build)

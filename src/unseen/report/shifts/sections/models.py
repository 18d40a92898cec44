"""All models."""

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.shifts.page_data import ShiftPage
from unseen.text.words import signed


def build(page: ShiftPage) -> Section | None:
    """One row per model and OOD test set."""
    if not page.panels:
        return None
    columns = [
        Column("Model", number=False, names=("model",)), Column("OOD test set", number=False, names=("ood",)),
        Column("ρ", "effective robustness, points", names=("rho",)),
        Column(f"{page.level:.0%} interval", names=("low", "high")),
        Column("OOD accuracy", names=("accuracy",)), Column("Expected", names=("expected",)),
        *(Column(name, names=(f"id:{name}",)) for name in page.id_sets),
        Column("Group", number=False, names=("group",)), Column("Role", number=False, names=("in_fit",)),
    ]  # fmt: skip
    rows = [
        Row(
            [
                Cell(point.model), Cell(panel.name), Cell(_points(point.rho), (point.rho,), style="main"),
                Cell(f"{_points(point.low)} to {_points(point.high)}", (point.low, point.high)),
                *(_percent(value) for value in (point.accuracy, point.expected, *point.id_accuracy)),
                Cell(point.group),
                Cell("in the fit" if point.in_fit else "only scored", ("yes" if point.in_fit else "no",)),
            ],
            group=point.group,
        )
        for panel in page.panels for point in panel.points
    ]  # fmt: skip
    table = Table("models", columns, rows, sortable=True, filter="words in any column", head=True)
    note = f"Accuracies are in percent, ρ and its {page.level:.0%} interval in points. Press a heading to sort."
    return Section("models", "All models", menu="Models", tables=[table], note=note)


def _percent(share: float) -> Cell:
    return Cell(f"{100 * share:.1f}", (share,))


def _points(share: float) -> str:
    return signed(100 * share, 2)


SECTION = PageSection("shifts", 60, build)

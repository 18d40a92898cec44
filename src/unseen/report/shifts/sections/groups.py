"""Means of groups of models."""

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.shifts.page_data import ShiftPage
from unseen.words import signed

COLUMNS = (
    Column("ID test sets", number=False),
    Column("OOD test set", number=False),
    Column("Group", number=False),
    Column("Role", number=False),
    Column("Models"),
    Column("ρ, mean ± deviation", names=("mean", "deviation")),
    Column("MAE"),
)


def build(page: ShiftPage) -> Section | None:
    """One row per group, ID test sets and OOD test set."""
    if not page.panels:
        return None
    rows = []
    for score in page.group_scores:
        spread = "" if score["deviation"] is None else f" ± {score['deviation']:.2f}"
        cells = [
            Cell(" + ".join(score["id_sets"])), Cell(score["ood"]), Cell(score["group"]),
            Cell("in the fit" if score["in_fit"] else "only scored"), Cell(str(score["models"])),
            Cell(f"{signed(score['mean'], 2)}{spread}", (score["mean"], score["deviation"])),
            Cell(f"{score['mae']:.2f}", (score["mae"],)),
        ]  # fmt: skip
        rows.append(Row(cells, "strong" if score["average"] else ""))
    note = (
        "Points; sample standard deviation over models. Averages are over OOD test sets for each model that has them "
        "all, then over models."
    )
    return Section("groups", "Groups", tables=[Table("groups", COLUMNS, rows, sortable=True)], note=note)


SECTION = PageSection("shifts", 50, build)

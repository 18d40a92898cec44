"""Means of groups of models."""

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.shifts.page_data import ShiftPage
from unseen.text.words import signed

COLUMNS = (
    Column("Group", number=False),
    Column("OOD test set", number=False),
    Column("ID test sets", number=False),
    Column("ρ, mean ± deviation", "points", names=("mean", "deviation")),
    Column("MAE", "mean absolute error, points"),
    Column("Models"),
    Column("Role", number=False),
)


def build(page: ShiftPage) -> Section | None:
    """One row per group, ID test sets and OOD test set."""
    if not page.panels:
        return None
    rows = []
    for score in page.group_scores:
        spread = "" if score["deviation"] is None else f" ± {score['deviation']:.2f}"
        cells = [
            Cell(score["group"]), Cell(score["ood"]), Cell(" + ".join(score["id_sets"])),
            Cell(f"{signed(score['mean'], 2)}{spread}", (score["mean"], score["deviation"])),
            Cell(f"{score['mae']:.2f}", (score["mae"],)), Cell(str(score["models"])),
            Cell("in the fit" if score["in_fit"] else "only scored"),
        ]  # fmt: skip
        rows.append(Row(cells, "main" if score["average"] else ""))
    note = (
        "ρ and MAE are in points; the deviation is the sample standard deviation over models. Averages are taken first "
        "over OOD test sets, for models with scores on all of them, and then over models."
    )
    return Section("groups", "Groups", tables=[Table("groups", COLUMNS, rows, sortable=True, head=True)], note=note)


SECTION = PageSection("shifts", 50, build)

"""Means of groups of models: one row per group, one column per OOD test set, one table per choice of ID test sets."""

from collections.abc import Mapping, Sequence
from typing import Any

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.shifts.page_data import ShiftPage
from unseen.text.words import counted, signed

Score = Mapping[str, Any]
OPEN = 3
"""Tables that are open at first; those of more ID test sets are closed."""


def build(page: ShiftPage) -> Section | None:
    """The table of all ID test sets, then one for each alone."""
    if not page.panels:
        return None
    choices = list(dict.fromkeys(tuple(score["id_sets"]) for score in page.group_scores))
    most = max((abs(score["mean"]) for score in page.group_scores), default=0)
    tables = [_table(page, names, number, most) for number, names in enumerate(choices)]
    note = (
        "Mean ρ of each group ± the sample standard deviation over its models, and below it the mean absolute error "
        "(MAE), in points. Colours are those of ρ, from the lowest to the highest of all tables. The average is taken "
        "first over OOD test sets, for models with scores on all of them, and then over models. Groups in the fit draw "
        "the line towards themselves, so their means differ from those against the line of the other groups, where it "
        "is also said what is resolved."
    )
    return Section("groups", "Groups", tables=tables, note=note)


def _table(page: ShiftPage, names: Sequence[str], number: int, most: float) -> Table:
    scores = [score for score in page.group_scores if tuple(score["id_sets"]) == names]
    oods = sorted(dict.fromkeys(score["ood"] for score in scores), key=lambda ood: not _is_average(scores, ood))
    cells = {(score["group"], score["in_fit"], score["ood"]): score for score in scores}
    columns = [
        Column("Group", number=False, names=("group",)), Column("Models", names=("models",)),
        *(Column("Average" if _is_average(scores, ood) else ood, names=(f"{ood}", f"{ood} ±", f"{ood} MAE"))
          for ood in oods),
    ]  # fmt: skip
    rows = []
    for group, in_fit in dict.fromkeys((score["group"], score["in_fit"]) for score in scores):
        own = [cells.get((group, in_fit, ood)) for ood in oods]
        models = {score["models"] for score in own if score}
        many = f"{min(models)}–{max(models)}" if len(models) > 1 else f"{min(models)}"
        about = Cell(group, (group,), small="" if in_fit else "only scored")
        rows.append(Row([about, Cell(many, (max(models),)), *(_cell(score, most) for score in own)], group=group))
    single = f"By {names[0]} alone" if len(page.id_sets) > 1 and len(names) == 1 else ""
    words = single or f"By {' and '.join(names)}"
    folded = words if number >= OPEN else ""
    return Table(
        f"groups-{number}" if number else "groups", columns, rows, words, sortable=True, head=True, folded=folded
    )


def _is_average(scores: Sequence[Score], ood: str) -> bool:
    return any(score["average"] for score in scores if score["ood"] == ood)


def _cell(score: Score | None, most: float) -> Cell:
    if score is None:
        return Cell("–", (None, None, None))
    spread = "" if score["deviation"] is None else f" ± {score['deviation']:.2f}"
    return Cell(
        f"{signed(score['mean'], 2)}{spread}", (score["mean"], score["deviation"], score["mae"]),
        style="main" if score["average"] else "", below=f"MAE {score['mae']:.2f}",
        about=counted(score["models"], "model"), shade=score["mean"] / most if most else None,
    )  # fmt: skip


SECTION = PageSection("shifts", 50, build)

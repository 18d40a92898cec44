"""The fits: errors, weights, other choices of ID test sets, and other methods."""

from collections.abc import Mapping, Sequence
from typing import Any

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.shifts.page_data import ShiftPage

OOD = Column("OOD test set", number=False, names=("ood",))
ERRORS = (Column("R²", names=("r2",)), Column("MAE", names=("mae",)))
HELD_OUT = Column("Leave-one-out MAE", names=("leave_one_out_mae", "standard_error"))
MOST = 12
"""Choices of ID test sets that are shown, the best first."""


def build(page: ShiftPage) -> Section | None:
    """Tables of fits."""
    if not page.panels:
        return None
    tables = [_fits(page), *_left_out(page)]
    tables += [_id_sets(page)] if len(page.id_sets) > 1 else []
    note = (
        f"R² is on the scale of the fit ({page.scale}s); MAE is the mean absolute error in points of accuracy. "
        f"{page.level:.0%} intervals are in brackets. They and all others of fits are over resamples of the models, "
        "and leave out the noise of the test images, which all models share, unless sizes were given. In leave-one-out "
        "errors, each model is left out of the fit that predicts it."
    )
    return Section("fits", "Fits", tables=[*tables, _alternatives(page)], note=note)


def _fits(page: ShiftPage) -> Table:
    columns = [OOD, Column("R²", names=("r2", "adjusted_r2")), Column("MAE", names=("mae",)), HELD_OUT]
    columns += [Column(f"Weight of {name}", names=(name, f"{name} low", f"{name} high")) for name in page.id_sets]
    columns += [Column("Intercept", names=("intercept", "intercept low", "intercept high")), Column("Models")]
    rows = []
    for panel in page.panels:
        r = panel.record
        own = "" if panel.id_columns == page.id_sets else f"on {' and '.join(panel.id_columns)}"
        adjusted = r["adjusted_r2"]
        more = "" if adjusted is None else f"(adjusted {adjusted:.4f})"
        cells = [
            Cell(panel.name, small=own), Cell(f"{r['r2']:.4f}", (r["r2"], adjusted), style="main", small=more),
            _error(r["mae"], "main"), _error(r["leave_one_out"]["mae"]),
        ]  # fmt: skip
        cells += [_weight(r["coefficients"][name], r["intervals"]["coefficients"][name]) for name in page.id_sets]
        cells += [_weight(r["intercept"], r["intervals"]["intercept"]), Cell(str(r["n"]))]
        rows.append(Row(cells))
    return Table("fits", columns, rows, sortable=len(rows) > 1, head=True)


def _weight(value: float, ends: Sequence[float]) -> Cell:
    text, low, high = (f"{number:.3f}".replace("-", "−") for number in (value, *ends))
    return Cell(text, (value, *ends), small=f"({low} to {high})")


def _error(value: float, style: str = "") -> Cell:
    return Cell(f"{value:.2f}", (value,), style=style)


def _left_out(page: ShiftPage) -> list[Table]:
    columns = [Column("Model", number=False), Column("Reason", number=False)]
    tables = []
    for number, panel in enumerate(page.panels, 1):
        left = panel.record["left_out"]
        rows = [Row([Cell(model), Cell(reason, style="text")]) for model, reason in left.items()]
        words = f"{panel.name}: {len(left)} model{'s' if len(left) > 1 else ''} in neither the fit nor the scores"
        tables += [Table(f"left-out-{number}", columns, rows, folded=words)] if rows else []
    return tables


def _id_sets(page: ShiftPage) -> Table:
    rows = [
        Row(
            [
                Cell(panel.name, again=number > 0), Cell(" + ".join(found["id"])),
                Cell(f"{found['r2']:.4f}", (found["r2"],)), _error(found["mae"]), _held_out(found),
            ]
        )
        for panel in page.panels for number, found in enumerate(panel.record["leave_one_out_of_id_sets"][:MOST])
    ]  # fmt: skip
    columns = [OOD, Column("ID test sets", number=False), *ERRORS, HELD_OUT]
    return Table("id-sets", columns, rows, "Other choices of ID test sets, on the same models; ± is the standard error")


def _held_out(found: Mapping[str, Any]) -> Cell:
    value, error = found["held_out_mae"], found["standard_error"]
    return Cell(f"{value:.2f} ± {error:.2f}", (value, error))


def _alternatives(page: ShiftPage) -> Table:
    rows = [
        Row(
            [
                Cell(panel.name, again=number > 0), Cell(other["method"]),
                Cell(f"{other['r2']:.4f}", (other["r2"],)), _error(other["mae"]), _error(other["leave_one_out_mae"]),
                _error(other["greatest_change_of_rho"]),
            ]
        )
        for panel in page.panels for number, other in enumerate(panel.record["alternatives"])
    ]  # fmt: skip
    columns = [OOD, Column("Method", number=False), *ERRORS, HELD_OUT, Column("Largest change of ρ")]
    return Table("alternatives", columns, rows, "Other scales and losses")


SECTION = PageSection("shifts", 55, build)

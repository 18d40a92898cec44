"""The table of accuracies that a call in Python names, with its columns by their part in a shift study."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.analyses.robustness.table import FitOn, ShiftTable, read_accuracies, shift_table
from unseen.analyses.robustness.units import Unit

if TYPE_CHECKING:
    import pandas as pd

Names = str | Sequence[str]


def given_table(
    table: "pd.DataFrame | str | PathLike[str]", id_sets: Names | Mapping[str, Names], ood: Names | None, *, model: str,
    group: str | None, fit_on: FitOn, unit: Unit | None,
) -> "tuple[pd.DataFrame, ShiftTable]":  # fmt: skip
    """The rows as they are given, and the checked accuracies of the named columns.

    Args:
        table, ood, model, group, fit_on, unit: as in `unseen.effective_robustness`; `id_sets` is its `id`.
    """
    rows = read_accuracies(Path(table)) if isinstance(table, str | PathLike) else table
    own = {name: _listed(columns) for name, columns in id_sets.items()} if isinstance(id_sets, Mapping) else {}
    ids = [] if isinstance(id_sets, Mapping) else _listed(id_sets)
    checked = shift_table(
        rows, ids, list(own) if ood is None else _listed(ood), id_for=own, model=model, group=group, fit_on=fit_on,
        unit=unit,
    )  # fmt: skip
    return rows, checked


def _listed(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names)

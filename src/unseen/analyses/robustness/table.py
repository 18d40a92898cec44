"""A table of accuracies, models × test sets, read and checked for a fit of effective robustness."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.row_filter import row_filter
from unseen.analyses.robustness.units import Unit, detect_unit
from unseen.errors import UserError, did_you_mean, setting
from unseen.files import read_table

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
FitOn = str | Callable[["pd.DataFrame"], Any] | None
"""Models of the fit: an expression, or a function of the table that returns one boolean per row; None for all."""

GAPS = ("", "nan", "na", "<na>", "none")
"""Cells that mean a missing accuracy, in upper or lower case."""
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
MOST_LISTED = 12
UNGROUPED = "all models"
NO_GROUP = "none"
ON = "-on-"
"""Separator in the name of a column between its test set and its classes."""


@dataclass(frozen=True)
class ShiftTable:
    """The accuracies of models.

    Attributes:
        groups: group of each model.
        in_fit: (models,) whether a model is in the fit or only scored.
        id_sets: names of the k ID test sets in fits; an OOD test set may have each of them on its own classes.
        id_columns: OOD test set → the columns of its k ID test sets, in the order of `id_sets`.
        accuracy: (models,) fractions of each column; NaN for empty cells.
        unit: unit of the original table.
        without_group: models whose cell of the group is empty; they are of the group "none".
    """

    models: tuple[str, ...]
    groups: tuple[str, ...]
    in_fit: NDArray[np.bool_]
    id_sets: tuple[str, ...]
    ood_sets: tuple[str, ...]
    id_columns: Mapping[str, tuple[str, ...]]
    accuracy: Mapping[str, Array]
    unit: Unit
    without_group: tuple[str, ...] = ()

    @property
    def all_id_columns(self) -> tuple[str, ...]:
        """The ID columns of all OOD test sets, each once."""
        return tuple(dict.fromkeys(name for columns in self.id_columns.values() for name in columns))

    @property
    def test_sets(self) -> tuple[str, ...]:
        """All columns, each once."""
        return (*self.all_id_columns, *self.ood_sets)

    def fraction(self, value: float) -> float:
        """A number in the unit of the table as a fraction."""
        return value / 100 if self.unit == "percent" else value


def read_accuracies(path: Path) -> "pd.DataFrame":
    """Read a CSV file with a header, every cell as text."""
    import pandas as pd

    rows = [row for _, row in read_table(path, [])]
    if not rows:
        raise UserError(f"{path}: has a header but no models; add one row per model")
    return pd.DataFrame(rows, dtype=object)


def shift_table(
    table: "pd.DataFrame",
    id_sets: Sequence[str],
    ood_sets: Sequence[str],
    *,
    id_for: Mapping[str, Sequence[str]] | None = None,
    id_names: Sequence[str] = (),
    model: str = "model",
    group: str | None = None,
    fit_on: FitOn = None,
    unit: Unit | None = None,
) -> ShiftTable:
    """The columns of a table that a study needs, as fractions.

    Args:
        table: one row per model; cells may be text.
        id_sets: columns of the ID test sets, for every OOD test set that is not in `id_for`.
        id_for: OOD test set → its own ID columns, equally many for each and in the same order: the same ID test sets on
            the classes of that OOD test set.
        id_names: names of the ID test sets; by default the common part of the columns at each position.
        model, group: columns of names and of groups.
        unit: unit of the accuracies; by default it is detected, and ambiguous numbers are refused.
    """
    columns = [str(name) for name in table.columns]
    if not ood_sets or not (id_sets or id_for):
        raise UserError(f"a fit needs at least one ID test set and one OOD test set; {_listed(columns)}")
    id_columns = _id_columns(id_sets, ood_sets, id_for or {})
    wanted = dict.fromkeys([*(name for own in id_columns.values() for name in own), *ood_sets])
    for name in (model, *([group] if group else []), *wanted):
        if name not in columns:
            raise UserError(f"the table has no column '{name}'{did_you_mean(name, columns) or '; ' + _listed(columns)}")
    if len(set(columns)) < len(columns):
        raise UserError("a column name occurs twice in the table")
    models = _models([_text(cell) for cell in table[model]])
    numbers = {name: _numbers(name, models, [_text(cell) for cell in table[name]]) for name in wanted}
    found = unit or detect_unit(numbers, models)
    named = [_text(cell) for cell in table[group]] if group else [UNGROUPED] * len(models)
    _check_range(numbers, models, found)
    return ShiftTable(
        models=models,
        groups=tuple(name or NO_GROUP for name in named),
        in_fit=_in_fit(table, fit_on, columns),
        id_sets=tuple(id_names) or _id_names(id_columns),
        ood_sets=tuple(ood_sets),
        id_columns=id_columns,
        accuracy={name: values / 100 if found == "percent" else values for name, values in numbers.items()},
        unit=found,
        without_group=tuple(name for name, of in zip(models, named, strict=True) if not of),
    )


def _listed(columns: Sequence[str]) -> str:
    """The columns of a table, in words."""
    more = f" and {len(columns) - MOST_LISTED} more" if len(columns) > MOST_LISTED else ""
    return f"the columns of the table are {', '.join(columns[:MOST_LISTED])}{more}"


def _id_columns(
    id_sets: Sequence[str], ood_sets: Sequence[str], id_for: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """OOD test set → the columns of its ID test sets, checked."""
    unknown = next((name for name in id_for if name not in ood_sets), None)
    if unknown is not None:
        raise UserError(
            f"ID test sets are given for '{unknown}', which is not an OOD test set{did_you_mean(unknown, ood_sets)}"
        )
    found = {ood: tuple(id_for.get(ood, id_sets)) for ood in ood_sets}
    without = next((ood for ood, columns in found.items() if not columns), None)
    if without is not None:
        raise UserError(f"'{without}' has no ID test set; a fit needs at least one")
    for columns in found.values():
        names = [*columns, *ood_sets]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UserError(f"the test set '{twice}' is named twice; each is either ID or OOD, once")
    first, *others = found
    odd = next((ood for ood in others if len(found[ood]) != len(found[first])), None)
    if odd is not None:
        raise UserError(
            f"'{first}' has {len(found[first])} ID test sets and '{odd}' {len(found[odd])}; give equally many for each "
            "OOD test set, or fit them separately"
        )
    return found


def _id_names(id_columns: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The common part of the columns at each position: their name, or that of their test set on different classes."""
    places = [dict.fromkeys(columns) for columns in zip(*id_columns.values(), strict=True)]
    test_sets = [{name.partition(ON)[0] for name in columns} for columns in places]
    alike = [
        next(iter(names)) if len(names) == 1 else " / ".join(of) for names, of in zip(test_sets, places, strict=True)
    ]
    whole = [" / ".join(columns) for columns in places]
    # With a single OOD test set, or the same columns for all, the names are not shortened.
    return tuple(whole if len(set(alike)) < len(alike) or all(len(of) == 1 for of in places) else alike)


def _models(names: Sequence[str]) -> tuple[str, ...]:
    seen = dict[str, int]()
    for row, name in enumerate(names, start=1):
        if not name:
            raise UserError(f"row {row} of the table has no model name")
        if name in seen:
            raise UserError(f"the model '{name}' is in rows {seen[name]} and {row} of the table; keep one of them")
        seen[name] = row
    return tuple(names)


def _text(cell: object) -> str:
    """A cell as text, empty if it is missing; a model or a group may be named NA."""
    import pandas as pd

    return "" if pd.isna(cell) else str(cell).strip()


def _numbers(name: str, models: Sequence[str], cells: Sequence[str]) -> Array:
    values = np.full(len(cells), np.nan)
    for row, (model, cell) in enumerate(zip(models, cells, strict=True)):
        try:
            values[row] = np.nan if cell.lower() in GAPS else float(cell)
        except ValueError:
            hint = "; write decimals with a point" if DECIMAL_COMMA.fullmatch(cell) else ""
            raise UserError(f"'{cell}' of model '{model}' in column '{name}' is not a number{hint}") from None
    if np.isnan(values).all():
        raise UserError(f"no model has an accuracy in column '{name}'")
    return values


def _check_range(numbers: Mapping[str, Array], models: Sequence[str], unit: Unit) -> None:
    top = 100 if unit == "percent" else 1
    for name, values in numbers.items():
        wrong = np.flatnonzero((values < 0) | (values > top))
        if len(wrong):
            value, model = float(values[wrong[0]]), models[wrong[0]]
            raise UserError(f"{value:g} of model '{model}' in column '{name}' is not an accuracy from 0 to {top}")


def _in_fit(table: "pd.DataFrame", fit_on: FitOn, columns: list[str]) -> NDArray[np.bool_]:
    if fit_on is None:
        return np.ones(len(table), dtype=np.bool_)
    if isinstance(fit_on, str):
        test = row_filter(fit_on, columns)
        cells = [[_text(cell) for cell in table[name]] for name in table.columns]
        mask = np.array([test(dict(zip(columns, row, strict=True))) for row in zip(*cells, strict=True)])
    else:
        mask = np.asarray(fit_on(table))
        if mask.shape != (len(table),) or mask.dtype != np.bool_:
            raise UserError(f"fit_on must return one boolean per row, not {mask.dtype} of shape {mask.shape}")
    if not mask.any():
        raise UserError(f"no model of the table is selected for the fit; change the selection ({setting('fit-on')})")
    return mask

"""The parts of a plan as one table that fits into a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unseen.files import byte_size
from unseen.studies.plan import UNITS, Cell, Unit

SAME = {"domain": "data set", "test set": "data set", "model": "backbone"}
"""Columns of some inputs that mean the same as those of others."""
NAMES = ("data set", "backbone", "probe", "seed", "split")
"""Columns that every table may have; what is to be done is written into one more, if columns differ or do not fit."""
BETWEEN = 2
"""Spaces between columns."""


@dataclass(frozen=True)
class PlanTable:
    """A table; `numbers` are the columns with numbers only."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[str] = ()

    @property
    def width(self) -> int:
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        return sum(widths) + BETWEEN * (len(widths) - 1)


def plan_table(parts: Sequence[Mapping[str, Cell]], width: int) -> PlanTable:
    """One row per part: one column per number if the parts of all inputs have the same and the lines are short enough.

    Otherwise the numbers are in one column, `train 60, test 60, trainings left 3`, which can be folded.

    Args:
        width: characters in a line of the terminal.
    """
    columns = list(parts[0])
    if all(list(part) == columns for part in parts):
        numbers = [column for column in columns if not isinstance(parts[0][column], str)]
        rows = [[cell_text(part[column], UNITS.get(column)) for column in columns] for part in parts]
        if (wide := PlanTable(columns, rows, numbers)).width <= width:
            return wide
    named = [{SAME.get(column, column): cell for column, cell in part.items()} for part in parts]
    names = [name for name in NAMES if any(name in part for part in named)]
    rows = [
        [
            *(cell_text(part[name]) if name in part else "" for name in names),
            ", ".join(
                f"{column} {cell_text(cell, UNITS.get(column))}" for column, cell in part.items() if column not in NAMES
            ),
        ]
        for part in named
    ]
    return PlanTable([*names, "work"], rows, ["seed"])


def cell_text(cell: Cell, unit: Unit | None = None) -> str:
    """A cell with its unit."""
    if isinstance(cell, str):
        return cell
    if unit == "share":
        return f"{cell:.0%}"
    return byte_size(int(cell)) if unit == "bytes" else f"{cell:,}"

"""Detection of the unit of a table of accuracies: percent or fractions.

A number above 1 is a percentage. A number of at most 1 may be either: half of the images, or half a percent of them. So
the unit is detected only if every test set and every model has a number above 1, or none has. Otherwise the user must
state it, since both readings of a model lie near the same line, and a fit would not reveal a wrong one.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, names_of, setting

Array = NDArray[np.float64]
Unit = Literal["percent", "fraction"]


def detect_unit(numbers: Mapping[str, Array], models: Sequence[str]) -> Unit:
    """The unit of accuracies by test set, with NaN for empty cells; ambiguous tables are refused."""
    everything = np.column_stack(list(numbers.values()))
    if not (everything > 1).any():
        return "fraction"
    _check_columns(numbers)
    _check_rows(everything, models)
    return "percent"


def _check_columns(numbers: Mapping[str, Array]) -> None:
    highest = {name: float(np.nanmax(values)) for name, values in numbers.items()}
    small = [name for name, value in highest.items() if value <= 1]
    if small:
        large = max(highest, key=lambda name: highest[name])
        raise UserError(f"'{large}' is in percent but no accuracy on '{small[0]}' is above 1: {_remedy()}")


def _check_rows(everything: Array, models: Sequence[str]) -> None:
    """Every model must have a number above 1; a model with only empty cells and zeros is the same in both units."""
    highest = np.nanmax(everything, axis=1, initial=0)
    percent = [model for model, value in zip(models, highest, strict=True) if value > 1]
    unclear = [model for model, value in zip(models, highest, strict=True) if 0 < value <= 1]
    if not unclear:
        return
    few, what = (percent, "an accuracy") if len(percent) < len(unclear) else (unclear, "no accuracy")
    raise UserError(
        f"percentages and fractions may be mixed: {len(few)} of {len(percent) + len(unclear)} models have {what} above "
        f"1, unlike the others ({names_of(few)}); {_remedy()}"
    )


def _remedy() -> str:
    percent = setting("unit", "percent")
    return f"use {percent} if every number is a percentage; otherwise convert the table to one unit"

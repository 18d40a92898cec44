"""Whether a table of accuracies is in percent or in fractions, and what cannot be told from its numbers.

A number above 1 is a percentage. One that is not above 1 may be either: half the images right, or half a percent of
them. So a unit is detected only where every test set and every model has a percentage, or none has. Anything else is
for the user to say, as both readings of a model lie near the same line and a fit would not give a wrong one away.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, names_of

Array = NDArray[np.float64]
Unit = Literal["percent", "fraction"]
REMEDY = "say --unit percent (unit='percent') if every number is a percentage; otherwise bring the table to one unit"


def detect_unit(numbers: Mapping[str, Array], models: Sequence[str]) -> Unit:
    """The unit of a table's accuracies by test set, NaN for gaps; refused where they do not tell it."""
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
        raise UserError(f"'{large}' is in percent but no accuracy on '{small[0]}' is above 1: {REMEDY}")


def _check_rows(everything: Array, models: Sequence[str]) -> None:
    """Every model must have a percentage; one that has only gaps and zeros is the same in both units."""
    highest = np.nanmax(everything, axis=1, initial=0)
    percent = [model for model, value in zip(models, highest, strict=True) if value > 1]
    unclear = [model for model, value in zip(models, highest, strict=True) if 0 < value <= 1]
    if not unclear:
        return
    few, what = (percent, "an accuracy") if len(percent) < len(unclear) else (unclear, "no accuracy")
    raise UserError(
        f"percentages and fractions may be mixed: {len(few)} of {len(percent) + len(unclear)} models have {what} above "
        f"1, unlike the others ({names_of(few)}); {REMEDY}"
    )

"""What can predict the OOD accuracy of models: accuracies, estimates of accuracy, and other measures, by model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.table import GAPS, ShiftTable
from unseen.errors import UserError, did_you_mean
from unseen.text.words import counted

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
NOTHING = "(no predictor)"
"""The mean of the other models, on the scale of the fit: what every predictor has to beat."""
ENOUGH = 0.5
"""Share of the models that a measure must have to be compared; otherwise too few models would be left for all."""


@dataclass(frozen=True, eq=False)
class Known:
    """A number of each model.

    Attributes:
        values: OOD test set → (models,), NaN where unknown; the same for all, or measured on the classes of each.
    """

    name: str
    values: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Measure(Known):
    """A number other than an accuracy, which is fitted as it is."""


@dataclass(frozen=True, eq=False)
class Estimated(Known):
    """An estimate of OOD accuracy that uses no OOD labels, so that nothing is fitted."""


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known of the models of a table beside accuracies.

    Attributes:
        notices: sentences about what could not be measured.
    """

    measures: Sequence[Measure] = ()
    estimates: Sequence[Estimated] = ()
    notices: Sequence[str] = ()


@dataclass(frozen=True)
class Candidate:
    """A predictor, or several together.

    Attributes:
        id_sets: ID test sets whose accuracies are columns of the fit; `measures` and `estimates` those by name.
        as_it_is: whether its only estimate is the prediction, without a fit.
    """

    name: str
    id_sets: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    estimates: tuple[str, ...] = ()
    as_it_is: bool = False


def candidates(id_sets: Sequence[str], columns: Columns) -> list[Candidate]:
    """Every predictor alone, all ID test sets together, accuracy with each of the others, and everything."""
    ids = tuple(id_sets)
    measures = tuple(each.name for each in columns.measures)
    estimates = tuple(each.name for each in columns.estimates)
    found = [Candidate(name, (name,)) for name in ids]
    found += [Candidate(_joined(ids), ids)] if len(ids) > 1 else []
    found += [Candidate(name, estimates=(name,), as_it_is=True) for name in estimates]
    found += [Candidate(name, measures=(name,)) for name in measures]
    found += [Candidate(_joined((*ids, name)), ids, measures=(name,)) for name in measures]
    # An estimate along the line of agreement is a function of the first ID accuracy, which it takes the place of.
    last = estimates[-1:]
    found += [Candidate(_joined((*last, name)), estimates=last, measures=(name,)) for name in measures if last]
    found += [Candidate(_joined((*ids, *measures)), ids, measures)] if len(measures) > 1 else []
    return [*found, Candidate(NOTHING)]


def _joined(names: Sequence[str]) -> str:
    return " + ".join(names)


def usable_columns(columns: Columns, table: ShiftTable) -> tuple[Columns, list[str]]:
    """The columns without measures that few models have or that are constant, and a sentence about each of those."""
    told = list(columns.notices)

    def kept(each: Known) -> bool:
        known = {ood: np.isfinite(values[table.in_fit]) for ood, values in each.values.items()}
        share = min(float(of.mean()) for of in known.values())
        if share < ENOUGH:
            told.append(f"{each.name} is not compared: only {share:.0%} of the models have it.")
        elif any(np.ptp(each.values[ood][table.in_fit][of]) == 0 for ood, of in known.items()):
            told.append(f"{each.name} is not compared: it is the same for all models.")
        else:
            lacking = int((~np.array([*known.values()])).any(axis=0).sum())
            if lacking:
                verb = "is" if lacking == 1 else "are"
                told.append(f"{counted(lacking, 'model')} without {each.name} cannot be compared and {verb} left out.")
            return True
        return False

    return Columns([*filter(kept, columns.measures)], [*filter(kept, columns.estimates)]), told


def measures_of_table(frame: "pd.DataFrame", names: Sequence[str], table: ShiftTable) -> Iterator[Measure]:
    """Columns of a table of accuracies that are other measures of the models; empty cells are unknown.

    Args:
        table: the same table as it is fitted, whose test sets cannot be measures too.
    """
    import pandas as pd

    headers = [str(name) for name in frame.columns]
    for name in names:
        if name in table.ood_sets:
            raise UserError(
                f"'{name}' is an OOD test set, whose accuracies are predicted; leave it out of the measures"
            )
        if name in (*table.all_id_columns, *table.id_sets):
            raise UserError(f"'{name}' is an ID test set, which predicts already; leave it out of the measures")
        if names.count(name) > 1:
            raise UserError(f"the measure '{name}' is named twice")
        if name not in headers:
            raise UserError(f"the table has no column '{name}'{did_you_mean(name, headers)}")
        cells = ["" if pd.isna(cell) else str(cell).strip() for cell in frame[name]]
        values = np.full(len(cells), np.nan)
        for row, cell in enumerate(cells):
            try:
                values[row] = np.nan if cell.lower() in GAPS else float(cell)
            except ValueError:
                raise UserError(f"'{cell}' in column '{name}' is not a number, so it cannot be a measure") from None
        if np.isinf(values).any():
            raise UserError(f"column '{name}' has infinite values; leave those cells empty")
        yield Measure(name, dict.fromkeys(table.ood_sets, values))


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of all candidates on the scale of the fit, for all OOD test sets.

    Attributes:
        columns: name → (T, n), NaN where unknown.
        target: (T, n) OOD accuracy on the scale of the fit, and `accuracy` as fractions.
        used: (T, n) the models that have everything that is compared.
    """

    ood_sets: tuple[str, ...]
    columns: Mapping[str, Array]
    target: Array
    accuracy: Array
    used: NDArray[np.bool_]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def of(self, candidate: Candidate) -> Array:
        """(T, n, k) columns of a candidate; unknown values are 0 in rows that are not used."""
        names = (*candidate.id_sets, *candidate.measures, *candidate.estimates)
        stacked = [np.where(self.used, self.columns[name], 0.0) for name in names]
        return np.stack(stacked, axis=2) if stacked else np.empty((*self.target.shape, 0))

    def among(self, places: Sequence[int], why: str) -> "Design":
        """Some of the OOD test sets; `why` the others are left out."""
        others = {ood: f"{ood}: {why}" for place, ood in enumerate(self.ood_sets) if place not in places}
        return Design(
            tuple(self.ood_sets[place] for place in places),
            {name: values[places] for name, values in self.columns.items()},
            self.target[places], self.accuracy[places], self.used[places], {**self.left_out, **others},
        )  # fmt: skip

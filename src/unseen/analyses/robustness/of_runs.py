"""Runs of shifts as tables for fits: several runs combined, with their ID and OOD columns.

Test sets record whether they are shifted, and columns record their classes. An OOD column is fitted on the columns of
unshifted test sets on the same classes: `imagenet-r` on `val-on-imagenet-r-classes`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.analyses.core.comparable import Comparable
from unseen.analyses.core.comparables import Comparables, comparables
from unseen.analyses.robustness.fit_scores import fit_scores
from unseen.analyses.robustness.fits import ShiftSettings, ShiftStudy, study_shifts
from unseen.analyses.robustness.table import ShiftTable, shift_table
from unseen.data.registry import DATASETS
from unseen.errors import UserError, call, did_you_mean, on_command_line, setting
from unseen.metrics.leaders import clear_leader
from unseen.runs.data import RunData
from unseen.runs.merge import merge_runs
from unseen.runs.record import read_with_results
from unseen.runs.results import Result
from unseen.runs.score import Score
from unseen.runs.scores import results_on
from unseen.studies.shifts.accuracies import Facts, facts_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RunTable:
    """Accuracies of the models of runs; `columns` describes each column."""

    data: RunData
    columns: Mapping[str, Facts]

    def accuracies(self, column: str) -> dict[str, float]:
        """Model → its accuracy in a column."""
        return {score.backbone: score.value for score in self.data.scores if score.domain == column}

    def leader(self, column: str) -> str | None:
        """The model that is more accurate than all others beyond chance; None if there is no such model.

        Models are compared on the same images if their results keep which are right, and else by their number.
        """
        accuracies, each = self.accuracies(column), self.comparable(column)
        if each is not None and {*each.kept} == {*accuracies} and len(accuracies) > 1:
            return each.standings.winner
        return clear_leader(accuracies, self.columns[column].images)

    def comparable(self, column: str) -> Comparable | None:
        """The models on the same images of a column with what their results keep of each; None if they keep nothing."""
        return next((each for each in self._every.every if each.place.dataset == column), None)

    def left_out(self, column: str) -> dict[str, str]:
        """Model → why what its result on a column keeps of each image cannot be used."""
        return {each.backbone: each.reason for each in self._every.left_out if each.place.dataset == column}

    @cached_property
    def _every(self) -> Comparables:
        return comparables(self.data)

    def to_frame(self) -> "pd.DataFrame":
        """One row per model: `model`, `group`, and a fraction for each column, or an empty cell."""
        import pandas as pd

        cells = {(score.backbone, score.domain): score.value for score in self.data.scores}
        return pd.DataFrame(
            [
                {
                    "model": each.name,
                    "group": each.category,
                    **{name: cells.get((each.name, name)) for name in self.columns},
                }
                for each in self.data.backbones
            ]
        )


@dataclass(frozen=True)
class RunFits:
    """The possible fits of runs; `notices` explains why other OOD columns have none.

    Attributes:
        fitted_on: OOD column → its ID columns.
    """

    studies: Sequence[ShiftStudy]
    fitted_on: Mapping[str, Sequence[str]]
    notices: Sequence[str] = ()


def open_runs(folders: Sequence[Path]) -> RunTable:
    """The shifted and unshifted test sets of the runs in some folders, and the results on them."""
    runs = list[tuple[str, RunData, Sequence[Result]]]()
    for folder in folders:
        whole, results = read_with_results(folder)
        data = whole.on_axes("shifts")
        runs.append((folder.resolve().name, data, results_on(data, results)))
    return table_of_runs(runs)


def table_of_runs(runs: Sequence[tuple[str, RunData, Sequence[Result]]]) -> RunTable:
    """Combine named runs with their results into one table; equal columns must have the same images and classes.

    If a model is another classifier in a later run, the name of that run is appended to its name.
    """
    columns, first = dict[str, Facts](), dict[str, str]()
    for name, _, results in runs:
        for result in results:
            column, facts = result.job["dataset"], facts_of(result)
            if columns.setdefault(column, facts) != facts:
                raise UserError(
                    f"{first[column]} and {name}: '{column}' has different images or classes in both; report them "
                    "separately"
                )
            first.setdefault(column, name)
    data = merge_runs([(name, run) for name, run, _ in runs])
    in_order = {each.name: columns[each.name] for each in data.domains if each.name in columns}
    if not in_order:
        raise UserError(f"{', '.join(name for name, _, _ in runs)}: no results yet; finish the run")
    return RunTable(data, in_order)


def fit_chosen(runs: RunTable, id_sets: Sequence[str], ood_sets: Sequence[str]) -> RunFits:
    """The fit of chosen columns, or a notice about why it is not possible.

    Without chosen ID columns they are those of unshifted test sets, without chosen OOD columns those of shifted ones.
    """
    for name in (*id_sets, *ood_sets):
        if name not in runs.columns:
            hint = did_you_mean(name, runs.columns) or f"; choose from {', '.join(runs.columns)}"
            raise UserError(f"no column '{name}' in these runs{hint}")
    others = [name for name in runs.columns if name not in {*id_sets, *ood_sets}]
    id_sets = id_sets or [name for name in others if not _shifted(runs, name)]
    ood_sets = ood_sets or [name for name in others if _shifted(runs, name)]
    sizes = {name: runs.columns[name].images for name in (*id_sets, *ood_sets)}
    table = _table(runs, runs.to_frame(), id_sets, ood_sets)
    notices = list(_other_classes(runs, id_sets, ood_sets))
    try:
        study = study_shifts(table, ShiftSettings(sizes=sizes))
    except UserError as error:
        return RunFits([], {}, [*notices, f"No fit of {', '.join(ood_sets)}: {error}."])
    return RunFits([study], dict.fromkeys(ood_sets, id_sets), notices)


def _other_classes(runs: RunTable, id_sets: Sequence[str], ood_sets: Sequence[str]) -> Iterator[str]:
    """Notices about ID columns on other classes than an OOD column, with the column to use instead if there is one."""
    for ood in ood_sets:
        of = runs.columns[ood]
        for name in id_sets:
            if runs.columns[name].digest != of.digest:
                same = [
                    other
                    for other, facts in runs.columns.items()
                    if (facts.test_set, facts.digest) == (runs.columns[name].test_set, of.digest)
                ]
                hint = f"; {same[0]} has the same ones" if same else f" ({_with_classes(ood)})"
                yield f"{name} has other classes than {ood}{hint}."


def fit_runs(runs: RunTable) -> RunFits:
    """A fit for every OOD column with ID columns on the same classes; those with the same ID test sets are one study.

    In a fit, an ID column has the name of its test set, and is on the classes of each OOD column.
    """
    frame = runs.to_frame()
    found, notices = dict[tuple[str, ...], list[ShiftStudy]](), list[str]()
    fitted_on = dict[str, Sequence[str]]()
    shifted = [name for name in runs.columns if _shifted(runs, name)]
    if len(shifted) == len(runs.columns):
        return RunFits([], {}, [_no_id()])
    for ood in shifted:
        of = runs.columns[ood]
        ids = {
            facts.test_set: name
            for name, facts in runs.columns.items()
            if not _shifted(runs, name) and facts.digest == of.digest
        }
        if not ids:
            notices.append(
                f"{ood} has no fit: no in-distribution test set was scored on the same classes ({_with_classes(ood)})."
            )
            continue
        sizes = {name: runs.columns[name].images for name in (ood, *ids.values())}
        try:
            table = _table(runs, frame, list(ids.values()), [ood], id_names=list(ids))
            study = study_shifts(table, ShiftSettings(sizes=sizes))
        except UserError as error:
            notices.append(f"{ood} has no fit: {error}.")
        else:
            found.setdefault(tuple(ids), []).append(study)
            fitted_on[ood] = list(ids.values())
    studies = [_together(of) for of in found.values()]
    return RunFits(sorted(studies, key=lambda study: -len(study.fits)), fitted_on, notices)


def scores_of_runs(runs: RunTable) -> tuple[list[Score], Sequence[str]]:
    """Accuracies on OOD columns, effective robustness if there are fits, and notices about the fits."""
    fits = fit_runs(runs)
    if fits.studies:
        return fit_scores(fits.studies), fits.notices
    return [score for score in runs.data.scores if _shifted(runs, score.domain)], fits.notices


def _no_id() -> str:
    return (
        "No fit of effective robustness: no test set of these runs is marked as in-distribution. Name one with "
        f"{call('report', 'id')}, or describe it in a TOML file with shifted = false."
    )


def _with_classes(column: str) -> str:
    classes = setting("classes", column)
    return f"unseen run shifts {classes}" if on_command_line() else f"unseen.study('shifts', {classes})"


def _shifted(runs: RunTable, column: str) -> bool:
    """Whether a column is OOD; for runs of earlier versions, this is looked up by the published test set."""
    said = next(each.shifted for each in runs.data.domains if each.name == column)
    test_set = runs.columns[column].test_set
    return said if said is not None else test_set not in DATASETS or DATASETS[test_set].shifted is not False


def _table(
    runs: RunTable,
    frame: "pd.DataFrame",
    id_sets: Sequence[str],
    ood_sets: Sequence[str],
    *,
    id_names: Sequence[str] = (),
) -> ShiftTable:
    group = "group" if any(each.category for each in runs.data.backbones) else None
    return shift_table(frame, id_sets, ood_sets, id_names=id_names, group=group, unit="fraction")


def _together(studies: Sequence[ShiftStudy]) -> ShiftStudy:
    """Combine studies of one OOD test set each, with the same ID test sets."""
    first, tables = studies[0], [study.table for study in studies]
    table = replace(
        first.table,
        ood_sets=tuple(name for table in tables for name in table.ood_sets),
        id_columns={ood: columns for table in tables for ood, columns in table.id_columns.items()},
        accuracy={name: values for table in tables for name, values in table.accuracy.items()},
    )
    sizes = {name: size for study in studies for name, size in study.settings.sizes.items()}
    fits = tuple(fit for study in studies for fit in study.fits)
    return ShiftStudy(table, replace(first.settings, sizes=sizes), fits)

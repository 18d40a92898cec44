"""`unseen shifts predictors`: what predicts the accuracy of other models on shifted test sets."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.output import console, note, print_table
from unseen.cli.settings import setting_option
from unseen.cli.shifts.options import (
    IdForOption,
    PredictorKeys,
    choose_method,
    choose_minimum,
    choose_sizes,
    read_shift_table,
)
from unseen.errors import UserError
from unseen.reading.keys import with_texts
from unseen.text.words import p_text, signed

if TYPE_CHECKING:
    from unseen.analyses.robustness.predictors import PredictorStudy

MOST_SINGLE = 12
"""OOD test sets up to which each has its rows; of more, only the averages are printed."""


def predictors(
    table: Annotated[
        Path, typer.Argument(help="CSV file of accuracies, one row per model, or the folder of a run of shifts.")
    ],
    id_: Annotated[list[str] | None, typer.Option("--id", help="ID test sets of a table: columns.")] = None,
    ood: Annotated[list[str] | None, typer.Option(help="OOD test sets of a table: columns.")] = None,
    id_for: IdForOption = None,
    settings: Annotated[list[str] | None, setting_option(PredictorKeys)] = None,
    out: Annotated[Path | None, typer.Option(help="CSV file for all errors, differences and intervals.")] = None,
) -> None:
    """Compare what predicts the accuracy of held-out models on OOD test sets.

    In-distribution accuracy, several ID test sets, agreement, severity of mistakes and other measures, alone and
    together. The page of a run of shifts shows the same.
    """
    from unseen.analyses.robustness.predictor_words import statements

    keys = with_texts(PredictorKeys(), settings or ())
    if table.is_dir():
        if id_ or ood or id_for or keys != PredictorKeys(held_out=keys.held_out, hierarchy=keys.hierarchy):
            raise UserError("a run has its own test sets and models; of a run only held-out and hierarchy can be set")
        study, told = _of_run(table, keys)
    else:
        study, told = _of_table(table, id_ or (), ood or (), id_for or (), keys)
    _print(study)
    for sentence in statements(study):
        console().print(sentence)
    for sentence in (*told, *study.notices, *study.left_out.values()):
        note(sentence)
    if out:
        study.to_frame().to_csv(out, index=False)
        note(f"Wrote {out}.")


def _of_run(folder: Path, keys: PredictorKeys) -> "tuple[PredictorStudy, list[str]]":
    from unseen.analyses.robustness.predictors_of_runs import predictors_of_folder

    found = predictors_of_folder(folder, hierarchy=keys.hierarchy, held_out=keys.held_out)
    if found.study is None:
        raise UserError(found.why_not)
    return found.study, [*found.notices, *(f"Hierarchy of {each.column}: {each.source}." for each in found.severities)]


def _of_table(
    path: Path, ids: Sequence[str], oods: Sequence[str], id_for: Sequence[str], keys: PredictorKeys
) -> "tuple[PredictorStudy, list[str]]":
    from unseen.analyses.robustness.fits import ShiftSettings
    from unseen.analyses.robustness.predictor_columns import Columns, measures_of_table
    from unseen.analyses.robustness.predictors import compare_predictors
    from unseen.analyses.robustness.table import read_accuracies

    if keys.hierarchy != PredictorKeys().hierarchy:
        raise UserError("a table has no predictions, so hierarchy is of no use; give the folder of a run")
    checked = read_shift_table(path, ids, oods, keys, id_for=id_for)
    found = ShiftSettings(
        method=choose_method(keys),
        minimum=choose_minimum(keys.min_id, checked.all_id_columns),
        sizes=choose_sizes(keys.sizes, checked.test_sets),
    )
    measures = [*measures_of_table(read_accuracies(path), keys.measures, checked)] if keys.measures else []
    study = compare_predictors(checked, found, Columns(measures), held_out=keys.held_out)
    return study, [f"Accuracies were read as {checked.unit}."]


def _print(study: "PredictorStudy") -> None:
    columns = ["OOD test set", "predictor", "error", "95% interval", "difference", "95% interval", "p (Holm)"]
    single = len(study.ood_sets) - 1 > MOST_SINGLE
    rows = []
    for score in study.overall if single else study.scores:
        error, apart = score.error.interval(), score.difference and score.difference.interval()
        rows.append(
            [
                score.ood, score.candidate.name, f"{error.value:.2f}", f"{error.low:.2f} to {error.high:.2f}",
                signed(apart.value, 2) if apart else "",
                f"{signed(apart.low, 2)} to {signed(apart.high, 2)}" if apart else "",
                "" if score.p_holm is None else p_text(score.p_holm),
            ]
        )  # fmt: skip
    held = "groups" if study.held_out == "groups" else "models"
    title = f"Errors on held-out {held} in percentage points, and differences from the first predictor"
    print_table(title, columns, rows, right=columns[2:])

"""`unseen shifts`: effective robustness under shifts of distribution."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.output import console, note, print_table
from unseen.cli.running import REPORT, ExportOption, write_export
from unseen.cli.settings import setting_option
from unseen.cli.shifts import models, training
from unseen.cli.shifts.captions import captions
from unseen.cli.shifts.options import (
    FitKeys,
    IdForOption,
    PairKeys,
    TableArgument,
    choose_method,
    choose_minimum,
    choose_sizes,
    other_classes,
    read_shift_table,
)
from unseen.cli.shifts.predictors import predictors
from unseen.cli.shifts.results import print_study
from unseen.cli.shifts.subsets import subsets
from unseen.reading.keys import with_texts

app = typer.Typer(help="Measure effective robustness to distribution shifts.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    pass


@app.command()
def fit(
    table: TableArgument,
    out: Annotated[Path, typer.Option(help="Folder for fit.json, models.csv, groups.csv and report.html.")],
    id_: Annotated[list[str] | None, typer.Option("--id", help="ID test sets: columns.")] = None,
    ood: Annotated[list[str] | None, typer.Option(help="OOD test sets: columns.")] = None,
    id_for: IdForOption = None,
    settings: Annotated[list[str] | None, setting_option(FitKeys)] = None,
    export: ExportOption = None,
) -> None:
    """Fit effective robustness to a table of accuracies.

    Out-of-distribution (OOD) accuracy is fitted on in-distribution (ID) accuracies; effective robustness is the
    accuracy above that fit.
    """
    from unseen.analyses.robustness.fits import ShiftSettings, study_shifts
    from unseen.analyses.robustness.notes import notes
    from unseen.report.shifts.files import write_study
    from unseen.report.shifts.findings import MOST_NAMED, extremes
    from unseen.report.shifts.page import shift_page

    keys = with_texts(FitKeys(), settings or ())
    checked = read_shift_table(table, id_ or (), ood or (), keys, id_for=id_for or ())
    shift_settings = ShiftSettings(
        method=choose_method(keys),
        minimum=choose_minimum(keys.min_id, checked.all_id_columns),
        sizes=choose_sizes(keys.sizes, checked.test_sets),
        resamples=keys.resamples,
        seed=keys.seed,
    )
    study = study_shifts(checked, shift_settings)
    page = write_study(study, out, source=table.name, fit_on=keys.fit_on)
    print_study(study)
    for panel in page.panels[:MOST_NAMED]:
        console().print(extremes(panel))
    told = [f"Accuracies were read as {checked.unit}.", *other_classes(keys.sizes, checked), *notes(study)]
    for sentence in (*told, f"Report: {out / REPORT}"):
        note(sentence)
    if export:
        write_export(shift_page(page), export)


@app.command()
def pairs(
    table: TableArgument,
    id_: Annotated[list[str], typer.Option("--id", help="ID test sets to choose from: columns.")],
    ood: Annotated[str, typer.Option(help="OOD test set to predict: a column.")],
    settings: Annotated[list[str] | None, setting_option(PairKeys)] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of pairs to print.")] = 10,
) -> None:
    """Rank pairs of ID test sets by how well they predict an OOD test set (leave-one-out error).

    Only models with all accuracies are used.
    """
    from unseen.analyses.robustness.fits import ShiftSettings
    from unseen.analyses.robustness.pairs import rank_pairs

    keys = with_texts(PairKeys(), settings or ())
    checked = read_shift_table(table, id_, [ood], keys)
    shift_settings = ShiftSettings(
        method=choose_method(keys),
        minimum=choose_minimum(keys.min_id, checked.id_sets),
        sizes=choose_sizes(keys.sizes, checked.test_sets),
    )
    found = rank_pairs(checked, shift_settings)
    columns = ["ID test sets", "R²", "MAE", "leave-one-out MAE"]
    rows = [
        [" + ".join(one.fit.names), f"{one.fit.r2:.4f}", f"{one.fit.mae:.3f}",
         f"{one.held_out:.3f} ± {one.standard_error:.3f}"]
        for one in found.ranked[:top]
    ]  # fmt: skip
    many = len(found.ranked)
    console().print(f"{ood}: {many} pair{'s' if many > 1 else ''} on {found.ranked[0].fit.n} models")
    print_table("Errors in percentage points; ± is a standard error over models", columns, rows, right=columns[1:])
    for sentence in (f"Accuracies were read as {checked.unit}.", *found.notes):
        note(sentence)


@app.command()
def agreement(
    id_predictions: Annotated[
        Path, typer.Argument(help="Predictions on the ID test set: .npz with one array per model, and labels.")
    ],
    ood_predictions: Annotated[Path, typer.Argument(help="Predictions of the same models on the OOD test set.")],
) -> None:
    """Estimate OOD accuracy without OOD labels, from the agreement between models."""
    from unseen.analyses.robustness.agreement import study_agreement

    study = study_agreement(id_predictions, ood_predictions)
    found = study.line.fit
    console().print(
        f"{len(study.models)} models, {found.n} pairs. OOD agreement is a linear function of ID agreement: slope "
        f"{found.weights[0]:.3f}, intercept {found.intercept:.3f} (on probits), R² {found.r2:.4f}"
    )
    if study.left_out:
        note(f"Left out, because they have predictions on only one test set: {', '.join(study.left_out)}")
    if not study.line.trusted:
        note(
            "R² is below 0.95: agreement is not linear, so neither these estimates nor a fit of accuracies is reliable."
        )
    if not study.estimates:
        note("The ID file has no 'labels', so OOD accuracies cannot be estimated.")
        return
    columns = ["model", "ID", "OOD (line)", "OOD (refined)", "OOD (measured)"]
    rows = [
        [one.model, *(f"{100 * share:.1f}" if share is not None else "–" for share in
                      (one.id_accuracy, one.line, one.refined, one.ood_accuracy))]
        for one in study.estimates
    ]  # fmt: skip
    print_table("Accuracies in percent", columns, rows, right=columns[1:])


app.command("predictors")(predictors)
app.command("subsets")(subsets)
app.command("captions")(captions)
app.command("pool")(training.pool)
app.command("finetune")(training.finetune)
app.command("interpolate")(models.interpolate)
app.command("mapping")(models.show_mapping)

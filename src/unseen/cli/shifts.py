"""`unseen shifts`: effective robustness under shifts of distribution."""

from collections import Counter
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli import captions as caption_sets
from unseen.cli import shift_models
from unseen.cli.choices import choose, split_names
from unseen.cli.output import console, note, print_table
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.studies.shifts import ShiftStudy

MOST_DIGITS = 12
"""Of a number of images."""
app = typer.Typer(help="How models hold up under shifts of distribution.", no_args_is_help=True)
app.command("evaluate")(shift_models.evaluate)
app.command("sets")(shift_models.show_sets)
app.command("mapping")(shift_models.show_mapping)
app.command("interpolate")(shift_models.interpolate)
app.command("captions")(caption_sets.captions)


@app.callback()
def _group() -> None:
    pass


@app.command()
def fit(
    table: Annotated[Path, typer.Argument(help="CSV: a row a model, a column a test set, in percent or fractions.")],
    id_: Annotated[str, typer.Option("--id", help="In-distribution test sets: columns, with commas between.")],
    ood: Annotated[str, typer.Option(help="Shifted test sets: columns, with commas between.")],
    out: Annotated[Path, typer.Option(help="Folder for fit.json, models.csv and report.html.")],
    group: Annotated[str | None, typer.Option(help="Column of groups of models.")] = None,
    fit_on: Annotated[
        str, typer.Option(help='Models of the fit, e.g. "group in {a, b} and val >= 5"; the others are only scored.')
    ] = "",
    sizes: Annotated[str, typer.Option(help="Images of test sets: val=50000,imagenet-a=7500.")] = "",
    min_id: Annotated[str, typer.Option(help="Least ID accuracy, in the table's unit: 5, or val=5.")] = "",
    model: Annotated[str, typer.Option(help="Column of model names.")] = "model",
    unit: Annotated[str, typer.Option(help="percent, fraction, or detect.")] = "detect",
    scale: Annotated[str, typer.Option(help="logit, or probit.")] = "logit",
    loss: Annotated[str, typer.Option(help="squares, or huber, which minds outliers less.")] = "squares",
    resamples: Annotated[int, typer.Option(help="Of the models, for intervals.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Of the resamples.")] = 0,
) -> None:
    """Fit OOD accuracy on ID accuracies and score every model by what it has beyond that."""
    from unseen.metrics.accuracy_scales import LOGIT, PROBIT
    from unseen.metrics.robustness import Method
    from unseen.studies.shift_files import notes, write_study
    from unseen.studies.shift_table import read_accuracies, shift_table
    from unseen.studies.shifts import ShiftSettings, study_shifts

    known = choose("--unit", unit, ("percent", "fraction", "detect"))
    id_sets = split_names("--id", id_)
    checked = shift_table(
        read_accuracies(table), id_sets, split_names("--ood", ood), model=model, group=group, fit_on=fit_on or None,
        unit=None if known == "detect" else "percent" if known == "percent" else "fraction",
    )  # fmt: skip
    settings = ShiftSettings(
        method=Method(
            LOGIT if choose("--scale", scale, ("logit", "probit")) == "logit" else PROBIT,
            robust=choose("--loss", loss, ("squares", "huber")) == "huber",
        ),
        minimum=_minimum(min_id, id_sets),
        sizes={name: _whole(name, size) for name, size in _pairs("--sizes", sizes)},
        resamples=resamples,
        seed=seed,
    )
    study = study_shifts(checked, settings)
    write_study(study, out, source=table.name, fit_on=fit_on)
    _print(study)
    for sentence in (f"accuracies were read as {checked.unit}", *notes(study), f"written to {out}"):
        note(sentence)


@app.command()
def pairs(
    table: Annotated[Path, typer.Argument(help="CSV: a row a model, a column a test set.")],
    id_: Annotated[str, typer.Option("--id", help="ID test sets to choose from, with commas between.")],
    ood: Annotated[str, typer.Option(help="The shifted test set to predict.")],
    model: Annotated[str, typer.Option(help="Column of model names.")] = "model",
    top: Annotated[int, typer.Option(min=1, help="How many pairs to print.")] = 10,
) -> None:
    """Which two ID test sets best predict an OOD test set, by leave-one-out error on models that have them all."""
    from unseen.studies.shift_table import read_accuracies, shift_table
    from unseen.studies.shifts import rank_pairs

    checked = shift_table(read_accuracies(table), split_names("--id", id_), [ood], model=model)
    ranked, passed_over = rank_pairs(checked)
    columns = ["ID test sets", "R²", "MAE", "leave-one-out"]
    rows = [
        [" + ".join(found.fit.names), f"{found.fit.r2:.4f}", f"{found.fit.mae:.3f}",
         f"{found.held_out:.3f} ± {found.standard_error:.3f}"]
        for found in ranked[:top]
    ]  # fmt: skip
    console().print(f"{ood}: {len(ranked)} pair{'s' if len(ranked) > 1 else ''} on {ranked[0].fit.n} models")
    print_table("Errors in points", columns, rows, right=columns[1:])
    for pair, why in passed_over.items():
        note(f"passed over, {' + '.join(pair)}: {why}")


@app.command()
def agreement(
    id_predictions: Annotated[Path, typer.Argument(help="Predictions on the ID set: .npz, an array a model.")],
    ood_predictions: Annotated[Path, typer.Argument(help="Predictions of the same models on the OOD set.")],
) -> None:
    """Whether models agree along a line, and the OOD accuracy that tells of, without OOD labels."""
    from unseen.studies.shift_agreement import study_agreement

    study = study_agreement(id_predictions, ood_predictions)
    found = study.line.fit
    console().print(
        f"{len(study.models)} models, {found.n} pairs: OOD agreement is a line of ID agreement with slope "
        f"{found.weights[0]:.3f}, intercept {found.intercept:.3f} (probits) and R² {found.r2:.4f}"
    )
    if not study.line.trusted:
        note("R² is below 0.95: agreement is not on a line, so do not trust estimates, nor a fit of accuracies")
    if not study.estimates:
        note("no 'labels' in the ID file, so there are no ID accuracies to estimate OOD accuracies from")
        return
    columns = ["model", "ID", "OOD by the line", "OOD refined", "OOD in truth"]
    rows = [
        [one.model, *(f"{100 * share:.1f}" if share is not None else "–" for share in
                      (one.id_accuracy, one.line, one.refined, one.ood_accuracy))]
        for one in study.estimates
    ]  # fmt: skip
    print_table("Accuracies in percent", columns, rows, right=columns[1:])


def _pairs(option: str, text: str) -> list[tuple[str, str]]:
    pairs = []
    for part in text.split(",") if text else []:
        name, sign, value = part.rpartition("=")
        if not sign or not name.strip():
            raise UserError(f"{option} is name=number with commas between, and '{part}' is not")
        pairs.append((name.strip(), value.strip()))
    twice = next((name for name, count in Counter(name for name, _ in pairs).items() if count > 1), None)
    if twice is not None:
        raise UserError(f"{option} has '{twice}' twice")
    return pairs


def _whole(name: str, text: str) -> int:
    if not text.isdecimal() or len(text) > MOST_DIGITS or int(text) < 1:
        raise UserError(f"--sizes: '{text[:20]}' is not a number of images for '{name}'")
    return int(text)


def _minimum(text: str, id_sets: list[str]) -> dict[str, float]:
    """`5` is for every ID set, `val=5` for one."""
    pairs = _pairs("--min-id", text) if "=" in text else [(name, text) for name in id_sets if text]
    try:
        found = {name: float(value) for name, value in pairs}
    except ValueError:
        found = {text: nan}
    if not all(map(isfinite, found.values())):
        raise UserError(f"--min-id is a number, or name=number with commas between, not '{text}'")
    return found


def _print(study: "ShiftStudy") -> None:
    names = study.table.id_sets
    columns = ["OOD test set", "models", *names, "intercept", "R²", "MAE", "leave-one-out"]
    rows = [
        [
            found.ood, found.fit.n, *(f"{weight:.4f}" for weight in found.fit.weights), f"{found.fit.intercept:.4f}",
            f"{found.fit.r2:.4f}", f"{found.fit.mae:.3f}", f"{found.held_out.held_out:.3f}",
        ]
        for found in study.fits
    ]  # fmt: skip
    print_table(f"Weights on {study.settings.method.scale.name}s; errors in points", columns, rows, right=columns[1:])

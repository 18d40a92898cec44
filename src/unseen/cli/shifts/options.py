"""Options of the commands of `unseen shifts` that read a table of accuracies."""

from collections import Counter
from collections.abc import Collection, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.choices import choose, one_of, split_commas, split_names
from unseen.errors import UserError
from unseen.words import whole_number

if TYPE_CHECKING:
    from unseen.metrics.robustness import Method
    from unseen.studies.shifts.table import ShiftTable
    from unseen.studies.shifts.units import Unit

TableArgument = Annotated[
    Path,
    typer.Argument(
        help="CSV file of accuracies: one row per model, one column per test set, in percent or as fractions."
    ),
]
IdForOption = Annotated[
    list[str] | None,
    typer.Option(help="ID test sets for one OOD test set, instead of --id: ood=id1,id2. May be repeated."),
]
FitOnOption = Annotated[
    str,
    typer.Option(
        help='Models to fit on, such as "group in {a, b} and val >= 5"; the others are only scored. Default: all.'
    ),
]
SizesOption = Annotated[
    str,
    typer.Option(help="Number of images per test set: val=50000,a=7500, or the columns.csv of unseen shifts run."),
]
MinIdOption = Annotated[
    str, typer.Option(help="Minimum ID accuracy of the models of the fit, in the unit of the table: 5, or val=5.")
]
ModelOption = Annotated[str, typer.Option(help="Column of model names.")]
UnitOption = Annotated[
    str,
    one_of(
        "percent",
        "fraction",
        "detect",
        help="Unit of the accuracies; detect fails if the numbers are ambiguous.",
    ),
]
ScaleOption = Annotated[str, one_of("logit", "probit", help="Scale that accuracies are fitted on.")]
LossOption = Annotated[str, one_of("squares", "huber", help="Loss of the fit; huber is robust to outliers.")]


def read_shift_table(
    path: Path,
    id_: str,
    ood: str,
    *,
    model: str,
    unit: str,
    fit_on: str,
    group: str | None = None,
    id_for: Sequence[str] = (),
) -> "ShiftTable":
    """The columns of a table that options name."""
    from unseen.studies.shifts.table import read_accuracies, shift_table

    word = choose("--unit", unit, ("percent", "fraction", "detect"))
    known: Unit | None = None if word == "detect" else "percent" if word == "percent" else "fraction"
    rows = read_accuracies(path)
    id_sets, ood_sets = (
        _columns(option, text, rows.columns) if text else [] for option, text in (("--id", id_), ("--ood", ood))
    )
    own = _own_id_sets(id_for, rows.columns)
    oods = [*ood_sets, *(name for name in own if name not in ood_sets)]
    return shift_table(rows, id_sets, oods, id_for=own, model=model, group=group, fit_on=fit_on or None, unit=known)


def _own_id_sets(texts: Sequence[str], columns: Collection[str]) -> dict[str, list[str]]:
    """OOD set → its own ID sets, from `imagenet-r=val-on-imagenet-r-classes,…`; names may contain a `=`."""
    found = dict[str, list[str]]()
    for text in texts:
        places = [place for place, sign in enumerate(text) if sign == "="]
        ood, ids = next(
            ((name, text[place + 1 :]) for place in places if (name := text[:place].strip().strip('"')) in columns),
            (text.partition("=")[0].strip(), text.partition("=")[2]),
        )
        if not places or not ids.strip():
            raise UserError(f"--id-for takes OOD=ID,ID: an OOD test set and its ID test sets, not '{text}'")
        if ood in found:
            raise UserError(f"--id-for has '{ood}' twice")
        found[ood] = _columns("--id-for", ids, columns)
    return found


def _columns(option: str, text: str, columns: Collection[str]) -> list[str]:
    """The columns that an option names; an unquoted name with a comma gives a hint."""
    names = split_names(option, text)
    whole = next((name for name in columns if "," in name and name in text), None)
    if whole is not None and whole not in names and any(name not in columns for name in names):
        raise UserError(
            f"{option}: put '{whole}' in double quotes, because its name contains a comma: {option} '\"{whole}\"'"
        )
    return names


def choose_method(scale: str, loss: str) -> "Method":
    """How to fit."""
    from unseen.metrics.accuracy_scales import LOGIT, PROBIT
    from unseen.metrics.robustness import Method

    return Method(
        LOGIT if choose("--scale", scale, ("logit", "probit")) == "logit" else PROBIT,
        robust=choose("--loss", loss, ("squares", "huber")) == "huber",
    )


def choose_sizes(text: str, names: Sequence[str]) -> dict[str, int]:
    """Images of test sets, from `val=50000,…` or from a CSV file with the columns column and images.

    Args:
        names: the test sets of the study; others in a file are ignored.
    """
    if not text.endswith(".csv"):
        return {name: _whole(name, size) for name, size in _pairs("--sizes", text)}
    from unseen.files import read_table

    path = Path(text)
    known = {row["column"]: row["images"] for _, row in read_table(path, ("column", "images"))}
    # Version 0.1 wrote 0 images for columns without scores.
    found = {name: _whole(name, known[name]) for name in names if known.get(name, "0") != "0"}
    if not found:
        raise UserError(f"--sizes: {path} has no number of images for {', '.join(names)}")
    return found


def other_classes(sizes: str, table: "ShiftTable") -> list[str]:
    """Sentences on ID columns that were scored on other classes than their OOD column, if a columns.csv is given."""
    if not sizes.endswith(".csv"):
        return []
    from unseen.files import read_table

    rows = read_table(Path(sizes), ("column",), ("classes_sha256",))
    classes = {row["column"]: row["classes_sha256"] for _, row in rows if row["classes_sha256"]}
    return [
        f"{name} was scored on other classes than {ood}; fit {ood} on a column with the same classes (--id-for)."
        for ood, columns in table.id_columns.items()
        for name in columns
        if name in classes and classes.get(ood, classes[name]) != classes[name]
    ]


def choose_minimum(text: str, id_sets: Sequence[str]) -> dict[str, float]:
    """Minimum accuracies: `5` applies to every ID set, `val=5` to one."""
    pairs = _pairs("--min-id", text) if "=" in text else [(name, text) for name in id_sets if text]
    try:
        found = {name: float(value) for name, value in pairs}
    except ValueError:
        found = {text: nan}
    if not all(map(isfinite, found.values())):
        raise UserError(f"--min-id takes a number, or name=number pairs separated by commas, not '{text}'")
    return found


def _pairs(option: str, text: str) -> list[tuple[str, str]]:
    pairs = []
    for part in split_commas(option, text) if text else []:
        name, sign, value = part.rpartition("=")
        if not sign or not name.strip():
            raise UserError(f"{option} takes name=number pairs separated by commas, not '{part}'")
        pairs.append((name.strip(), value.strip()))
    twice = next((name for name, count in Counter(name for name, _ in pairs).items() if count > 1), None)
    if twice is not None:
        raise UserError(f"{option} has '{twice}' twice")
    return pairs


def _whole(name: str, text: str) -> int:
    number = whole_number(text)
    if not number:
        raise UserError(f"--sizes: '{text[:20]}' is not a number of images for '{name}'")
    return number

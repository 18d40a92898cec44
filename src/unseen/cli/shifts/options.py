"""Options of the commands of `unseen shifts` that read a table of accuracies."""

from collections import Counter
from collections.abc import Collection, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.choices import choose, one_of, split_names
from unseen.errors import UserError
from unseen.text.words import whole_number

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
    typer.Option(help="ID test sets for one OOD test set, instead of --id: ood=id1,id2."),
]
FitOnOption = Annotated[
    str,
    typer.Option(
        help='Models to fit on, such as "group in {a, b} and val >= 5"; the others are only scored. Default: all.'
    ),
]
SizesOption = Annotated[
    list[str] | None,
    typer.Option(help="Number of images per test set: val=50000,a=7500, or the columns.csv of unseen shifts run."),
]
MinIdOption = Annotated[
    list[str] | None,
    typer.Option(help="Minimum ID accuracy of the models of the fit, in the unit of the table: 5, or val=5."),
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
    id_: Sequence[str],
    ood: Sequence[str],
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
    for option, names in (("--id", id_), ("--ood", ood)):
        _refuse_split_column(option, names, rows.columns)
    own = _own_id_sets(id_for, rows.columns)
    oods = [*ood, *(name for name in own if name not in ood)]
    return shift_table(rows, id_, oods, id_for=own, model=model, group=group, fit_on=fit_on or None, unit=known)


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
        found[ood] = split_names("--id-for", ids)
        _refuse_split_column("--id-for", found[ood], columns)
    return found


def _refuse_split_column(option: str, names: Sequence[str], columns: Collection[str]) -> None:
    """Refuse the parts of a column whose name has a comma and was not in double quotes."""
    unknown = {name for name in names if name not in columns}
    whole = next((name for name in columns if unknown & {part.strip() for part in name.split(",")}), None)
    if whole is not None:
        raise UserError(
            f"{option}: put '{whole}' in double quotes, because its name contains a comma: {option} '\"{whole}\"'"
        )


def choose_method(scale: str, loss: str) -> "Method":
    """How to fit."""
    from unseen.metrics.accuracy_scales import LOGIT, PROBIT
    from unseen.metrics.robustness import Method

    return Method(
        LOGIT if choose("--scale", scale, ("logit", "probit")) == "logit" else PROBIT,
        robust=choose("--loss", loss, ("squares", "huber")) == "huber",
    )


def choose_sizes(texts: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Images of test sets, from `val=50000` and so on, or from a CSV file with the columns column and images.

    Args:
        names: the test sets of the study; others in a file are ignored.
    """
    path = _sizes_file(texts)
    if path is None:
        return {name: _whole(name, size) for name, size in _pairs("--sizes", texts)}
    from unseen.files import read_table

    known = {row["column"]: row["images"] for _, row in read_table(path, ("column", "images"))}
    # Version 0.1 wrote 0 images for columns without scores.
    found = {name: _whole(name, known[name]) for name in names if known.get(name, "0") != "0"}
    if not found:
        raise UserError(f"--sizes: {path} has no number of images for {', '.join(names)}")
    return found


def _sizes_file(texts: Sequence[str]) -> Path | None:
    """The only value of --sizes, if it is a CSV file."""
    return Path(texts[0]) if len(texts) == 1 and texts[0].endswith(".csv") else None


def other_classes(sizes: Sequence[str], table: "ShiftTable") -> list[str]:
    """Sentences on ID columns that were scored on other classes than their OOD column, if a columns.csv is given."""
    path = _sizes_file(sizes)
    if path is None:
        return []
    from unseen.files import read_table

    rows = read_table(path, ("column",), ("classes_sha256",))
    classes = {row["column"]: row["classes_sha256"] for _, row in rows if row["classes_sha256"]}
    return [
        f"{name} was scored on other classes than {ood}; fit {ood} on a column with the same classes (--id-for)."
        for ood, columns in table.id_columns.items()
        for name in columns
        if name in classes and classes.get(ood, classes[name]) != classes[name]
    ]


def choose_minimum(texts: Sequence[str], id_sets: Sequence[str]) -> dict[str, float]:
    """Minimum accuracies: `5` applies to every ID set, `val=5` to one."""
    single = len(texts) == 1 and "=" not in texts[0]
    if len(texts) > 1 and not all("=" in text for text in texts):
        raise UserError(
            f"--min-id takes one number for all ID test sets, or name=number pairs, not '{', '.join(texts)}'"
        )
    pairs = [(name, texts[0]) for name in id_sets] if single else _pairs("--min-id", texts)
    try:
        found = {name: float(value) for name, value in pairs}
    except ValueError:
        found = {"": nan}
    if not all(map(isfinite, found.values())):
        raise UserError(f"--min-id takes a number, or name=number pairs, not '{','.join(texts)}'")
    return found


def _pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not name.strip():
            raise UserError(f"{option} takes name=number pairs, not '{text}'")
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

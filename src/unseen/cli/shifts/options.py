"""Options and settings of the commands of `unseen shifts` that read a table of accuracies."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from unseen.cli.choices import split_names
from unseen.errors import UserError
from unseen.reading.keys import key
from unseen.text.words import whole_number

if TYPE_CHECKING:
    from unseen.analyses.robustness.table import ShiftTable
    from unseen.analyses.robustness.units import Unit
    from unseen.metrics.robustness import Method

Names = tuple[str, ...]
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


@dataclass(frozen=True)
class TableKeys:
    """What users set of the table and of the scale, beside the test sets."""

    fit_on: str = key(
        "", 'models to fit on, such as "group in {a, b} and val >= 5"; the others are only scored; unset: all'
    )
    sizes: Names = key((), "images per test set: val=50000,a=7500, or the columns.csv of a run")
    min_id: Names = key((), "lowest ID accuracy of the models of the fit, in the unit of the table: 5, or val=5")
    model: str = key("model", "column of model names")
    unit: Literal["percent", "fraction", "detect"] = key(
        "detect", "percent, fraction or detect, which fails if the numbers are ambiguous"
    )
    scale: Literal["logit", "probit"] = key("logit", "scale that accuracies are fitted on: logit or probit")


@dataclass(frozen=True)
class PairKeys(TableKeys):
    """What users set of the table and of the fits, beside the test sets."""

    loss: Literal["squares", "huber"] = key(
        "squares", "loss of the fit: squares, or huber, which is robust to outliers"
    )


@dataclass(frozen=True)
class FitKeys(PairKeys):
    """What users set of a study of a table."""

    group: str | None = key(None, "column that groups models, for means per group")
    resamples: int = key(2000, "bootstrap resamples of the models, for intervals", least=1)
    seed: int = key(0, "seed of the bootstrap", least=0)


@dataclass(frozen=True)
class PredictorKeys(TableKeys):
    """What users set of a comparison of predictors."""

    group: str | None = key(None, "column that groups models; each group is held out in turn")
    measures: Names = key((), "further columns of a table that may predict, as they are, such as a severity")
    held_out: Literal["groups", "models"] | None = key(
        None, "what is held out at a time: groups or models; unset: groups if there are several"
    )
    hierarchy: str = key(
        "auto",
        "of a run, for severity: wordnet, a CSV with child,parent or class,concept, or k-means:MODEL; unset: wordnet, "
        "or k-means if classes are no concepts",
    )


def read_shift_table(
    path: Path,
    id_: Sequence[str],
    ood: Sequence[str],
    keys: TableKeys,
    *,
    id_for: Sequence[str] = (),
) -> "ShiftTable":
    """The columns of a table that options name."""
    from unseen.analyses.robustness.table import read_accuracies, shift_table

    unit: Unit | None = None if keys.unit == "detect" else keys.unit
    rows = read_accuracies(path)
    for option, names in (("--id", id_), ("--ood", ood)):
        _refuse_split_column(option, names, rows.columns)
    own = _own_id_sets(id_for, rows.columns)
    oods = [*ood, *(name for name in own if name not in ood)]
    group = keys.group if isinstance(keys, FitKeys | PredictorKeys) else None
    return shift_table(
        rows, id_, oods, id_for=own, model=keys.model, group=group, fit_on=keys.fit_on or None, unit=unit
    )


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


def choose_method(keys: TableKeys) -> "Method":
    """How to fit."""
    from unseen.metrics.accuracy_scales import LOGIT, PROBIT
    from unseen.metrics.robustness import Method

    robust = isinstance(keys, PairKeys) and keys.loss == "huber"
    return Method(LOGIT if keys.scale == "logit" else PROBIT, robust=robust)


def choose_sizes(texts: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Images of test sets, from `val=50000` and so on, or from a CSV file with the columns column and images.

    Args:
        names: the test sets of the study; others in a file are ignored.
    """
    path = _sizes_file(texts)
    if path is None:
        return {name: _whole(name, size) for name, size in _pairs("sizes", texts)}
    from unseen.files import read_table

    known = {row["column"]: row["images"] for _, row in read_table(path, ("column", "images"))}
    # Version 0.1 wrote 0 images for columns without scores.
    found = {name: _whole(name, known[name]) for name in names if known.get(name, "0") != "0"}
    if not found:
        raise UserError(f"sizes: {path} has no number of images for {', '.join(names)}")
    return found


def _sizes_file(texts: Sequence[str]) -> Path | None:
    """The only value of `sizes`, if it is a CSV file."""
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
        raise UserError(f"min-id takes one number for all ID test sets, or name=number pairs, not '{', '.join(texts)}'")
    pairs = [(name, texts[0]) for name in id_sets] if single else _pairs("min-id", texts)
    try:
        found = {name: float(value) for name, value in pairs}
    except ValueError:
        found = {"": nan}
    if not all(map(isfinite, found.values())):
        raise UserError(f"min-id takes a number, or name=number pairs, not '{','.join(texts)}'")
    return found


def _pairs(setting: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not name.strip():
            raise UserError(f"{setting} takes name=number pairs, not '{text}'")
        pairs.append((name.strip(), value.strip()))
    twice = next((name for name, count in Counter(name for name, _ in pairs).items() if count > 1), None)
    if twice is not None:
        raise UserError(f"{setting} has '{twice}' twice")
    return pairs


def _whole(name: str, text: str) -> int:
    number = whole_number(text)
    if not number:
        raise UserError(f"sizes: '{text[:20]}' is not a number of images for '{name}'")
    return number

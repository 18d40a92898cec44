"""The table that `unseen shifts run` adds models to: accuracies.csv, and columns.csv, which explains its columns.

Every call with the same folder adds to it: a model that is there already keeps its other columns if it is the same
classifier, and another classifier of that name takes the place of its row. Other rows stay, and a row has gaps in
columns it was not scored on. A column that stands for other images or classes than before is refused.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unseen.errors import UserError
from unseen.files import read_table, write_table
from unseen.runs.lock import folder_lock
from unseen.studies.shifts.plans import ModelPlan

ACCURACIES, COLUMNS = "accuracies.csv", "columns.csv"
ABOUT = ("model", "group", "classifier")
"""What a row says before its accuracies; `classifier` is the digest of what decides the model's outputs."""
FACTS = ("column", "test_set", "images", "classes", "classes_sha256")
REMEDY = "give another --out, or remove what is in this one"


@dataclass(frozen=True)
class Column:
    """A column of the table: a test set on some classes.

    Attributes:
        kept: the classes, among the values of `classes`, which says what class a name is of.
    """

    name: str
    test_set: str
    kept: tuple[str, ...]
    classes: Mapping[str, str]

    @property
    def digest(self) -> str:
        """Of the classes kept and of the names that are of them."""
        wanted = set(self.kept)
        members = sorted((kept, name) for name, kept in self.classes.items() if kept in wanted)
        return hashlib.sha256(repr(members).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Scored:
    """A model's row.

    Attributes:
        accuracy: by column, a fraction; a column is missing where the model has no output for some of its classes.
        images: that were scored, by column.
        classifier: digest of all that decides the model's outputs.
    """

    plan: ModelPlan
    accuracy: Mapping[str, float]
    images: Mapping[str, int]
    classifier: str = ""


@dataclass(frozen=True)
class _Facts:
    """What columns.csv says of a column; `images` is 0 where no model was scored on it."""

    test_set: str
    images: int
    classes: int
    digest: str


@dataclass(frozen=True)
class _Table:
    """Both files: cells by model and column, as texts, and facts by column."""

    rows: dict[str, dict[str, str]]
    facts: dict[str, _Facts]


def check_columns(folder: Path, columns: Sequence[Column], images: Mapping[str, int] | None = None) -> None:
    """Refuse a folder whose table has other test sets, classes or numbers of images under the names of these columns.

    Args:
        images: that were scored, by column, for those where it is known.
    """
    known = _read(folder).facts
    for column in columns:
        _check_same(folder, column.name, known.get(column.name), _facts(column, images or {}))


def has_row(folder: Path, model: str, classifier: str) -> bool:
    """Whether the table has a row of this model that is of the same classifier."""
    row = _read(folder).rows.get(model)
    return row is not None and row["classifier"] == classifier != ""


def add_row(folder: Path, row: Scored, columns: Sequence[Column]) -> tuple[str, ...]:
    """Put a model's accuracies into the table: into its row if that is of the same classifier, or in place of it.

    A row that stays keeps its group unless another is given.

    Returns:
        The columns in which the model had another accuracy, or one where it has none now.
    """
    with folder_lock(folder):
        return _add(folder, row, columns)


def _add(folder: Path, row: Scored, columns: Sequence[Column]) -> tuple[str, ...]:
    same, table = has_row(folder, row.plan.model, row.classifier), _read(folder)
    found = {column.name: _facts(column, row.images) for column in columns}
    counted = {name: facts for name, facts in found.items() if facts.images or name not in table.facts}
    cells = {name: f"{accuracy:.6f}" for name, accuracy in row.accuracy.items()}
    before = table.rows.get(row.plan.model, {})
    kept = before if same else {}
    about = (row.plan.model, row.plan.group or kept.get("group", ""), row.classifier)
    made = {**kept, **dict(zip(ABOUT, about, strict=True)), **cells}
    _write(folder, _Table(table.rows | {row.plan.model: made}, table.facts | counted))
    return tuple(name for name in table.facts if before.get(name) and before[name] != made.get(name))


def _facts(column: Column, images: Mapping[str, int]) -> _Facts:
    return _Facts(column.test_set, images.get(column.name, 0), len(column.kept), column.digest)


def _check_same(folder: Path, name: str, known: _Facts | None, found: _Facts) -> None:
    if known is None:
        return
    if replace(known, images=0) != replace(found, images=0):
        what = f"{known.test_set} on {known.classes} classes", f"{found.test_set} on {found.classes}"
        others = " others" if known.classes == found.classes and known.test_set == found.test_set else ""
        raise UserError(f"{folder / COLUMNS}: '{name}' was {what[0]}, and now is {what[1]}{others}; {REMEDY}")
    if known.images and found.images and known.images != found.images:
        raise UserError(
            f"{folder / COLUMNS}: '{name}' was of {known.images:,} images, and now is of {found.images:,}; {REMEDY}"
        )


def _read(folder: Path) -> _Table:
    accuracies, columns = folder / ACCURACIES, folder / COLUMNS
    facts = {
        row["column"]: _Facts(row["test_set"], _count(columns, line, row["images"]),
                              _count(columns, line, row["classes"]), row["classes_sha256"])
        for line, row in (read_table(columns, FACTS) if columns.exists() else ())
    }  # fmt: skip
    rows = dict[str, dict[str, str]]()
    for line, row in read_table(accuracies, ABOUT[:2], ABOUT[2:]) if accuracies.exists() else ():
        unknown = next((name for name in row if name not in (*ABOUT, *facts)), None)
        if unknown is not None:
            raise UserError(f"{accuracies}: {COLUMNS} beside it does not say what '{unknown}' is; {REMEDY}")
        if row["model"] in rows:
            raise UserError(f"{accuracies}, line {line}: the model '{row['model']}' is there twice; keep one of them")
        rows[row["model"]] = row
    return _Table(rows, facts)


def _count(path: Path, line: int, text: str) -> int:
    if not text.isdecimal() or len(text) > 12:
        raise UserError(f"{path}, line {line}: '{text[:20]}' is not a number of images or classes; {REMEDY}")
    return int(text)


def _write(folder: Path, table: _Table) -> None:
    """What columns are comes first: killed between the two, the table has no column that is not explained."""
    facts = ([name, of.test_set, of.images, of.classes, of.digest] for name, of in table.facts.items())
    write_table(folder / COLUMNS, FACTS, facts)
    header = [*ABOUT, *table.facts]
    write_table(folder / ACCURACIES, header, ([row.get(name, "") for name in header] for row in table.rows.values()))

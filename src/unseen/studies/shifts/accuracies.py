"""The tables of a run of shifts: accuracies.csv, and columns.csv, which explains its columns.

They are made from results, and keep entries that are not from results of this run: rows and columns of an earlier
version, or of models that another process adds. A model in the table keeps its other columns if it is the same
classifier; another classifier with its name replaces its row. Cells that were not scored are empty. A column with other
images or classes than before is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.errors import UserError, option
from unseen.files import read_table, write_table
from unseen.runs.lock import folder_lock
from unseen.runs.results import reading_result
from unseen.text.words import whole_number

if TYPE_CHECKING:
    from unseen.runs.data import RunData
    from unseen.runs.results import Result
    from unseen.studies.shifts.columns import Column

ACCURACIES, COLUMNS = "accuracies.csv", "columns.csv"
ABOUT = ("model", "group", "classifier")
"""Columns before the accuracies; `classifier` is the digest of everything that determines the model's outputs."""
FACTS = ("column", "test_set", "images", "classes", "classes_sha256")


def remedy() -> str:
    """What to do about files of another study in the folder of a run."""
    return f"choose another folder ({option('out')}), or remove the files in this one"


@dataclass(frozen=True)
class Facts:
    """A row of columns.csv, which describes a column; `images` is 0 if unknown."""

    test_set: str
    images: int
    classes: int
    digest: str


@dataclass(frozen=True)
class _Table:
    """Both files: cells as text by model and column, and facts by column."""

    rows: dict[str, dict[str, str]]
    facts: dict[str, Facts]


def check_columns(folder: Path, columns: "Sequence[Column]", images: Mapping[str, int] | None = None) -> None:
    """Refuse a folder whose table has columns with these names but other test sets, classes or numbers of images.

    Args:
        images: number of scored images by column, if known.
    """
    known, counts = _read(folder).facts, images or {}
    for column in columns:
        found = Facts(column.test_set, counts.get(column.name, 0), len(column.kept), column.digest)
        _check_same(folder, column.name, known.get(column.name), found)


def has_row(folder: Path, model: str, classifier: str) -> bool:
    """Whether the table has a row of this model with the same classifier."""
    row = _read(folder).rows.get(model)
    return row is not None and row["classifier"] == classifier != ""


def facts_of(result: "Result") -> Facts:
    """The images and the classes of the column of a result."""
    details = result.details
    return Facts(details["test_set"], details["tested"], details["classes"], result.job["reads"]["classes"])


def add_results(folder: Path, run: "RunData", results: "Sequence[Result]") -> dict[str, tuple[str, ...]]:
    """Add the accuracies of results to the tables of a folder.

    The row of the same classifier is extended, and keeps its group unless the run has another; any other row of a model
    is replaced.

    Args:
        run: defines the groups of models by its backbones, and the order of columns by its domains; columns that are
            not in it come first.

    Returns:
        Model → the columns whose accuracy changed or was removed.
    """
    groups, order = {each.name: each.category for each in run.backbones}, [each.name for each in run.domains]
    models = list(groups)
    facts, accuracies = dict[str, Facts](), dict[tuple[str, str], dict[str, str]]()
    for result in sorted(results, key=lambda result: models.index(result.job["backbone"])):
        job = result.job
        with reading_result(result):
            facts[job["dataset"]] = facts_of(result)
            scored = accuracies.setdefault((job["backbone"], job["reads"]["classifier"]), {})
            scored[job["dataset"]] = f"{dict(result.fits[0].values)['top1']:.6f}"
    with folder_lock(folder):
        table, replaced = _read(folder), dict[str, tuple[str, ...]]()
        for name, found in facts.items():
            _check_same(folder, name, table.facts.get(name), found)
        rows = dict(table.rows)
        for (model, classifier), scored in accuracies.items():
            before = rows.get(model, {})
            kept = before if classifier and before.get("classifier") == classifier else {}
            group = groups[model] or kept.get("group", "")
            rows[model] = {**kept, **dict(zip(ABOUT, (model, group, classifier), strict=True)), **scored}
            changed = [name for name in table.facts if before.get(name) and before[name] != rows[model].get(name)]
            if changed:
                replaced[model] = tuple(changed)
        known = {**table.facts, **facts}
        names = [*(name for name in known if name not in order), *(name for name in order if name in known)]
        after = _Table(rows, {name: known[name] for name in names})
        if (after, names) != (table, list(table.facts)):
            _write(folder, after)
    return replaced


def _check_same(folder: Path, name: str, known: Facts | None, found: Facts) -> None:
    if known is None:
        return
    if replace(known, images=0) != replace(found, images=0):
        what = f"{known.test_set} on {known.classes} classes", f"{found.test_set} on {found.classes}"
        others = " others" if known.classes == found.classes and known.test_set == found.test_set else ""
        raise UserError(f"{folder / COLUMNS}: '{name}' was {what[0]}, and now is {what[1]}{others}; {remedy()}")
    if known.images and found.images and known.images != found.images:
        raise UserError(
            f"{folder / COLUMNS}: '{name}' had {known.images:,} images, and now has {found.images:,}; {remedy()}"
        )


def _read(folder: Path) -> _Table:
    accuracies, columns = folder / ACCURACIES, folder / COLUMNS
    facts = {
        row["column"]: Facts(row["test_set"], _count(columns, line, row["images"]),
                              _count(columns, line, row["classes"]), row["classes_sha256"])
        for line, row in (read_table(columns, FACTS) if columns.exists() else ())
    }  # fmt: skip
    rows = dict[str, dict[str, str]]()
    for line, row in read_table(accuracies, ABOUT[:2], ABOUT[2:]) if accuracies.exists() else ():
        unknown = next((name for name in row if name not in (*ABOUT, *facts)), None)
        if unknown is not None:
            raise UserError(f"{accuracies}: {COLUMNS} beside it does not describe the column '{unknown}'; {remedy()}")
        if row["model"] in rows:
            raise UserError(f"{accuracies}, line {line}: the model '{row['model']}' occurs twice; keep one of them")
        rows[row["model"]] = row
    return _Table(rows, facts)


def _count(path: Path, line: int, text: str) -> int:
    number = whole_number(text)
    if number is None:
        raise UserError(f"{path}, line {line}: '{text[:20]}' is not a number of images or classes; {remedy()}")
    return number


def _write(folder: Path, table: _Table) -> None:
    """Write columns.csv first: if killed between the two files, the table has no column without a description."""
    facts = ([name, of.test_set, of.images, of.classes, of.digest] for name, of in table.facts.items())
    write_table(folder / COLUMNS, FACTS, facts)
    header = [*ABOUT, *table.facts]
    write_table(folder / ACCURACIES, header, ([row.get(name, "") for name in header] for row in table.rows.values()))

"""Images named in a list: a path and a class per line of a text file, or per row of a Parquet file."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from unseen.data.core.entries import EntryTable
from unseen.data.core.folder import FileImages
from unseen.data.core.releases import provenance
from unseen.data.sources.columns import LABEL_COLUMNS, plain_values
from unseen.data.sources.parquet_images import PARQUET
from unseen.errors import UserError, did_you_mean
from unseen.files import read_table, read_text
from unseen.reading.guard import reading

IMAGE_COLUMNS = ("path", "image", "file", "filename", "id", "key")
"""Usual names of the column of images, in order of preference."""
SPLIT = "split"


class ListRow(NamedTuple):
    """An image of a list: its line or row (for error messages), its path, its label, and its split or an empty text."""

    place: str
    path: str
    label: str
    split: str = ""


def listed_images(
    file: Path,
    *,
    root: Path | None = None,
    split: str | None = None,
    image: str | None = None,
    label: str | None = None,
    there: bool = True,
) -> FileImages:
    """Images in the order of a list file; see `list_rows` for its formats.

    Args:
        root: the folder that paths are relative to; by default the folder of the list. Absolute paths must be below it.
        split: only rows with this value in the column `split`.
        image, label: columns of the paths and the classes, if they have unusual names.
        there: whether the first image must exist; the others are not checked.
    """
    root = file.parent if root is None else root
    rows = list[tuple[str, str]]()
    for row in list_rows(file, split=split, image=image, label=label, header=bool(image or label or split)):
        if not row.label.isprintable():
            raise UserError(f"{file}, {row.place}: the label is not plain text")
        rows.append((_relative(row, root, file), row.label))
    entries = EntryTable.of(rows, str(file))
    first = root / rows[0][0]
    if there and not first.is_file():
        raise UserError(f"{file}: its first image does not exist ({first}); give the folder of its paths (root)")
    return FileImages(root, entries, provenance("list file", entries.classes, len(entries)))


def list_rows(
    file: Path,
    *,
    image: str | None = None,
    label: str | None = None,
    split: str | None = None,
    labels: Sequence[str] = LABEL_COLUMNS,
    header: bool = False,
) -> Iterator[ListRow]:
    """The rows of a list: Parquet, comma-separated, tab-separated, or `path label` with spaces.

    The first line of a text file determines its separator: a tab if it has one, else a comma, else a semicolon (used by
    spreadsheets in many countries) if it has no space, else the last space. A header may name one of `IMAGE_COLUMNS`
    and one of `labels`, in any order and with further columns; without a header, a line is a path and a label.

    Args:
        image, label: columns of the paths and the labels, if they have unusual names.
        split: only rows with this value in the column `split`; an error if there are none.
        labels: usual names of the column of labels.
        header: whether a text file must have a header.
    """
    wanted = [
        IMAGE_COLUMNS if image is None else (image,),
        labels if label is None else (label,),
        *([(SPLIT,)] if split is not None else []),
    ]
    is_parquet = file.suffix.lower() == PARQUET
    splits, chosen = set[str](), 0
    for row in _table_rows(file, wanted) if is_parquet else _text_rows(file, wanted, header=header):
        splits.add(row.split)
        if split in {None, row.split}:
            chosen += 1
            yield row
    if splits and not chosen:
        raise UserError(f"{file}: no images of the split '{split}'; available: {', '.join(sorted(splits))}")


Wanted = Sequence[Sequence[str]]
"""Possible names of each column."""


def _text_rows(file: Path, wanted: Wanted, *, header: bool) -> Iterator[ListRow]:
    """Every line that is not blank, after the header if there is one."""
    lines = [(number, line) for number, line in enumerate(read_text(file).split("\n"), start=1) if line.strip()]
    first = lines[0][1] if lines else ""
    separator = _separator(first)
    columns, places = 2, [0, 1]
    names = _fields(first, separator, file, lines[0][0]) if lines else []
    if lines and (header or all(set(usual) & set(names) for usual in wanted)):
        chosen = _columns(file, wanted, names)
        if separator in {",", ";"}:
            for number, record in read_table(file, chosen):
                yield _checked(file, f"line {number}", [record[name] for name in chosen])
            return
        columns, places, lines = len(names), [names.index(name) for name in chosen], lines[1:]
    for number, line in lines:
        fields = _fields(line, separator, file, number)
        if len(fields) != columns:
            raise UserError(f"{file}, line {number}: expected a path and a label, found {line.strip()!r}")
        yield _checked(file, f"line {number}", [fields[place] for place in places])


def _table_rows(file: Path, wanted: Wanted) -> Iterator[ListRow]:
    """Every row of a Parquet file; its labels are texts or whole numbers."""
    with reading(file, "a readable Parquet file"):
        from pyarrow import parquet

        names = _columns(file, wanted, parquet.read_schema(str(file)).names)
        table = parquet.ParquetFile(str(file), read_dictionary=names)
        if table.metadata.num_rows > file.stat().st_size:  # paths are distinct, and take at least one byte each
            raise ValueError(f"{table.metadata.num_rows:,} rows in {file.stat().st_size:,} bytes")
        rows = table.read(columns=names)
        columns = [plain_values(rows[name], f"{file}: the column '{name}'") for name in names]
    for number, values in enumerate(zip(*columns, strict=True), start=1):
        yield _checked(file, f"row {number}", ["" if value is None else str(value) for value in values])


def _columns(file: Path, wanted: Wanted, names: Sequence[str]) -> list[str]:
    """The name of each wanted column in the file."""
    chosen = []
    for usual in wanted:
        name = next((name for name in usual if name in names), None)
        if name is None:
            other = f" or '{usual[1]}'" if len(usual) > 1 else ""
            hint = did_you_mean(usual[0], names) or f"; there are {', '.join(names)}"
            raise UserError(f"{file}: no column '{usual[0]}'{other}{hint}")
        chosen.append(name)
    return chosen


def _checked(file: Path, place: str, values: Sequence[str]) -> ListRow:
    row = ListRow(place, *values)
    if not row.path or not row.label or not row.path.isprintable():
        raise UserError(f"{file}, {place}: a path or a label is empty, or a path is not plain text")
    return row


def _separator(first: str) -> str | None:
    """The separator of fields, from the first line; None for the last space."""
    if "\t" in first:
        return "\t"
    return "," if "," in first else ";" if ";" in first and " " not in first.strip() else None


def _fields(line: str, separator: str | None, file: Path, number: int) -> list[str]:
    if separator is None:
        fields = line.rsplit(maxsplit=1)
    elif separator == "\t":
        fields = line.split("\t")
    else:
        try:
            fields = next(csv.reader([line], delimiter=separator, strict=True))
        except csv.Error as error:
            raise UserError(f"{file}, line {number}: malformed ({error})") from None
    return [field.strip() for field in fields]


def _relative(row: ListRow, root: Path, file: Path) -> str:
    """The path relative to `root`, with forward slashes, so that ids do not depend on the machine."""
    given = PurePosixPath(row.path.replace("\\", "/"))
    if given.is_absolute() and given.is_relative_to(PurePosixPath(root.absolute())):
        given = given.relative_to(PurePosixPath(root.absolute()))
    if given.is_absolute() or ".." in given.parts:
        raise UserError(f"{file}, {row.place}: {row.path} is not below {root}; give the folder of all images (root)")
    return str(given)

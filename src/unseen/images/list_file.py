"""Images named in a list: a path and a class on each line of a text file, or in each row of a Parquet file."""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from unseen.errors import UserError, did_you_mean
from unseen.files import read_text
from unseen.images.arrow import plain_values
from unseen.images.entries import EntryTable
from unseen.images.folder import FileImages
from unseen.images.releases import provenance
from unseen.reading.guard import reading

IMAGE_COLUMNS = ("path", "image", "file", "filename", "id", "key")
LABEL_COLUMNS = ("label", "class")
"""What the columns of images and of their classes are usually called, in the order of preference."""
SPLIT = "split"
PARQUET = ".parquet"


class ListRow(NamedTuple):
    """An image of a list: the line or row that names it, for errors, its path, its class, and its split or nothing."""

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
    """Images in the order of a list: Parquet, comma-separated, tab-separated, or `path label` with spaces.

    What separates the fields of a text is told by its first line: a tab if it has one, else a comma, else a semicolon
    (as spreadsheets in many countries write them) if it has no space, else the last space. A header may be
    given that has one of `IMAGE_COLUMNS` and one of `LABEL_COLUMNS`, in any order and with further columns; without
    one, a line is a path and a class.

    Args:
        root: what the paths are relative to; the folder of the list unless given. Absolute paths must be below it.
        split: only rows with this word in the column `split`.
        image, label: columns of the paths and the classes, where they have other names.
        there: whether the first image has to be there; others are not looked for.
    """
    root = file.parent if root is None else root
    wanted = [
        IMAGE_COLUMNS if image is None else (image,),
        LABEL_COLUMNS if label is None else (label,),
        *([(SPLIT,)] if split is not None else []),
    ]
    is_parquet = file.suffix.lower() == PARQUET
    found = _table_rows(file, wanted) if is_parquet else _text_rows(file, wanted, named=bool(image or label or split))
    rows, splits = list[tuple[str, str]](), set[str]()
    for row in found:
        splits.add(row.split)
        if split in {None, row.split}:
            rows.append((_relative(row, root, file), row.label))
    if not rows and splits:
        raise UserError(f"{file}: no images of the split '{split}', only of {', '.join(sorted(splits))}")
    entries = EntryTable.of(rows, str(file))
    first = root / rows[0][0]
    if there and not first.is_file():
        raise UserError(f"{file}: its first image is not there ({first}); give the folder its paths start from as root")
    return FileImages(root, entries, provenance("list file", entries.classes, len(entries)))


Wanted = Sequence[Sequence[str]]
"""What each of the columns may be called."""


def _text_rows(file: Path, wanted: Wanted, *, named: bool) -> Iterator[ListRow]:
    """Every line that is not blank; with `named`, the first has to be a header."""
    lines = [(number, line) for number, line in enumerate(read_text(file).split("\n"), start=1) if line.strip()]
    split = _splitter(lines[0][1] if lines else "")
    columns, places = 2, [0, 1]
    for number, line in lines:
        try:
            fields = [field.strip() for field in split(line)]
        except csv.Error as error:
            raise UserError(f"{file}, line {number}: malformed ({error})") from None
        if number == lines[0][0] and (named or all(set(names) & set(fields) for names in wanted)):
            columns, places = len(fields), [fields.index(name) for name in _columns(file, wanted, fields)]
            continue
        if len(fields) != columns:
            raise UserError(f"{file}, line {number}: expected a path and a label, found {line.strip()!r}")
        yield _checked(file, f"line {number}", [fields[place] for place in places])


def _table_rows(file: Path, wanted: Wanted) -> Iterator[ListRow]:
    """Every row of a Parquet file; its classes are texts or whole numbers."""
    with reading(file, "a readable Parquet file"):
        from pyarrow import parquet

        names = _columns(file, wanted, parquet.read_schema(str(file)).names)
        table = parquet.ParquetFile(str(file), read_dictionary=names)
        if table.metadata.num_rows > file.stat().st_size:  # paths are all different, and take a byte at least
            raise ValueError(f"{table.metadata.num_rows:,} rows in {file.stat().st_size:,} bytes")
        rows = table.read(columns=names)
        columns = [plain_values(rows[name], f"{file}: the column '{name}'") for name in names]
    for number, values in enumerate(zip(*columns, strict=True), start=1):
        yield _checked(file, f"row {number}", ["" if value is None else str(value) for value in values])


def _columns(file: Path, wanted: Wanted, names: Sequence[str]) -> list[str]:
    """The columns that there are, by name."""
    found = []
    for usual in wanted:
        name = next((name for name in usual if name in names), None)
        if name is None:
            hint = did_you_mean(usual[0], names) or f"; there are {', '.join(names)}"
            needed = " (splits are told by the column of this name)" if usual == (SPLIT,) else ""
            raise UserError(f"{file}: no column '{usual[0]}'{needed}{hint}")
        found.append(name)
    return found


def _checked(file: Path, place: str, values: Sequence[str]) -> ListRow:
    row = ListRow(place, *values)
    if not row.path or not row.label or not (row.path + row.label).isprintable():
        raise UserError(f"{file}, {place}: a path or a label is empty or not plain text")
    return row


def _splitter(first: str) -> Callable[[str], list[str]]:
    if "\t" in first:
        return lambda line: line.split("\t")
    separator = "," if "," in first else ";" if ";" in first and " " not in first.strip() else None
    if separator:
        return lambda line: next(csv.reader([line], delimiter=separator, strict=True))
    return lambda line: line.rsplit(maxsplit=1)


def _relative(row: ListRow, root: Path, file: Path) -> str:
    """A path below `root`, with forward slashes; ids must not depend on where the machine keeps its images."""
    given = PurePosixPath(row.path.replace("\\", "/"))
    if given.is_absolute() and given.is_relative_to(PurePosixPath(root.absolute())):
        given = given.relative_to(PurePosixPath(root.absolute()))
    if given.is_absolute() or ".." in given.parts:
        raise UserError(f"{file}, {row.place}: {row.path} is not below {root}; give the folder of all images as root")
    return str(given)

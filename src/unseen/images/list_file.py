"""Images named in a list file: a path and a class on each line."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from unseen.errors import UserError
from unseen.files import read_text
from unseen.images.entries import EntryTable
from unseen.images.folder import FileImages
from unseen.images.releases import provenance

HEADER = ("path", "label")


def listed_images(file: Path, *, root: Path | None = None) -> FileImages:
    """Images in the order of a list: comma-separated, tab-separated, or `path label` with spaces.

    What separates is told by the first line: a tab if it has one, else a comma, else the last space. A header with
    `path` and `label` may be given, in any order and with further columns; without one, a line is a path and a class.

    Args:
        root: what the paths are relative to; the folder of the list unless given. Absolute paths must be below it.
    """
    root = file.parent if root is None else root
    rows = [(_relative(path, root, file, line), label) for line, path, label in _rows(file)]
    entries = EntryTable.of(rows, str(file))
    first = root / rows[0][0]
    if not first.is_file():
        raise UserError(f"{file}: its first image is not there ({first}); give the folder its paths start from as root")
    return FileImages(root, entries, provenance("list file", entries.classes, len(entries)))


def _rows(file: Path) -> Iterator[tuple[int, str, str]]:
    """(line number, path, class) of every line that is not blank."""
    lines = [(number, line) for number, line in enumerate(read_text(file).split("\n"), start=1) if line.strip()]
    split = _splitter(lines[0][1] if lines else "")
    columns, places = 2, (0, 1)
    for number, line in lines:
        try:
            fields = [field.strip() for field in split(line)]
        except csv.Error as error:
            raise UserError(f"{file}, line {number}: malformed ({error})") from None
        if number == lines[0][0] and set(HEADER) <= set(fields):
            columns, places = len(fields), (fields.index(HEADER[0]), fields.index(HEADER[1]))
            continue
        if len(fields) != columns:
            raise UserError(f"{file}, line {number}: expected a path and a label, found {line.strip()!r}")
        path, label = (fields[place] for place in places)
        if not path or not label or not (path + label).isprintable():
            raise UserError(f"{file}, line {number}: a path or a label is empty or not plain text")
        yield number, path, label


def _splitter(first: str) -> Callable[[str], list[str]]:
    if "\t" in first:
        return lambda line: line.split("\t")
    if "," in first:
        return lambda line: next(csv.reader([line], strict=True))
    return lambda line: line.rsplit(maxsplit=1)


def _relative(path: str, root: Path, file: Path, line: int) -> str:
    """A path below `root`, with forward slashes; ids must not depend on where the machine keeps its images."""
    given = PurePosixPath(path.replace("\\", "/"))
    if given.is_absolute() and given.is_relative_to(PurePosixPath(root.absolute())):
        given = given.relative_to(PurePosixPath(root.absolute()))
    if given.is_absolute() or ".." in given.parts:
        raise UserError(f"{file}, line {line}: {path} is not below {root}; give the folder of all images as root")
    return str(given)

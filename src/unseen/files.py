"""Reading and writing small files: tables whose errors name the line, and atomic writes."""

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import IO

from unseen.errors import UserError, did_you_mean

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

UNFINISHED = ".unfinished"
"""How the names of files end that are being written."""
MOST_CHARACTERS = 1 << 31
SEPARATORS = (",", ";", "\t")
FORMULA = re.compile(r"'*[=+\-@\t\r]")
QUOTED = re.compile(r'"[^"]*"')
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
"""How files of Excel and LibreOffice begin: a zip archive, and the older compound file."""


def read_text(path: Path, *, first_line: bool = False) -> str:
    """The whole of a UTF-8 text file (a leading byte-order mark is dropped), or its first line; one without end is
    refused.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.readline(MOST_CHARACTERS + 1) if first_line else file.read(MOST_CHARACTERS + 1)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        is_workbook = error.object.startswith(WORKBOOKS)
        hint = "; if it is a spreadsheet, save the sheet as CSV (UTF-8) and give that" if is_workbook else ""
        raise UserError(f"{path}: not UTF-8 text (byte {error.start}){hint}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    if len(text) > MOST_CHARACTERS:
        raise UserError(f"{path}: of more than {byte_size(MOST_CHARACTERS)}, which no text that is read here has")
    return text


def read_table(
    path: Path, columns: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with a header, each with its line number.

    Fields are separated by whichever of comma, semicolon and tab the header has most of, so that what spreadsheets
    save in any language is read.
    Every name in `columns` must be in the header; `optional` ones may be. Further columns are kept.
    Blank lines are passed over; a row with more or fewer fields than the header is refused.
    """
    text = read_text(path)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), strict=True)
    try:
        header = next(reader, None)
        if not header:
            raise UserError(f"{path}: the file is empty; expected the header {','.join(columns)}")
        header = [_from_cell(name.strip()) for name in header]
        for name in columns:
            if name not in header:
                hint = did_you_mean(name, header)
                raise UserError(f"{path}, line 1: no column '{name}' in the header {','.join(header)}{hint}")
        if len(set(header)) < len(header):
            raise UserError(f"{path}, line 1: a column name occurs twice in the header {','.join(header)}")
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise UserError(f"{path}, line {reader.line_num}: {len(row)} fields where the header has {len(header)}")
            record = dict(zip(header, (_from_cell(field.strip()) for field in row), strict=True))
            yield reader.line_num, dict.fromkeys(optional, "") | record
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: malformed CSV ({error})") from None


def table_header(path: Path) -> list[str]:
    """The names of the columns of a CSV or TSV file; only its first line is read."""
    first = read_text(path, first_line=True)
    try:
        return [_from_cell(name.strip()) for name in next(csv.reader([first], delimiter=_separator(first)), [])]
    except csv.Error as error:
        raise UserError(f"{path}, line 1: malformed CSV ({error})") from None


def _separator(text: str) -> str:
    """What the fields of a table's first line are separated by; signs within quotes do not count."""
    header = QUOTED.sub("", text.partition("\n")[0])
    return max(SEPARATORS, key=header.count)


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that appears under `path` only when it is complete.

    A link is followed to the file it stands for; what is not a plain file (a pipe, `/dev/stdout`) is written as it is.
    Until it is complete it has another name, and is locked: what a killed process leaves has no lock, and
    `remove_unfinished` takes it away.
    """
    try:
        path = path.resolve()
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as file:
                yield file
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with _unfinished_file(path) as file:
            unfinished = Path(file.name)
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                # NamedTemporaryFile makes files private; a result should be as readable as its neighbours.
                umask = os.umask(0)
                os.umask(umask)
                unfinished.chmod(0o666 & ~umask)
                unfinished.replace(path)
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from None


def remove_unfinished(folder: Path) -> None:
    """Remove what interrupted `atomic_write`s left in and below a folder; nothing that is being written now."""
    if fcntl is None:
        return
    for path in folder.rglob(f".*{UNFINISHED}"):
        # Another process may remove it first, or may be writing it. NFS locks only what is open to write.
        with suppress(OSError), path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _unfinished_file(path: Path) -> "IO[bytes]":
    """A new file beside `path`, locked for as long as it is open where there are locks."""
    while True:
        file = NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=UNFINISHED, delete=False)  # noqa: SIM115
        if fcntl is not None:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:  # not removed between its making and its lock
            return file
        file.close()


def csv_cell(value: object) -> object:
    """A value as a cell of a CSV file: an apostrophe comes before a text that a spreadsheet would run as a formula.

    Those are texts that begin with =, +, -, @, a tab or a line end, but for numbers. Apostrophes before these signs
    count as part of the text, so that reading takes away exactly the one that writing added.
    """
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) and not _is_number(value) else value


def _from_cell(text: str) -> str:
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_table(path: Path, header: Sequence[str], rows: Iterator[Sequence[object]]) -> None:
    """Write a CSV file atomically, with Unix line ends; `read_table` gives back the same texts (see `csv_cell`)."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([csv_cell(name) for name in header])
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())


def byte_size(count: int) -> str:
    """Bytes as a person would say them."""
    for unit, number in (("GB", 1e9), ("MB", 1e6)):
        if count >= number / 10:
            return f"{count / number:,.1f} {unit}"
    return f"{count / 1e3:,.1f} kB"


def is_plain_name(name: str) -> bool:
    """Whether a name that a file gives is of something beside it, not elsewhere."""
    return name not in {"", ".", ".."} and not set(name) & {"/", "\\", "\0"}


def check_writable(folder: Path) -> None:
    """Refuse a folder that nothing can be written to, there or still to be made, before any work is done for it."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    try:
        if not there.is_dir():
            raise NotADirectoryError(f"{there} is a file" if there != folder.absolute() else "it is a file")
        with TemporaryFile(dir=there):  # without a name, so that a kill leaves nothing
            pass
    except OSError as error:
        raise UserError(f"{folder}: cannot be written to ({error.strerror or error}); give another folder") from None

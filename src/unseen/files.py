"""Reading and writing small files: tables with errors that name the line, and atomic writes."""

import csv
import io
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import IO

from unseen.errors import UserError, did_you_mean
from unseen.text.plain import escaped_text, plain_text

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

UNFINISHED = ".unfinished"
"""Suffix of files that are being written."""
MOST_CHARACTERS = 1 << 31
LFS = "version https://git-lfs."
"""The beginning of the text that a clone without Git LFS has instead of a large file."""
LFS_POINTER = "a Git LFS pointer instead of the file; get the files with: git lfs pull"
SEPARATORS = (",", ";", "\t")
FORMULA = re.compile(r"'*\s*[=+\-@＝＋－＠]|'*[\t\r]")
QUOTED = re.compile(r'"[^"]*"')
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
"""First bytes of Excel and LibreOffice files: a zip archive, or the older compound file."""


def refuse_special(path: Path) -> None:
    """Refuse whatever is not a file on a disk before it is opened: a FIFO waits for ever, and a device may be endless.

    A folder, or nothing at all, is left to whoever opens it.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "a FIFO" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise UserError(f"{path}: {kind}, and only regular files are read; copy its content to a file and give that")


def read_text(path: Path, *, first_line: bool = False) -> str:
    """The contents of a UTF-8 text file (without a byte-order mark), or its first line.

    Pointers of Git LFS, which are text but not that of the file, are refused, and so is all that is no regular file.
    """
    refuse_special(path)
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
        raise UserError(f"{path}: larger than {byte_size(MOST_CHARACTERS)}, too large for a text file")
    if text.startswith(LFS):
        raise UserError(f"{path}: {LFS_POINTER}")
    return text


def read_bytes(path: Path) -> bytes:
    """The contents of a regular file."""
    refuse_special(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None


def is_lfs_pointer(path: Path) -> bool:
    """Whether a file only names the one that Git LFS would put in its place."""
    refuse_special(path)
    with suppress(OSError), path.open("rb") as file:
        return file.read(len(LFS)) == LFS.encode()
    return False


def refuse_pointer(path: Path) -> None:
    """Refuse a file that is a pointer of Git LFS, whose bytes a reader of binary files could take for content."""
    if is_lfs_pointer(path):
        raise UserError(f"{path}: {LFS_POINTER}")


def read_table(
    path: Path, columns: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with a header, each with its line number.

    The separator is whichever of comma, semicolon and tab occurs most often in the header, so that spreadsheet exports
    in any language can be read. Every name in `columns` must be in the header; `optional` ones may be. Further columns
    are kept. Blank lines are skipped; a row with more or fewer fields than the header is refused.
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
    """The column names of a CSV or TSV file; only its first line is read."""
    first = read_text(path, first_line=True)
    try:
        return [_from_cell(name.strip()) for name in next(csv.reader([first], delimiter=_separator(first)), [])]
    except csv.Error as error:
        raise UserError(f"{path}, line 1: malformed CSV ({error})") from None


def _separator(text: str) -> str:
    """The separator in a table's first line; characters within quotes do not count."""
    header = QUOTED.sub("", text.partition("\n")[0])
    return max(SEPARATORS, key=header.count)


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that appears under `path` only when it is complete.

    A symbolic link is followed; special files (a pipe, `/dev/stdout`) are written directly. Until it is complete, the
    file has a temporary name and is locked: leftovers of a killed process are not locked, and `remove_unfinished`
    deletes them.
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
                # NamedTemporaryFile creates private files; a result should get the usual permissions.
                umask = os.umask(0)
                os.umask(umask)
                unfinished.chmod(0o666 & ~umask)
                unfinished.replace(path)
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically; every text file that has names of others in it is written by this function.

    Characters that act instead of being shown are escaped in the strings of JSON and TOML, which keeps them, and
    replaced in all other formats. A page cleans its texts itself, as it also contains scripts.
    """
    kind = path.suffix.lower()
    if kind in (".json", ".toml"):
        text = escaped_text(text, long=kind == ".toml")
    elif kind != ".html":
        text = plain_text(text)
    with atomic_write(path) as file:
        file.write(text.encode(errors="replace"))


def remove_unfinished(folder: Path) -> None:
    """Delete leftovers of interrupted `atomic_write`s in and below a folder, but no file that is being written now."""
    if fcntl is None:
        return
    for path in folder.rglob(f".*{UNFINISHED}"):
        # Another process may delete it first, or may be writing it. NFS only locks files opened for writing.
        with suppress(OSError), path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _unfinished_file(path: Path) -> "IO[bytes]":
    """A new file beside `path`, locked while it is open if the platform has locks."""
    while True:
        file = NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=UNFINISHED, delete=False)  # noqa: SIM115
        if fcntl is not None:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:  # not deleted between its creation and its lock
            return file
        file.close()


def csv_cell(value: object) -> object:
    """A value as a CSV cell: an apostrophe is put before text that a spreadsheet would execute as a formula.

    This is text that begins with =, +, -, @, also in full width or behind spaces, which a spreadsheet may drop, or with
    a tab or a line end, except for numbers. Apostrophes before these
    characters count as part of the text, so that reading removes exactly the one that writing added.
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
    """Write a CSV file atomically, with Unix line ends; `read_table` returns the same texts (see `csv_cell`)."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    # Names with other separators are quoted, since the header tells readers which one it is.
    odd = any(mark in name for name in header for mark in SEPARATORS)
    first = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL)
    first.writerow([csv_cell(name) for name in header])
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    write_text(path, text.getvalue())


def byte_size(count: int) -> str:
    """A number of bytes in readable units."""
    for unit, number in (("GB", 1e9), ("MB", 1e6)):
        if count >= number / 10:
            return f"{count / number:,.1f} {unit}"
    return f"{count / 1e3:,.1f} kB"


def is_plain_name(name: str) -> bool:
    """Whether a file name from untrusted data refers to a file in the same folder."""
    return name not in {"", ".", ".."} and not set(name) & {"/", "\\", "\0"}


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be written to, existing or to be created, before any work is done for it."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    try:
        if not there.is_dir():
            raise NotADirectoryError(f"{there} is a file" if there != folder.absolute() else "it is a file")
        with TemporaryFile(dir=there):  # unnamed, so that a killed process leaves nothing behind
            pass
    except OSError as error:
        raise UserError(f"{folder}: cannot be written to ({error.strerror or error}); give another folder") from None


def check_file_writable(path: Path) -> None:
    """Refuse a file that cannot be written to, existing or to be created, before any work is done for it."""
    try:
        check_writable(path.absolute().parent)
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        if path.exists():
            path.open("ab").close()
    except (OSError, UserError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else "its folder cannot be written to"
        raise UserError(f"{path}: cannot be written to ({reason}); give another file") from None

"""Captions read from Parquet, TSV and CSV files in batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unseen.errors import UserError, did_you_mean
from unseen.files import byte_size, table_header
from unseen.reading.guard import reading
from unseen.text.words import whole_number

BATCH = 20_000
"""Rows per batch of a Parquet file; text files are read in blocks of bytes."""
BLOCK = 4 << 20
MOST_TEXT = 1 << 28
READ = 1 << 20
"""Bytes of a column read at a time, since one row group may be as large as the whole file."""
SUFFIXES = {".parquet": "parquet", ".tsv": "\t", ".txt": "\t", ".csv": ","}
COMPRESSED = (".gz", ".bz2", ".zst")


@dataclass(frozen=True)
class Columns:
    """Which columns hold the image id and its text.

    Columns are given by name, or by number from 1 for a text file without a header, such as YFCC's.
    """

    id: str
    text: str

    def __post_init__(self) -> None:
        if self.numbered and 0 in (int(self.id), int(self.text)):
            raise UserError("columns of a file without a header are numbered from 1, not from 0")

    @property
    def numbered(self) -> bool:
        return whole_number(self.id) is not None and whole_number(self.text) is not None


@dataclass(frozen=True)
class Batch:
    """Ids and texts of some rows; `damaged` counts rows without an id, with a wrong number of fields, or not UTF-8."""

    ids: list[str]
    texts: list[str]
    damaged: int = 0


def caption_files(places: Sequence[Path]) -> list[Path]:
    """The caption files among `places`; a folder stands for all files below it with a known suffix, sorted by path."""
    files = list[Path]()
    for place in places:
        if place.is_dir():
            inside = sorted(path for path in place.rglob("*") if path.is_file() and _kind(path))
            if not inside:
                raise UserError(f"{place}: contains no file with the suffix {', '.join(SUFFIXES)}")
            files += inside
        elif not place.is_file():
            raise UserError(f"{place}: no such file or folder")
        elif not _kind(place):
            raise UserError(f"{place}: not a caption file; supported suffixes: {', '.join(SUFFIXES)}")
        else:
            files.append(place)
    return files


def read_captions(path: Path, columns: Columns) -> Iterator[Batch]:
    """All rows of a file in batches; a missing text is given as an empty one. Only one batch is in memory at a time."""
    with reading(path, "captions that can be read"):
        yield from (_parquet if _kind(path) == "parquet" else _text)(path, columns)


def column_names(path: Path) -> list[str]:
    """The column names of a Parquet file, or of a text file with a header."""
    with reading(path, "a table with a header"):
        if _kind(path) == "parquet":
            import pyarrow.parquet as pq

            return [str(name) for name in pq.read_schema(path).names]
        return list(table_header(path))


def _kind(path: Path) -> str | None:
    whole = path.with_suffix("") if path.suffix in COMPRESSED else path
    return SUFFIXES.get(whole.suffix.lower())


def _parquet(path: Path, columns: Columns) -> Iterator[Batch]:
    import pyarrow.parquet as pq

    names = [columns.id, columns.text]
    # Repeated texts are stored once in a dictionary. It is only expanded after the total size has been checked.
    with pq.ParquetFile(path, buffer_size=READ, pre_buffer=False, read_dictionary=names) as file:
        _check(path, columns, file.schema_arrow.names)
        for batch in file.iter_batches(BATCH, columns=names):
            yield _batch(*(_unpacked(batch[name], f"{path}: the column '{name}'") for name in names))


def _unpacked(column: Any, where: str) -> Any:
    """A Parquet column without its dictionary encoding; refused if its texts are larger than captions can be."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        if pa.types.is_nested(column.type):
            raise UserError(f"{where} has values of the type {column.type}, not texts")
        return column
    size = pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
    if size > MOST_TEXT:
        raise UserError(f"{where} has {byte_size(size)} in {len(column):,} rows, too large for captions")
    return column.dictionary_decode()


def _text(path: Path, columns: Columns) -> Iterator[Batch]:
    import pyarrow as pa
    from pyarrow import csv

    tabs = _kind(path) == "\t"
    damaged = 0

    def count(_: Any) -> str:
        nonlocal damaged
        damaged += 1
        return "skip"

    wanted = Columns(f"f{int(columns.id) - 1}", f"f{int(columns.text) - 1}") if columns.numbered else columns
    # Quotes in a TSV file are ordinary characters: many captions contain one that is never closed.
    parse = csv.ParseOptions(
        delimiter="\t" if tabs else ",",
        quote_char=False if tabs else '"',
        newlines_in_values=not tabs,
        invalid_row_handler=count,
    )
    read = csv.ReadOptions(block_size=BLOCK, use_threads=False, autogenerate_column_names=columns.numbered)
    with csv.open_csv(str(path), read_options=read, parse_options=parse) as reader:
        _check(path, wanted, reader.schema.names)
    damaged = 0  # the rows of the first block are read again
    # All columns are read as bytes: values that look like numbers at first may be texts further down, and one invalid
    # UTF-8 text would otherwise abort the whole file.
    convert = csv.ConvertOptions(
        include_columns=[wanted.id, wanted.text], column_types={wanted.id: pa.binary(), wanted.text: pa.binary()}
    )
    with csv.open_csv(str(path), read_options=read, parse_options=parse, convert_options=convert) as reader:
        for batch in reader:
            yield _batch(batch[wanted.id], batch[wanted.text], damaged)
            damaged = 0
        if damaged:
            yield Batch([], [], damaged)


def _check(path: Path, columns: Columns, names: Sequence[str]) -> None:
    for name in (columns.id, columns.text):
        if name not in names:
            hint = did_you_mean(name, names) or f"; there are {', '.join(map(str, names))}"
            raise UserError(f"{path}: no column '{name}'{hint}")


def _batch(ids: Any, texts: Any, damaged: int = 0) -> Batch:
    import pyarrow as pa

    try:
        pairs = list(zip(_texts(ids), _texts(texts), strict=True))
    except (pa.ArrowInvalid, UnicodeDecodeError):
        pairs = [(_decoded(key), _decoded(text)) for key, text in zip(_bytes(ids), _bytes(texts), strict=True)]
    # Without this, all rows without an id would count as one image.
    good = [(key, text) for key, text in pairs if key and text is not None]
    return Batch([key for key, _ in good], [text for _, text in good], damaged + len(pairs) - len(good))


def _texts(column: Any) -> list[str | None]:
    import pyarrow as pa

    texts: list[str | None] = column.cast(pa.string()).fill_null("").to_pylist()
    return texts


def _bytes(column: Any) -> list[bytes]:
    import pyarrow as pa

    kind = column.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    raw = column if text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else column.cast(pa.string())
    values: list[bytes] = raw.cast(pa.binary()).fill_null(b"").to_pylist()
    return values


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None

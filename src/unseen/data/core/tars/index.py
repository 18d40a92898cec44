"""An index of the images in tar files, built once and stored in a file.

It is an Arrow file that is memory-mapped, so that all processes share it. For each image it has the id, class, tar
file, offset and size; its metadata has the classes and the name, size and modification time of each tar file, by which
an outdated index is detected.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from unseen.data.core.entries import EntryTable
from unseen.data.core.open_files import FileState, open_file
from unseen.data.core.source import Entry
from unseen.data.core.tars.headers import BLOCK, DamageError, read_header
from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.reading.arrow_tables import read_arrow
from unseen.reading.guard import reading
from unseen.reading.json_records import typed

FORMAT = 1
SUFFIX = ".unseen-index"
ROWS_PER_BATCH = 1_000_000
SPOT_CHECKS = 16


@dataclass(frozen=True)
class Group:
    """Consecutive images: those of a class, or of a shard. Groups are sorted by `name`.

    Attributes:
        tar: index of the tar file that contains them.
        places: offset and size of each image.
        classes: classes to include even if they have no image.
    """

    name: str
    tar: int
    entries: Sequence[Entry]
    places: Sequence[tuple[int, int]]
    classes: Sequence[str] = ()


Groups = Iterator[Group]
Watch = Callable[[Groups], Iterable[Group]]
"""Wraps groups while an index is built, to show progress."""


@dataclass(frozen=True)
class Index:
    """An index that was read: the tar files of one folder, the entries, and the position of each."""

    tars: tuple[FileState, ...]
    entries: EntryTable
    table: Any

    def place(self, number: int) -> tuple[FileState, int, int]:
        """(tar file, offset, size) of an image."""
        tar, offset, size = (self.table[name][number].as_py() for name in ("tar", "offset", "size"))
        return self.tars[tar], offset, size


def index_tars(
    place: Path, tars: Sequence[Path], settings: str, find: Callable[[], Groups], cache: Path | None, watch: Watch
) -> tuple[Path, str]:
    """The file and key of an up-to-date index, which is built if there is none.

    Args:
        place: the path given by the user; the index is stored beside it, or in the user's cache if that is not
            writable.
        tars: the files, all in one folder.
        settings: everything else that determines the index.
        find: goes through the tar files.
        cache: a folder for the index.
    """
    open_index.cache_clear()  # the file may have been replaced or damaged since
    stamps = [FileState.at(tar) for tar in tars]
    key = hashlib.sha256(json.dumps([FORMAT, settings, [astuple(tar) for tar in stamps]]).encode()).hexdigest()
    files = _where_to_keep(place, cache)
    for file in files:
        if _is_sound(file, key, tars):
            return file, key
    file = next((file for file in files if _can_be_written(file)), files[-1])
    _write_index(file, key, stamps, watch(find()), place)
    open_index.cache_clear()  # an index with the same key may have been found invalid
    return file, key


@lru_cache(maxsize=8)
def open_index(file: Path, key: str) -> Index:
    """Memory-map an index; an index of other tar files, or of an earlier state of them, is an error."""
    with reading(file, "a readable index", "delete it, and it will be built again"):
        table = read_arrow(file)
        about = typed(json.loads(table.schema.metadata[b"unseen"]), _About, str(file))
        if dict(zip(table.schema.names, table.schema.types, strict=True)) != _types():
            raise ValueError("other columns")
        if any(column.null_count for column in table.columns):
            raise ValueError("images without a place")
        _check_numbers(table, "class", len(about.classes))
        _check_numbers(table, "tar", len(about.tars))
        entries = EntryTable(table["id"], table["class"], about.classes)
    if about.key != key:
        raise UserError(f"{file}: the index was built again since these images were opened; open them again")
    return Index(tuple(FileState(*tar) for tar in about.tars), entries, table)


@dataclass(frozen=True)
class _About:
    """The metadata of an index, including the name, size and modification time of each tar file."""

    key: str
    tars: tuple[tuple[str, int, int], ...]
    classes: tuple[str, ...]


def _types() -> dict[str, Any]:
    import pyarrow as pa

    return {"id": pa.string(), "class": pa.int32(), "tar": pa.int32(), "offset": pa.int64(), "size": pa.int64()}


def _check_numbers(table: Any, column: str, count: int) -> None:
    """Every value of a column must be below a count."""
    import pyarrow.compute as pc

    bounds = pc.min_max(table[column]).as_py()
    if table.num_rows and not 0 <= bounds["min"] <= bounds["max"] < count:
        raise ValueError(f"the column {column} has values out of range")


def _write_index(file: Path, key: str, tars: Sequence[FileState], groups: Iterable[Group], place: Path) -> None:
    import pyarrow as pa

    types = _types()
    code: dict[str, int] = {}
    batches: list[tuple[str, Any]] = []
    for group in groups:
        for name in group.classes:
            code.setdefault(name, len(code))
        columns = (
            [entry.id for entry in group.entries],
            [code.setdefault(entry.label, len(code)) for entry in group.entries],
            [group.tar] * len(group.entries),
            [offset for offset, _ in group.places],
            [size for _, size in group.places],
        )
        arrays = [pa.array(column, type_) for column, type_ in zip(columns, types.values(), strict=True)]
        batches.append((group.name, pa.record_batch(arrays, names=list(types))))
    if not any(batch.num_rows for _, batch in batches):
        raise UserError(f"{place}: contains no images")
    batches.sort(key=lambda named: named[0])
    about = {"key": key, "tars": [astuple(tar) for tar in tars], "classes": list(code)}
    schema = pa.schema(list(types.items()), metadata={"unseen": json.dumps(about)})
    with atomic_write(file) as out, pa.ipc.new_file(out, schema) as writer:
        for batch in _merged(batch for _, batch in batches):
            writer.write_batch(batch.replace_schema_metadata(schema.metadata))


def _merged(batches: Iterable[Any]) -> Iterator[Any]:
    """The same rows in few batches: a lookup among 20,000 batches would be slow."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= ROWS_PER_BATCH:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting = []
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _where_to_keep(place: Path, cache: Path | None) -> list[Path]:
    place = place.resolve() if place.name in {"", ".."} else place.absolute()
    apart = f"{place.name}-{hashlib.sha256(str(place).encode()).hexdigest()[:12]}{SUFFIX}"
    if cache is not None:
        return [cache / apart]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [place.with_name(place.name + SUFFIX), home / "unseen" / apart]


def _can_be_written(file: Path) -> bool:
    return file.parent.is_dir() and os.access(file.parent, os.W_OK)


def _is_sound(file: Path, key: str, tars: Sequence[Path]) -> bool:
    """Whether an index exists, belongs to these tar files, and is right for a sample of its images."""
    if not file.is_file():
        return False
    try:
        index = open_index(file, key)
        rows = len(index.entries)
        return rows > 0 and all(
            _is_there(index, number, tars[0].parent)
            for number in {i * (rows - 1) // (SPOT_CHECKS - 1) for i in range(SPOT_CHECKS)}
        )
    except (UserError, DamageError):
        return False


def _is_there(index: Index, number: int, folder: Path) -> bool:
    """Whether an image is at its indexed position: in a tar file, a member's header comes right before its data."""
    tar, offset, size = index.place(number)
    return read_header(open_file(folder / tar.name, tar).read(offset - BLOCK, BLOCK)).size == size

"""Images inside Parquet files, as data sets on the Hugging Face Hub have them; read in place.

A column holds the bytes of each image, or structs of bytes and the path that they came from. The type that the data
set declares for a column (the names of its classes, for instance) is in the metadata of the file's schema.

A file consists of row groups, and the values of a row group can only be read from its beginning. Each process streams
through a row group once, a few images at a time, as images are asked for in order: at most a page of the file and those
images are in memory, whatever the size of the row group. An image before the current one starts its row group again.
"""

import json
import os
import threading
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import Any

from unseen.data.core.entries import EntryTable
from unseen.data.core.image_files import image_bytes
from unseen.data.core.links import Links, current_links, refuse_links_out
from unseen.data.core.open_files import FileState
from unseen.data.core.releases import provenance
from unseen.data.sources.columns import (
    SEVERAL,
    Labels,
    holds_images,
    image_column,
    is_text,
    label_column,
    labels_of,
    row_values,
)  # fmt: skip
from unseen.errors import UserError
from unseen.files import byte_size
from unseen.reading.guard import reading
from unseen.reading.json_records import typed
from unseen.reading.parquet_pages import Pages, pages

METADATA, METADATA_PLACE = b"huggingface", "the metadata 'huggingface'"
BUFFER = 1 << 20
"""Bytes read at a time."""
STEP_BYTES, MOST_STEP = 1 << 23, 64
"""Bytes of images that are usually taken from a row group at a time, and their largest number."""
MOST_STEP_BYTES = 1 << 29
"""Bytes that so many images take at most, however unequal they are."""
MOST_LABELS = 1 << 30
"""Bytes of the labels of a file, expanded."""
PARQUET, EXPECTED = ".parquet", "a readable Parquet file"


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file as it was when its data set was opened.

    Attributes:
        starts: first row of each row group, and the number of all rows.
    """

    path: Path
    state: FileState
    starts: tuple[int, ...]


@dataclass(frozen=True)
class ParquetImages:
    """Images in a column of Parquet files; each process reads the files itself.

    Attributes:
        root: the folder of images that are stored beside the files.
        links: where symbolic links below the root may lead.
        ends: number of rows up to the end of each file.
    """

    files: tuple[ParquetFile, ...]
    column: str
    root: Path
    ends: tuple[int, ...]
    entries: EntryTable
    about: dict[str, str]
    links: Links = field(default_factory=current_links)

    def __post_init__(self) -> None:
        self.links.refuse_everything(self.root)

    def read(self, number: int) -> bytes:
        part = bisect_right(self.ends, number)
        file = self.files[part]
        row = number - (self.ends[part - 1] if part else 0)
        if FileState.at(file.path) != file.state:
            raise UserError(f"{file.path}: changed since it was opened; run the command again")
        value = _stream(file, self.column, os.getpid()).value(row)
        if not isinstance(value, Mapping):
            return value or b""
        data, path = value.get("bytes"), value.get("path")
        if data is None and path:
            return _beside(file.path, self.root, row, path, self.links)
        return data or b""  # no image at all, which decoding reports as an empty one


def parquet_files(
    place: Path,
    *,
    root: Path | None = None,
    image: str | None = None,
    label: str | None = None,
    captions: bool = False,
) -> ParquetImages:
    """Images and classes of a Parquet file, or of those that a pattern such as `data/train-*.parquet` names."""
    paths = sorted(place.parent.glob(place.name)) if is_pattern(place) else [place]
    if not paths:
        raise UserError(f"{place}: no such files")
    if is_pattern(place):
        refuse_links_out(place.parent, paths)
    return parquet_images(paths, root=root, image=image, label=label, captions=captions)


def is_pattern(place: Path) -> bool:
    """Whether a path names several Parquet files by a star in the name of a file."""
    return "*" in place.name and place.suffix.lower() == PARQUET and not place.exists()


def parquet_images(
    paths: Sequence[Path],
    *,
    root: Path | None = None,
    image: str | None = None,
    label: str | None = None,
    captions: bool = False,
) -> ParquetImages:
    """Images and classes of Parquet files with the same columns, in the order of the files; the ids are row numbers.

    Args:
        root: the folder of images that are stored beside the files; by default the folder of the first file.
        image, label: names of the columns; detected by their types if not given. Class names are used if the data set
            has them.
        captions: whether labels are captions.
    """
    files, found = list[ParquetFile](), list[Labels]()
    for path in paths:
        with reading(path, EXPECTED):
            state = FileState.at(path)
            with _opened(path) as file:
                schema, features = file.schema_arrow, declared_features(path, file.schema_arrow)
                image = image_column(path, features, schema, image)
                label = label_column(path, features, schema, label, captions=captions)
                found.append(_labels(path, file, label, features.get(label), captions=captions))
                sizes = (file.metadata.row_group(group).num_rows for group in range(file.num_row_groups))
                files.append(ParquetFile(path, state, tuple(accumulate(sizes, initial=0))))
    if len({each.several for each in found}) > 1:
        raise UserError(f"{paths[0].parent}: the column '{label}' has one class in some files, and several in others")
    where = str(paths[0]) if len(paths) == 1 else f"{paths[0].parent} ({len(paths):,} Parquet files)"
    labels = (label for each in found for label in each.of_rows)
    entries = EntryTable.of(((f"{row:08d}", name) for row, name in enumerate(labels)), where)
    facts = {SEVERAL: "yes"} if found[0].several else {}
    about = provenance("Parquet files with images", entries.classes, len(entries), **facts)
    ends = tuple(accumulate(file.starts[-1] for file in files))
    return ParquetImages(tuple(files), str(image), root or paths[0].parent, ends, entries, about)


def has_images(path: Path, image: str | None = None) -> bool:
    """Whether a Parquet file contains images, rather than listing their paths.

    Args:
        image: the column of the images or their paths, if it is known.
    """
    with reading(path, EXPECTED), _opened(path) as file:
        schema = file.schema_arrow
        if image is not None:
            return image in schema.names and holds_images(schema.field(image).type)
        declared = {name for name, value in declared_features(path, schema).items()
                    if isinstance(value, dict) and value.get("_type") == "Image"}  # fmt: skip
        kinds = {name: schema.field(name).type for name in dict.fromkeys(schema.names) if schema.names.count(name) == 1}
        return any(
            not is_text(kind) if name in declared else holds_images(kind) and (name == "image" or kind.num_fields > 0)
            for name, kind in kinds.items()
        )


def has_several(path: Path, label: str | None = None) -> bool:
    """Whether images have several classes each, by the column's type."""
    import pyarrow as pa

    with reading(path, EXPECTED), _opened(path) as file:
        schema = file.schema_arrow
        name = label_column(path, declared_features(path, schema), schema, label, captions=False)
        return bool(pa.types.is_nested(schema.field(name).type))


def declared_features(path: Path, schema: Any) -> dict[str, Any]:
    """Column → type, as the data set describes it in the metadata of a schema; empty if it does not."""
    text = (schema.metadata or {}).get(METADATA)
    if text is None:
        return {}
    where = f"{path}, {METADATA_PLACE}"
    about = typed(json.loads(text), dict[str, Any], where)
    info = typed(about.get("info") or {}, dict[str, Any], f"{where}, info")
    features: dict[str, Any] = typed(info.get("features") or {}, dict[str, Any], f"{where}, features")
    return features


def _opened(path: Path, columns: Sequence[str] = ()) -> Any:
    """A file of which nothing but the footer has been read.

    Args:
        columns: leaves whose texts are to stay references to the dictionaries of the file.
    """
    from pyarrow import parquet

    return parquet.ParquetFile(str(path), buffer_size=BUFFER, pre_buffer=False, read_dictionary=list(columns))


def _labels(path: Path, file: Any, column: str, feature: Any, *, captions: bool) -> Labels:
    """The labels of all rows of a file, which are refused if they are more than its bytes can stand for."""
    if not file.metadata.num_rows:
        return Labels([])
    size = path.stat().st_size
    found = [each for group in range(file.num_row_groups) for each in _pages(path, file, group, column)]
    most = max(file.metadata.num_rows, sum(each.values for each in found))
    if most > size:
        raise ValueError(f"{most:,} labels in {size:,} bytes")
    expanded = sum(sum(each.sizes) for each in found)
    if expanded > MOST_LABELS:
        raise UserError(f"{path}: the column '{column}' expands to {byte_size(expanded)}, too large for labels")
    leaves = [file.schema.column(number).path for number in _leaves(file, 0, column)]
    texts = leaves if _of_text(file.schema_arrow.field(column).type) else []
    with _opened(path, texts) as again:
        values = again.read(columns=leaves, use_threads=False)[column]
    rows = row_values(values, f"{path}: the column '{column}'")
    return labels_of(path, column, rows, feature, f"{path}, {METADATA_PLACE}", captions=captions)


def _of_text(kind: Any) -> bool:
    import pyarrow as pa

    return is_text(kind.value_type if pa.types.is_nested(kind) and hasattr(kind, "value_type") else kind)


def _leaves(file: Any, group: int, column: str) -> list[int]:
    """Numbers of the physical columns that make up a column."""
    metadata = file.metadata.row_group(group)
    paths = [metadata.column(number).path_in_schema for number in range(metadata.num_columns)]
    return [number for number, path in enumerate(paths) if path == column or path.startswith(f"{column}.")]


def _pages(path: Path, file: Any, group: int, column: str) -> list[Pages]:
    """The pages of a column in a row group; they are checked before any of them is expanded."""
    metadata = file.metadata.row_group(group)
    with path.open("rb") as raw:
        return [pages(path, raw, metadata.column(number)) for number in _leaves(file, group, column)]


def _beside(file: Path, root: Path, row: int, text: str, links: Links) -> bytes:
    """An image that is stored as a file below the data set's folder."""
    given = PurePosixPath(text.replace("\\", "/"))
    if given.is_absolute() or ".." in given.parts or not text.isprintable():
        raise UserError(f"{file}: row {row} names {text!a}, which is not below {root}; give its folder (root)")
    path = root / given
    links.refuse_out(path, root)
    with reading(path, "an image"):
        return image_bytes(path)


class _Stream:
    """The images of a file, read row group by row group as they are asked for.

    Attributes:
        rows: the rows in memory, the last two steps: threads that take turns ask for images a little out of order.
    """

    def __init__(self, file: ParquetFile, column: str) -> None:
        self.path, self.starts, self.column = file.path, file.starts, column
        self.file = _opened(file.path)
        self.lock = threading.Lock()
        self.group, self.next = -1, 0
        self.steps: Iterator[Any] = iter(())
        self.rows: list[tuple[int, Any]] = []

    def value(self, row: int) -> Any:
        with self.lock, reading(self.path, EXPECTED):
            group = bisect_right(self.starts, row) - 1
            if group != self.group or row < self.rows[0][0]:
                self._start(group)
            while row >= self.next:
                batch = next(self.steps, None)
                if batch is None:
                    raise EOFError
                self.rows = [*self.rows[-1:], (self.next, batch.column(0))]
                self.next += len(batch)
            start, values = self.rows[-1] if row >= self.rows[-1][0] else self.rows[0]
            return values[row - start].as_py()

    def _start(self, group: int) -> None:
        """Read a row group from its beginning."""
        size = self.starts[group + 1] - self.starts[group]
        leaves = _pages(self.path, self.file, group, self.column)
        expanded = sum(sum(leaf.sizes) + leaf.dictionary for leaf in leaves)
        usual = min(MOST_STEP, max(1, STEP_BYTES * size // max(expanded, 1)))
        step = min(usual, *(leaf.rows_within(MOST_STEP_BYTES) for leaf in leaves))
        self.group, self.next, self.rows = group, self.starts[group], [(self.starts[group], ())]
        self.steps = self.file.iter_batches(step, row_groups=[group], columns=[self.column], use_threads=False)


@lru_cache(maxsize=2)
def _stream(file: ParquetFile, column: str, process: int) -> _Stream:
    """The stream of a file; a forked process has its own, since threads of its parent may have held the lock."""
    return _Stream(file, column)

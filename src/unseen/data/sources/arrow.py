"""Hugging Face data sets saved by `save_to_disk`: memory-mapped Arrow files and the JSON files that describe them."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from unseen.data.core.entries import EntryTable
from unseen.data.core.releases import provenance
from unseen.errors import UserError, did_you_mean
from unseen.reading.arrow_tables import read_arrow
from unseen.reading.json_records import read_json, typed

INFO, STATE, SPLITS = "dataset_info.json", "state.json", "dataset_dict.json"


@dataclass(frozen=True)
class ArrowImages:
    """Images in a column of Arrow files; each process maps the files itself."""

    files: tuple[Path, ...]
    column: str
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> bytes:
        rows = _open_files(self.files)
        part = bisect_right(rows.ends, number)
        # Reading a memory map past the end of its file would kill the process.
        if self.files[part].stat().st_size != rows.sizes[part]:
            raise UserError(f"{self.files[part]}: changed since it was opened; run the command again")
        value = rows.table[self.column][number].as_py()
        data = value.get("bytes") if isinstance(value, dict) else value
        if not isinstance(data, bytes):
            raise UserError(
                f"{self.files[0].parent}: image {number} is stored outside of the Arrow files; "
                "save the data set again with its images embedded"
            )
        return data


def arrow_images(
    folder: Path, *, split: str | None = None, image: str | None = None, label: str | None = None
) -> ArrowImages:
    """Images and classes of a saved data set; the ids are row numbers.

    Args:
        split: the split to read, needed if the folder has several.
        image, label: names of the columns; detected by their types if not given. Class names are used if the data set
            has them.
    """
    folder = _split_folder(folder, split)
    features = typed(read_json(folder / INFO).get("features") or {}, dict[str, Any], f"{folder / INFO}, features")
    image = image or _column(folder, features, "Image", "image")
    label = label or _column(folder, features, "ClassLabel", "label")
    state = read_json(folder / STATE)
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise UserError(f"{folder}: its rows are selected by an index; call flatten_indices() and save it again")
    named = typed(state.get("_data_files"), list[dict[str, str]], f"{folder / STATE}, _data_files")
    files = tuple(folder / Path(file.get("filename", "")).name for file in named)
    if not files or folder in files:
        raise UserError(f"{folder / STATE}: does not name the data files")
    _open_files.cache_clear()  # the files may have been rewritten since they were opened
    table = _open_files(files).table
    for name in (image, label):
        if name not in table.column_names:
            hint = did_you_mean(name, table.column_names) or f"; there are {', '.join(table.column_names)}"
            raise UserError(f"{folder}: no column '{name}'{hint}")
    if not _holds_images(table[image].type):
        raise UserError(f"{folder}: the column '{image}' has values of the type {table[image].type}, not images")
    labels = _labels(folder, label, plain_values(table[label], f"{folder}: the column '{label}'"), features.get(label))
    entries = EntryTable.of(((f"{row:08d}", name) for row, name in enumerate(labels)), str(folder))
    about = provenance("Hugging Face data set", entries.classes, len(entries), **({"split": split} if split else {}))
    return ArrowImages(files, image, entries, about)


def _split_folder(folder: Path, split: str | None) -> Path:
    if not (folder / SPLITS).is_file():
        return folder
    splits = typed(read_json(folder / SPLITS).get("splits"), list[str], f"{folder / SPLITS}, splits")
    if split is None:
        raise UserError(f"{folder}: has the splits {', '.join(splits)}; choose one (split)")
    if split not in splits:
        raise UserError(f"{folder}: no split '{split}'{did_you_mean(split, splits)}; available: {', '.join(splits)}")
    return folder / Path(split).name


def _column(folder: Path, features: Mapping[str, Any], kind: str, option: str) -> str:
    """The only column of the given type, or the one with a usual name if there are several."""
    candidates = [name for name, value in features.items() if isinstance(value, dict) and value.get("_type") == kind]
    if not candidates and option in features:
        return option
    if len(candidates) != 1:
        which = (
            f"several columns of type {kind} ({', '.join(candidates)})" if candidates else f"no column of type {kind}"
        )
        raise UserError(f"{folder}: {which}; name the column to use ({option})")
    return candidates[0]


def _holds_images(kind: Any) -> bool:
    """Whether a column holds bytes, or structs of bytes and the path they came from."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return all(
            _holds_images(field.type) or pa.types.is_string(field.type) or pa.types.is_null(field.type)
            for field in kind
        )
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def plain_values(column: Any, where: str) -> list[Any]:
    """The numbers or texts of a column. Other types are refused, since a few bytes of them could expand to any size."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        parts = [(chunk.dictionary.to_pylist(), chunk.indices.to_pylist()) for chunk in column.chunks]
        return [None if index is None else names[index] for names, indices in parts for index in indices]
    if not (
        pa.types.is_integer(column.type) or pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    ):
        raise UserError(f"{where} has values of the type {column.type}, not numbers or names of classes")
    values: list[Any] = column.to_pylist()
    return values


def _labels(folder: Path, column: str, values: list[Any], feature: Any) -> list[str]:
    names = feature.get("names") if isinstance(feature, dict) else None
    names = typed(names, list[str] | None, f"{folder / INFO}, features, {column}, names")
    labels: list[str] = []
    for row, value in enumerate(values):
        known = isinstance(value, int) and (names is None or 0 <= value < len(names))
        if not known and not (isinstance(value, str) and value and value.isprintable()):
            raise UserError(f"{folder}: row {row} has no class in the column '{column}' ({value!r})")
        labels.append(str(names[value]) if isinstance(value, int) and names is not None else str(value))
    return labels


class _Rows(NamedTuple):
    """The rows of several Arrow files, one file after another.

    Attributes:
        ends: cumulative number of rows up to the end of each file.
        sizes: sizes of the files in bytes.
    """

    table: Any
    ends: list[int]
    sizes: list[int]


@lru_cache(maxsize=8)
def _open_files(files: tuple[Path, ...]) -> _Rows:
    import pyarrow as pa

    tables = [read_arrow(file) for file in files]
    try:
        table = pa.concat_tables(tables)
    except pa.ArrowException:
        raise UserError(f"{files[0].parent}: its data files have different columns") from None
    return _Rows(table, [*accumulate(len(part) for part in tables)], [file.stat().st_size for file in files])

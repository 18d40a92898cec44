"""Hugging Face data sets on disk (`save_to_disk`): Arrow files, mapped into memory, and JSON that describes them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from unseen.errors import UserError, did_you_mean
from unseen.files import read_text
from unseen.images.entries import EntryTable
from unseen.images.releases import provenance

INFO, STATE, SPLITS = "dataset_info.json", "state.json", "dataset_dict.json"


@dataclass(frozen=True)
class ArrowImages:
    """Images in a column of Arrow files, which every process maps for itself."""

    files: tuple[Path, ...]
    column: str
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> bytes:
        value = _open_files(self.files)[self.column][number].as_py()
        data = value.get("bytes") if isinstance(value, dict) else value
        if not isinstance(data, bytes):
            raise UserError(
                f"{self.files[0].parent}: image {number} is not in the files themselves; "
                "save the data set again with its images embedded"
            )
        return data


def arrow_images(
    folder: Path, *, split: str | None = None, image: str | None = None, label: str | None = None
) -> ArrowImages:
    """Images and classes of a data set that was saved to disk; ids are the numbers of its rows.

    Args:
        split: which, where the folder has several.
        image, label: names of the columns; found by their types unless given. Classes get their names where the data
            set has them.
    """
    folder = _split_folder(folder, split)
    features = _json(folder / INFO).get("features") or {}
    image = image or _column(folder, features, "Image", "image")
    label = label or _column(folder, features, "ClassLabel", "label")
    state = _json(folder / STATE)
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise UserError(f"{folder}: its rows are chosen by an index; save it with flatten_indices()")
    try:
        files = tuple(folder / Path(file["filename"]).name for file in state["_data_files"])
    except (KeyError, TypeError):
        raise UserError(f"{folder / STATE}: does not name the data files") from None
    if not files:
        raise UserError(f"{folder}: has no data files")
    _open_files.cache_clear()  # the files may have been written anew
    table = _open_files(files)
    for name in (image, label):
        if name not in table.column_names:
            hint = did_you_mean(name, table.column_names) or f"; there are {', '.join(table.column_names)}"
            raise UserError(f"{folder}: no column '{name}'{hint}")
    labels = _labels(folder, label, table[label].to_pylist(), features.get(label))
    entries = EntryTable.of(((f"{row:08d}", name) for row, name in enumerate(labels)), str(folder))
    about = provenance("Hugging Face data set", entries.classes, len(entries), **({"split": split} if split else {}))
    return ArrowImages(files, image, entries, about)


def _split_folder(folder: Path, split: str | None) -> Path:
    if not (folder / SPLITS).is_file():
        return folder
    splits = [str(name) for name in _json(folder / SPLITS).get("splits", [])]
    if split is None:
        raise UserError(f"{folder}: has the splits {', '.join(splits)}; say which with --split")
    if split not in splits:
        raise UserError(f"{folder}: no split '{split}'{did_you_mean(split, splits)}; there are {', '.join(splits)}")
    return folder / Path(split).name


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_text(path))
    except ValueError:
        raise UserError(f"{path}: not JSON") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: not a JSON object")
    return content


def _column(folder: Path, features: Mapping[str, Any], kind: str, option: str) -> str:
    """The only column of a type, or else the one that is called what such columns usually are."""
    found = [name for name, value in features.items() if isinstance(value, dict) and value.get("_type") == kind]
    if not found and option in features:
        return option
    if len(found) != 1:
        which = f"several columns of type {kind} ({', '.join(found)})" if found else f"no column of type {kind}"
        raise UserError(f"{folder}: {which}; name the one to take with --{option}")
    return found[0]


def _labels(folder: Path, column: str, values: list[Any], feature: Any) -> list[str]:
    names = feature.get("names") if isinstance(feature, dict) else None
    labels: list[str] = []
    for row, value in enumerate(values):
        known = isinstance(value, int) and (names is None or 0 <= value < len(names))
        if not known and not (isinstance(value, str) and value and value.isprintable()):
            raise UserError(f"{folder}: row {row} has no class in the column '{column}' ({value!r})")
        labels.append(str(names[value]) if isinstance(value, int) and names is not None else str(value))
    return labels


@lru_cache(maxsize=8)
def _open_files(files: tuple[Path, ...]) -> Any:
    """The rows of Arrow files one after another, in the stream format or the file format."""
    import pyarrow as pa

    tables = []
    for file in files:
        try:
            mapped = pa.memory_map(str(file))
            try:
                tables.append(pa.ipc.open_stream(mapped).read_all())
            except pa.ArrowInvalid:
                mapped.seek(0)
                tables.append(pa.ipc.open_file(mapped).read_all())
        except FileNotFoundError:
            raise UserError(f"{file}: no such file") from None
        except (OSError, pa.ArrowException) as error:
            raise UserError(f"{file}: not a readable Arrow file ({str(error).splitlines()[0]})") from None
    try:
        return pa.concat_tables(tables)
    except pa.ArrowException:
        raise UserError(f"{files[0].parent}: its data files have different columns") from None

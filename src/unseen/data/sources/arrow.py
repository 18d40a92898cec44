"""Hugging Face data sets saved by `save_to_disk`: memory-mapped Arrow files and the JSON files that describe them."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from unseen.data.core.entries import EntryTable
from unseen.data.core.links import refuse_links_out
from unseen.data.core.releases import provenance
from unseen.data.sources.columns import SEVERAL, image_column, label_column, labels_of, row_values
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
        data, path = (value.get("bytes"), value.get("path")) if isinstance(value, dict) else (value, None)
        if data is None and path is None:
            return b""  # no image at all, which is reported as an empty one
        if not isinstance(data, bytes):
            raise UserError(
                f"{self.files[0].parent}: image {number} is stored outside of the Arrow files; "
                "save the data set again with its images embedded"
            )
        return data


def arrow_images(
    folder: Path,
    *,
    split: str | None = None,
    image: str | None = None,
    label: str | None = None,
    captions: bool = False,
) -> ArrowImages:
    """Images and classes of a saved data set; the ids are row numbers.

    Args:
        split: the split to read, needed if the folder has several.
        image, label: names of the columns; detected by their types if not given. Class names are used if the data set
            has them.
        captions: whether labels are captions.
    """
    folder = _split_folder(folder, split)
    features = typed(read_json(folder / INFO).get("features") or {}, dict[str, Any], f"{folder / INFO}, features")
    state = read_json(folder / STATE)
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise UserError(f"{folder}: its rows are selected by an index; call flatten_indices() and save it again")
    named = typed(state.get("_data_files"), list[dict[str, str]], f"{folder / STATE}, _data_files")
    files = tuple(folder / Path(file.get("filename", "")).name for file in named)
    refuse_links_out(folder, files)
    if not files or folder in files:
        raise UserError(f"{folder / STATE}: does not name the data files")
    _open_files.cache_clear()  # the files may have been rewritten since they were opened
    table = _open_files(files).table
    image = image_column(folder, features, table.schema, image)
    label = label_column(folder, features, table.schema, label, captions=captions)
    values = row_values(table[label], f"{folder}: the column '{label}'")
    labels = labels_of(folder, label, values, features.get(label), folder / INFO, captions=captions)
    entries = EntryTable.of(((f"{row:08d}", name) for row, name in enumerate(labels.of_rows)), str(folder))
    facts = ({"split": split} if split else {}) | ({SEVERAL: "yes"} if labels.several else {})
    about = provenance("Hugging Face data set", entries.classes, len(entries), **facts)
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

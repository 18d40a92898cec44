"""TOML files written by users, as typed records: a mistake gives one sentence with the file, the key and the remedy.

As in `json_records`, a record is a frozen dataclass and the types of its fields are the schema. A field without a
default is required. Paths are texts in a record; `beside` resolves them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from unseen.errors import UserError, did_you_mean
from unseen.reading.guard import read_bounded, reading
from unseen.reading.json_records import typed_fields
from unseen.reading.toml_text import parse_toml

Record = TypeVar("Record")
MOST_BYTES = 1 << 24


def read_toml(path: Path, cls: type[Record]) -> Record:
    """The record in a TOML file.

    All unknown keys are reported together, each with similar keys or else all keys; values of the wrong type and
    missing keys are also refused.
    """
    with reading(path, "TOML"):
        record = parse_toml(read_bounded(path, MOST_BYTES).decode("utf-8-sig"))
    return read_record(record, cls, str(path))


def read_record(record: Mapping[str, Any], cls: type[Record], where: str) -> Record:
    """A table of TOML as a record; errors as in `read_toml`.

    Args:
        where: the file and the table in it, for errors.
    """
    if problems := list(_unknown_keys(record, cls, where)):
        raise UserError("; ".join(problems))
    return cls(**typed_fields(record, cls, where, defaults=True))


def beside(file: Path, text: str) -> Path:
    """The path meant by a text in a file: relative to the file's own folder, unless the text is absolute."""
    return file.parent / Path(text).expanduser()


def _unknown_keys(record: Mapping[str, Any], cls: Any, where: str) -> Iterator[str]:
    """A sentence about each key that a dataclass, or a dataclass in its fields, does not have."""
    hints = get_type_hints(cls)
    known = [field.name for field in fields(cls)]
    for key, value in record.items():
        if key not in known:
            hint = did_you_mean(key, known) or f"; there are {', '.join(known)}"
            yield f"{where}: unknown key '{key}'{hint}"
            continue
        inner = next((each for each in (hints[key], *get_args(hints[key])) if is_dataclass(each)), None)
        if inner is not None and isinstance(value, Mapping):
            yield from _unknown_keys(value, inner, f"{where}, [{key}]")

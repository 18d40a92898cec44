"""JSON files as typed records, with errors that name the file and the key.

A record is a frozen dataclass, and the types of its fields are its schema: the values in a file must have these types,
and there must be no other keys. Bytes are stored in base64.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from unseen.errors import UserError, did_you_mean
from unseen.reading.guard import read_bounded, reading

MOST_BYTES = 1 << 28
LARGEST = 1 << 1000
"""Integers below this can be represented as floats."""
HALF = re.compile(rb"\\u[dD][89a-fA-F]")
NAMES = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    NoneType: "null",
    bytes: "base64",
}


PLAIN = {str, bool, int, float}
"""Types whose values are those of JSON."""
Where = str | tuple[Any, str]
"""A place in a file: its name, or a place and the key of a value there. It is only put into words for an error."""
Reader = Callable[[Any, Where, bool], Any]
"""From a JSON value, its place, and whether fields with defaults may be missing, to the typed value."""


def read_json(
    path: Path, advice: str = "get the file again", most: int = MOST_BYTES, *, unique: bool = False
) -> dict[str, Any]:
    """The object in a JSON file; a truncated file, invalid JSON or too deep nesting is an error.

    Args:
        advice: what the error advises.
        most: maximum size in bytes; a larger file is refused.
        unique: whether a key that an object has twice is refused; otherwise the last one counts, as usual.
    """
    with reading(path, "JSON", advice):
        content = read_bounded(path, most)
        record = json.loads(content, object_pairs_hook=_once if unique else None)
        if HALF.search(content):  # half of a surrogate pair, which JSON allows but no file can be written with
            json.dumps(record, ensure_ascii=False).encode()
        if not isinstance(record, dict):
            raise ValueError("it has no keys")
    return record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object with each key once: of two values under one key, readers would disagree which one counts."""
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = next(key for key in record if sum(key == other for other, _ in pairs) > 1)
        raise ValueError(f"the key {twice[:80]!a} is in an object twice")
    return record


def json_text(record: Mapping[str, Any]) -> str:
    """A record in JSON, as `typed` reads it."""
    return json.dumps(record, indent=1, ensure_ascii=False, default=_encoded)


def _encoded(value: bytes | range) -> str | list[int]:
    return b64encode(value).decode() if isinstance(value, bytes) else list(value)


def plain(record: Any, without: Collection[str] = ()) -> dict[str, Any]:
    """A dataclass as plain JSON types."""
    kept = {name: value for name, value in asdict(record).items() if name not in without}
    bare: dict[str, Any] = json.loads(json.dumps(kept, ensure_ascii=False, default=_encoded))
    return bare


def typed_fields(
    record: Mapping[str, Any], cls: Any, where: Where, *, without: Collection[str] = (), defaults: bool = False
) -> dict[str, Any]:
    """The fields of a dataclass, each checked for its type.

    Args:
        where: the file, and the key in it, for error messages.
        without: fields that are not in the record.
        defaults: whether a field with a default may be missing, as in records of earlier versions.
    """
    readers = _field_readers(cls)
    if without:
        readers = {name: reader for name, reader in readers.items() if name not in without}
    for key in () if record.keys() <= readers.keys() else record:
        if key not in readers:
            newer = "update unseen if it is newer"
            raise UserError(f"{_place(where)}: unknown key '{key}'{did_you_mean(key, readers)}; {newer}")
    values = {}
    for name, (reader, required) in readers.items():
        if name in record:
            values[name] = reader(record[name], (where, name), defaults)
        elif not defaults or required:
            raise UserError(f"{_place(where)}: the key '{name}' is missing")
    return values


@cache
def _field_readers(cls: Any) -> dict[str, tuple[Reader, bool]]:
    """Field → how it is read, and whether it has no default."""
    hints = get_type_hints(cls)
    return {
        field.name: (_reader(hints[field.name]), field.default is field.default_factory is MISSING)
        for field in fields(cls)
    }


def typed(value: Any, hint: Any, where: str, *, defaults: bool = False) -> Any:
    """A JSON value as a value of a type: a dataclass, a sequence, a mapping, a choice, or a plain value."""
    return _known_reader(hint, repr(hint))(value, where, defaults)


@lru_cache(maxsize=512)
def _known_reader(hint: Any, text: str) -> Reader:
    """The reader of a type; its text too identifies it, since unions of other orders are equal."""
    return _reader(hint)


def _reader(hint: Any) -> Reader:
    """The function that reads values of a type, so that a type is taken apart once and not for each value."""
    if is_dataclass(hint) and isinstance(hint, type):
        return lambda value, where, defaults: hint(
            **typed_fields(_mapping(value, where), hint, where, defaults=defaults)
        )
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return _union_reader(arguments)
    if origin is Literal:
        return partial(_choice, choices=arguments)
    if origin is not None and issubclass(origin, Mapping):
        each = _reader(arguments[1])
        return lambda value, where, defaults: {
            key: each(item, (where, key), defaults) for key, item in _mapping(value, where).items()
        }
    if origin is not None:
        return _items_reader(origin, arguments)
    return _as_it_is if hint is Any else partial(_exact_or_scalar, hint=hint)


def _as_it_is(value: Any, where: Where, defaults: bool) -> Any:
    return value


def _choice(value: Any, where: Where, defaults: bool, *, choices: Sequence[Any]) -> Any:
    if value not in choices:
        raise _wrong(value, f"one of {', '.join(map(str, choices))}", where)
    return value


def _exact_or_scalar(value: Any, where: Where, defaults: bool, *, hint: type[Any]) -> Any:
    return value if type(value) is hint else _scalar(value, hint, where)


def _mapping(value: Any, where: Where) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(value, "keys and values", where)
    return value


def _union_reader(hints: Sequence[Any]) -> Reader:
    """Reads a value of the first matching type; errors are those of the only possible type."""
    others = [hint for hint in hints if hint is not NoneType]
    readers, optional = [_reader(hint) for hint in others], NoneType in hints
    many = [reader for reader, hint in zip(readers, others, strict=True) if hint not in NAMES]
    exact = set[Any]() if bytes in others else {hint for hint in others if hint in NAMES}  # text may be bytes

    def one_of(value: Any, where: Where, defaults: bool) -> Any:
        if (value is None and optional) or type(value) in exact:
            return value
        if len(readers) == 1:
            return readers[0](value, where, defaults)
        for reader in many if isinstance(value, list | tuple | Mapping) else readers:
            try:
                return reader(value, where, defaults)
            except UserError:
                continue
        raise _wrong(value, " or ".join(NAMES.get(hint, "a list") for hint in others), where)

    return one_of


def _items_reader(origin: type[Any], hints: Sequence[Any]) -> Reader:
    fixed = origin is tuple and hints[-1] is not ...
    readers = [_reader(hint) for hint in (hints if fixed else hints[:1])]

    def items(value: Any, where: Where, defaults: bool) -> Any:
        if not isinstance(value, list | tuple):
            raise _wrong(value, "a list", where)
        if fixed and len(value) != len(hints):
            raise _wrong(value, f"a list of {len(hints)}", where)
        if not fixed and hints[0] in PLAIN and all(type(item) is hints[0] for item in value):
            return origin(value) if origin is tuple else [*value]
        found = [
            reader(item, (where, f"item {number}"), defaults)
            for number, (item, reader) in enumerate(zip(value, readers * (1 if fixed else len(value)), strict=True), 1)
        ]
        return tuple(found) if origin is tuple else found

    return items


def _place(where: Where) -> str:
    """A place in a file in words: the file, and the keys down to the value."""
    return where if isinstance(where, str) else f"{_place(where[0])}, {where[1]}"


def _scalar(value: Any, hint: type[Any], where: Where) -> Any:
    if hint is bytes and isinstance(value, str):
        try:
            return b64decode(value, validate=True)
        except ValueError:
            raise _wrong(value, NAMES[bytes], where) from None
    if hint is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST:
        return value
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise _wrong(value, NAMES.get(hint, hint.__name__), where)
    return value


def _wrong(value: Any, wanted: str, where: Where) -> UserError:
    shown = json.dumps(value, default=str) if not isinstance(value, dict | list) else "a list"
    shown = "keys and values" if isinstance(value, dict) else shown
    return UserError(f"{_place(where)}: must be {wanted}, not {shown[:60]}")

"""JSON files as typed records, with errors that name the file and the key.

A record is a frozen dataclass, and the types of its fields are its schema: the values in a file must have these types,
and there must be no other keys. Bytes are stored in base64.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache
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
    bare: dict[str, Any] = json.loads(json_text({k: v for k, v in asdict(record).items() if k not in without}))
    return bare


def typed_fields(
    record: Mapping[str, Any], cls: Any, where: str, *, without: Collection[str] = (), defaults: bool = False
) -> dict[str, Any]:
    """The fields of a dataclass, each checked for its type.

    Args:
        where: the file, and the key in it, for error messages.
        without: fields that are not in the record.
        defaults: whether a field with a default may be missing, as in records of earlier versions.
    """
    hints = _hints(cls)
    wanted = {field.name: field for field in fields(cls) if field.name not in without}
    for key in record:
        if key not in wanted:
            raise UserError(f"{where}: unknown key '{key}'{did_you_mean(key, wanted)}; update unseen if it is newer")
    values = {}
    for name, field in wanted.items():
        if name in record:
            values[name] = typed(record[name], hints[name], f"{where}, {name}", defaults=defaults)
        elif not defaults or field.default is field.default_factory is MISSING:
            raise UserError(f"{where}: the key '{name}' is missing")
    return values


@cache
def _hints(cls: Hashable) -> dict[str, Any]:
    return get_type_hints(cls)


def typed(value: Any, hint: Any, where: str, *, defaults: bool = False) -> Any:
    """A JSON value as a value of a type: a dataclass, a sequence, a mapping, a choice, or a plain value."""
    if is_dataclass(hint) and isinstance(hint, type):
        return hint(**typed_fields(_mapping(value, where), hint, where, defaults=defaults))
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return _one_of(value, arguments, where, defaults=defaults)
    if origin is not None and origin is not Literal and issubclass(origin, Mapping):
        items = _mapping(value, where).items()
        return {key: typed(each, arguments[1], f"{where}, {key}", defaults=defaults) for key, each in items}
    if origin is not None and origin is not Literal:
        return _items(value, origin, arguments, where, defaults=defaults)
    if origin is Literal and value not in arguments:
        raise _wrong(value, f"one of {', '.join(map(str, arguments))}", where)
    return value if hint is Any or origin is Literal else _scalar(value, hint, where)


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(value, "keys and values", where)
    return value


def _one_of(value: Any, hints: Sequence[Any], where: str, *, defaults: bool) -> Any:
    """A value of the first matching type; errors are those of the only possible type."""
    if value is None and NoneType in hints:
        return None
    others = [hint for hint in hints if hint is not NoneType]
    if len(others) == 1:
        return typed(value, others[0], where, defaults=defaults)
    for hint in others:
        try:
            return typed(value, hint, where, defaults=defaults)
        except UserError:
            continue
    raise _wrong(value, " or ".join(NAMES.get(hint, "a list") for hint in others), where)


def _items(value: Any, origin: type[Any], hints: Sequence[Any], where: str, *, defaults: bool) -> Any:
    if not isinstance(value, list | tuple):
        raise _wrong(value, "a list", where)
    if origin is tuple and hints[-1] is not ...:
        if len(value) != len(hints):
            raise _wrong(value, f"a list of {len(hints)}", where)
        each = hints
    else:
        each = [hints[0]] * len(value)
    items = [
        typed(item, hint, f"{where}, item {number}", defaults=defaults)
        for number, (item, hint) in enumerate(zip(value, each, strict=True), 1)
    ]
    return tuple(items) if origin is tuple else items


def _scalar(value: Any, hint: type[Any], where: str) -> Any:
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


def _wrong(value: Any, wanted: str, where: str) -> UserError:
    shown = json.dumps(value, default=str) if not isinstance(value, dict | list) else "a list"
    shown = "keys and values" if isinstance(value, dict) else shown
    return UserError(f"{where}: must be {wanted}, not {shown[:60]}")

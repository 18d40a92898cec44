"""Pages and figures whose texts are only texts (`unseen.text.plain`)."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from unseen.text.plain import plain_text

T = TypeVar("T")


def with_plain_texts(item: T) -> T:
    """A page, a figure or any part of them, in all of whose texts no character acts; the same object if none does."""
    plain: Any = _plain(item)
    return plain  # type: ignore[no-any-return]


def _plain(item: Any) -> Any:
    if isinstance(item, str):
        plain = plain_text(item)
        return item if plain == item else type(item)(plain)  # markup stays markup
    if type(item) in (list, tuple):
        values = [_plain(each) for each in item]
        return item if all(map(_same, values, item)) else type(item)(values)
    if isinstance(item, dict):
        pairs = {_plain(key): _plain(value) for key, value in item.items()}
        return item if all(map(_same, pairs, item)) and all(map(_same, pairs.values(), item.values())) else pairs
    if is_dataclass(item) and not isinstance(item, type):
        before = {field.name: getattr(item, field.name) for field in fields(item) if field.init}
        changed = {name: after for name, value in before.items() if (after := _plain(value)) is not value}
        return replace(item, **changed) if changed else item
    return item


def _same(one: object, other: object) -> bool:
    return one is other

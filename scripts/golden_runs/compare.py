"""Compares two recordings, number by number."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

SECTIONS = ("scores", "stores", "checks", "details", "arrays", "plans", "page")
"""What a recording has of each kind of work, in the order in which differences are shown."""
ALWAYS = ("scores", "stores", "checks")
"""Sections whose differences make the comparison fail; those of the others do if asked for."""


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[str]]:
    """Section → its differences, a line each; a check that fails in either recording counts as one."""
    return {section: list(_of(section, first[section], second[section])) for section in SECTIONS}


def _of(section: str, first: Any, second: Any) -> Iterator[str]:
    if section == "page":
        yield from difflib.unified_diff(first, second, "first", "second", lineterm="", n=0)
    elif section == "plans":
        yield from (f"step {place}: {a} and {b}" for place, (a, b) in enumerate(_aligned(first, second), 1) if a != b)
    else:
        for name in sorted({*first, *second}):
            a, b = first.get(name), second.get(name)
            if a != b or (section == "checks" and a is not True):
                yield f"{name}: {_shown(a)} and {_shown(b)}"


def _aligned(first: Sequence[Any], second: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    for place in range(max(len(first), len(second))):
        yield tuple(each[place] if place < len(each) else None for each in (first, second))  # type: ignore[misc]


def _shown(value: Any) -> str:
    """A number also in decimals; None for one that is not there."""
    if isinstance(value, str) and value.startswith(("0x", "-0x")):
        numbers = [float.fromhex(word) for word in value.split()]
        return f"{value} ({', '.join(f'{number:.6g}' for number in numbers)})"
    return "nothing" if value is None else str(value)

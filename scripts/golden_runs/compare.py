"""Compares two recordings, number by number."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

SECTIONS = ("scores", "stores", "checks", "details", "arrays", "plans", "page")
"""What a recording has of each kind of work, in the order in which differences are shown."""
ALWAYS = ("scores", "stores", "checks")
"""Sections whose differences make the comparison fail; those of the others do if asked for."""
HEXADECIMAL = re.compile(r"-?0x[\da-f.]+p[+-]\d+")


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[str]]:
    """Section → its differences, a line each; a check that fails in either recording counts as one."""
    return {section: list(_of(section, first[section], second[section])) for section in SECTIONS}


def _of(section: str, first: Any, second: Any) -> Iterator[str]:
    if section == "page":
        yield from difflib.unified_diff(first, second, "first", "second", lineterm="", n=0)
    else:
        for name in sorted({*first, *second}):
            a, b = first.get(name), second.get(name)
            if isinstance(a, dict) and isinstance(b, dict):
                yield from (f"{name}, {line}" for line in _of("", a, b))
            elif a != b or (section == "checks" and a is not True):
                yield f"{name}: {_shown(a)} and {_shown(b)}"


def _shown(value: Any) -> str:
    """Hexadecimal floats also in decimals; None is a value that is not there."""
    words = value.split() if isinstance(value, str) else []
    numbers = [f"{float.fromhex(word):.6g}" for word in words if HEXADECIMAL.fullmatch(word)]
    return "nothing" if value is None else f"{value} ({', '.join(numbers)})" if numbers else str(value)

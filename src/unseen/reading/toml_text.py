"""TOML texts that others may have written, parsed in a time that grows with their length.

The parser of the standard library takes a time quadratic in the number of names of a dotted key, so that a key of a
megabyte would take hours. Keys are therefore counted before the text is parsed.
"""

import re
import tomllib
from typing import Any

MOST_NAMES = 16
"""Names in a dotted key; ours have at most four."""
_NAME = r"""(?:[A-Za-z0-9_-]++|"(?:\\.|[^"\\\n])*+"?+|'[^'\n]*+'?+)"""
_DOT = r"[ \t]*\.[ \t]*"
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)' rf"|'''.*?(?:'''|\Z)|#[^\n]*|(?P<key>{_NAME}(?:{_DOT}{_NAME})*+)", re.DOTALL
)
"""Texts, comments and keys, including those that are not closed: nothing is scanned twice."""
_LONG = re.compile(rf"(?:{_NAME}{_DOT}){{{MOST_NAMES}}}")


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; keys of more than `MOST_NAMES` names are errors in it."""
    for found in _TOKEN.finditer(text):
        if found["key"] and _LONG.match(found["key"]):
            line = text.count("\n", 0, found.start()) + 1
            raise tomllib.TOMLDecodeError(f"a key of more than {MOST_NAMES} names joined by dots (at line {line})")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("lists or tables are nested too deeply") from None

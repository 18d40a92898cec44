"""YAML of plain values for files that others read: every text is quoted, so that no name can be anything but text.

What YAML 1.1 and 1.2 read differently is not written: numbers have a dot before their exponent, and characters that are
not printable, or end lines, are escaped by their code points.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

LINE_ENDS = "\x85\u2028\u2029\ufeff"
KEY, WORDS = re.compile(r"[A-Za-z][A-Za-z_-]*"), {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
"""Keys without quotes, and those of them that would be values."""
PLAIN_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def yaml_text(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """A mapping or a list of mappings as the text of a YAML file."""
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            nested = (isinstance(each, Mapping) and each) or _has_mappings(each)
            yield from (
                [f"{_key(key)}:", *(f"  {line}" for line in _lines(each))]
                if nested
                else [f"{_key(key)}: {_flow(each)}"]
            )
    else:
        for each in value:
            first, *rest = _lines(each)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)


def _has_mappings(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _key(text: str) -> str:
    return text if KEY.fullmatch(text) and text.lower() not in WORDS else _flow(text)


def _flow(value: Any) -> str:
    """A scalar, or a list of scalars in one line."""
    if isinstance(value, str):
        return f'"{"".join(map(_character, value))}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_flow, value))}]"
    text = json.dumps(value, allow_nan=False)
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text


def _character(letter: str) -> str:
    code = ord(letter)
    if letter in PLAIN_ESCAPES:
        return PLAIN_ESCAPES[letter]
    if 0xD800 <= code < 0xE000:  # half of a pair, as in file names that are no UTF-8: no YAML can have it
        return "\N{REPLACEMENT CHARACTER}"
    if letter.isprintable() and letter not in LINE_ENDS:
        return letter
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

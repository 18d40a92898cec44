"""Fonts for characters that the font of figures lacks: those of the machine, by what each has glyphs for."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

from matplotlib.font_manager import findfont, fontManager, get_font

FAMILY = "DejaVu Sans"
"""It comes with Matplotlib, so that a figure is the same on every machine as long as it has its characters."""
OUTLINES = b"\x00\x01\x00\x00"
"""How TrueType files begin; pictures of emoji and PostScript outlines cannot be embedded in PDFs as TrueType."""
CONTROL = 0x20
LAST_RESORT = "Last Resort"
"""A font whose glyphs are boxes, which comes with Matplotlib."""


def families(figures: object) -> list[str]:
    """The font of figures, and installed ones for the characters in texts that it lacks."""
    return [FAMILY, *dict.fromkeys(filter(None, map(_family_with, _lacking(figures))))]


def boxes(figures: object) -> str:
    """The characters that no installed font can draw, which are boxes in PNG and PDF."""
    return "".join(each for each in _lacking(figures) if _family_with(each) is None)


def _lacking(figures: object) -> list[str]:
    own = _characters(findfont(FAMILY))
    return [each for each in dict.fromkeys("".join(_texts(figures))) if ord(each) > CONTROL and ord(each) not in own]


def _texts(value: object) -> Iterator[str]:
    """All texts in records and lists."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        for each in fields(value):
            yield from _texts(getattr(value, each.name))
    elif isinstance(value, Mapping):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, Iterable):
        for each in value:
            yield from _texts(each)


@cache
def _family_with(character: str) -> str | None:
    """The first family in alphabetical order that has a character; None if there is none."""
    upright = {(each.name, each.fname) for each in fontManager.ttflist if each.style == "normal" and each.weight == 400}
    for family, path in sorted(upright):
        if not family.startswith(LAST_RESORT) and ord(character) in _characters(path):
            return family
    return None


@cache
def _characters(path: str) -> frozenset[int]:
    """The characters of a font, none if it cannot be drawn with."""
    try:
        with Path(path).open("rb") as file:
            if file.read(len(OUTLINES)) != OUTLINES:
                return frozenset()
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError, ValueError):
        return frozenset()

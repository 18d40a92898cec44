"""Durations, rates, counts and differences as text for readers; and numbers from text."""

from collections.abc import Sequence

from unseen.text.plain import REPLACEMENT

MOST_DIGITS = 18


def duration(seconds: float) -> str:
    """A duration in readable units, with one decimal below ten of a unit: `8.5 s`, `54 s`, `1.9 min`, `11 h`."""
    number, unit = (
        (seconds, "s") if seconds < 90 else (seconds / 60, "min") if seconds < 5400 else (seconds / 3600, "h")
    )
    return f"{number:.1f} {unit}" if number < 9.95 else f"{number:.0f} {unit}"


def rate(per_second: float) -> str:
    """A rate per second, minute or hour, whichever gives at least one: `320 a second`, `2.5 a minute`."""
    units = (("a second", 1), ("a minute", 60), ("an hour", 3600))
    unit, seconds = next((each for each in units if per_second * each[1] >= 0.95), units[-1])
    number = per_second * seconds
    return f"{number:,.0f} {unit}" if number >= 100 else f"{number:,.1f} {unit}"


def counted(number: int, noun: str) -> str:
    """A number and its noun, such as `1 core`, `2 data sets`, `2 classes` and `2 settings of shots`."""
    name, of, rest = noun.partition(" of ")
    return f"{number:,} {name}{'' if number == 1 else 'es' if name.endswith('s') else 's'}{of}{rest}"


def joined(names: Sequence[str]) -> str:
    """Names in a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign: a typographic minus, and no sign before zero."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def p_text(p_value: float) -> str:
    """A p-value with two digits, and with three decimals from 0.01 to 0.1, where it may be near a level."""
    return f"{p_value:.3f}" if 0.0095 <= p_value < 0.0995 else f"{p_value:.2g}"


def whole_number(text: str) -> int | None:
    """The number written in decimal digits; None for any other text, and for one too long to be a count.

    Digits of other scripts and superscripts (`²`) are not accepted, and Python itself refuses thousands of digits.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None


def printable(text: str) -> str:
    """A text for a terminal.

    Invisible characters are replaced by a visible sign: escape sequences in a name, marks that change the writing
    direction.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in "\n\t" else REPLACEMENT for letter in text)

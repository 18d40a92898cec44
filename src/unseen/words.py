"""Seconds, rates, counts and differences as they are written for a reader; and numbers as a reader writes them."""

from collections.abc import Sequence

MOST_DIGITS = 18
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def duration(seconds: float) -> str:
    """Seconds as a person would say them, with a decimal below ten of a unit: `8.5 s`, `54 s`, `1.9 min`, `11 h`."""
    number, unit = (
        (seconds, "s") if seconds < 90 else (seconds / 60, "min") if seconds < 5400 else (seconds / 3600, "h")
    )
    return f"{number:.1f} {unit}" if number < 9.95 else f"{number:.0f} {unit}"


def rate(per_second: float) -> str:
    """How fast something goes, per unit of time in which it happens at all: `320 a second`, `2.5 a minute`."""
    units = (("a second", 1), ("a minute", 60), ("an hour", 3600))
    unit, seconds = next((each for each in units if per_second * each[1] >= 0.95), units[-1])
    number = per_second * seconds
    return f"{number:,.0f} {unit}" if number >= 100 else f"{number:,.1f} {unit}"


def counted(number: int, noun: str) -> str:
    """A number and its noun, such as `1 core`, `2 data sets` and `2 settings of shots`."""
    name, of, rest = noun.partition(" of ")
    return f"{number:,} {name}{'' if number == 1 else 's'}{of}{rest}"


def joined(names: Sequence[str]) -> str:
    """Names in a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign: a minus that is no hyphen, and no sign before a zero."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def whole_number(text: str) -> int | None:
    """The number that some digits say; None of any other text, and of one that no count is as long as.

    Digits of other scripts and superscripts (`²`) are no digits here, and Python itself refuses to read thousands.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None


def printable(text: str) -> str:
    """A text for a terminal.

    What no reader sees is replaced by a sign that all see: escape sequences in a name, marks that turn the direction
    of writing.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in "\n\t" else REPLACEMENT for letter in text)

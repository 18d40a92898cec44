"""The one exception the command line turns into a sentence and exit code 2."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")
SHOWN_ROWS = 5


class UserError(Exception):
    """A mistake by the user: one sentence that says what is wrong, where, and what to do."""


class ImageError(UserError):
    """Images that cannot be used; work on other images may continue."""


class OtherPartsError(UserError):
    """A part of a job array is done and has to wait for the others; not a mistake."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A clause to append to an error about an unknown name; empty if no known name is close."""
    close = get_close_matches(name, list(known), n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def look_up(known: Mapping[str, T], name: str, what: str, of: str = "") -> T:
    """The value of a name; an unknown name is a user's error that suggests close names, or else lists all.

    Args:
        what: the kind of thing that is named, for the error.
        of: further words after the name, for the error.
    """
    if name not in known:
        raise UserError(f"no {what} '{name}'{of}{did_you_mean(name, known) or '; there are ' + ', '.join(known)}")
    return known[name]


def names_of(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    more = len(names) - 5
    return ", ".join(names[:5]) + (f" and {more:,} more" if more > 0 else "")


def row_numbers(rows: Sequence[int]) -> str:
    """`row 3`, or `rows 3, 17 and 40`, or the number of rows and the first few."""
    first = [f"{row:,}" for row in rows[:SHOWN_ROWS]]
    if len(rows) > SHOWN_ROWS:
        return f"{len(rows):,} rows (the first are {', '.join(first)})"
    return f"row {first[0]}" if len(rows) == 1 else f"rows {', '.join(first[:-1])} and {first[-1]}"

"""The one exception the command line turns into a sentence and exit code 2."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")
SHOWN_ROWS = 5


class UserError(Exception):
    """A mistake of the user's: says what was wrong, where, and what to do, in one sentence."""


class ImageError(UserError):
    """Images that cannot be used; whoever has other images may go on with those."""


class OtherPartsError(UserError):
    """A part of a job array has done its share, and cannot go on before others have done theirs: no mistake at all."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A clause to append to an error about an unknown name, empty when nothing is close."""
    close = get_close_matches(name, list(known), n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def look_up(known: Mapping[str, T], name: str, what: str, of: str = "") -> T:
    """What is known by a name; an unknown one is a user's error that says which are close, or else all.

    Args:
        what: the name is of, in the error.
        of: further words of the error, which follow the name.
    """
    if name not in known:
        raise UserError(f"no {what} '{name}'{of}{did_you_mean(name, known) or '; there are ' + ', '.join(known)}")
    return known[name]


def names_of(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = len(names) - 5
    return ", ".join(names[:5]) + (f" and {more:,} more" if more > 0 else "")


def row_numbers(rows: Sequence[int]) -> str:
    """`row 3`, or `rows 3, 17 and 40`, or the first few of them and how many there are."""
    first = [f"{row:,}" for row in rows[:SHOWN_ROWS]]
    if len(rows) > SHOWN_ROWS:
        return f"{len(rows):,} rows (the first are {', '.join(first)})"
    return f"row {first[0]}" if len(rows) == 1 else f"rows {', '.join(first[:-1])} and {first[-1]}"

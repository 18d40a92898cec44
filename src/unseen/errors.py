"""The one exception the command line turns into a sentence and exit code 2."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class UserError(Exception):
    """A mistake of the user's: says what was wrong, where, and what to do, in one sentence."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A clause to append to an error about an unknown name, empty when nothing is close."""
    close = get_close_matches(name, list(known), n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def names_of(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")

"""The one exception the command line turns into a sentence and exit code 2."""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """A mistake of the user's: says what was wrong, where, and what to do, in one sentence."""


class ImageError(UserError):
    """Images that cannot be used; whoever has other images may go on with those."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A clause to append to an error about an unknown name, empty when nothing is close."""
    close = get_close_matches(name, list(known), n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""

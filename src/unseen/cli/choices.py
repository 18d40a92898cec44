"""Options that take one of a few words."""

from collections.abc import Sequence
from typing import TypeVar

from unseen.errors import UserError, did_you_mean

Word = TypeVar("Word", bound=str)


def choose(what: str, value: str, words: Sequence[Word]) -> Word:
    """The word that was given for an option or argument, if it is one of `words`."""
    for word in words:
        if word == value:
            return word
    hint = did_you_mean(value, words)
    raise UserError(f"{what} is one of {', '.join(words)}, not '{value}'{hint}")

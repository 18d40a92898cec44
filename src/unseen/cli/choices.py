"""Options that take one of a few words."""

from collections.abc import Sequence
from typing import TypeVar

from unseen.errors import UserError, did_you_mean

Word = TypeVar("Word", bound=str)


def choose(option: str, value: str, words: Sequence[Word]) -> Word:
    """The word that was given, if it is one of `words`."""
    for word in words:
        if word == value:
            return word
    hint = did_you_mean(value, words)
    raise UserError(f"--{option} is one of {', '.join(words)}, not '{value}'{hint}")

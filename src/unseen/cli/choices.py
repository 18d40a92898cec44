"""Options that take one of a few words, or several names."""

import csv
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


def split_names(option: str, text: str) -> list[str]:
    """The names that were given for an option, with commas between; one that holds a comma is in double quotes."""
    names = split_commas(option, text)
    if not all(names):
        raise UserError(f"{option} is names with commas between, not '{text}'")
    return names


def split_commas(option: str, text: str) -> list[str]:
    """The parts of a text between commas, as in a line of CSV: commas within double quotes do not count."""
    if text.count('"') % 2:
        raise UserError(f"{option} has a double quote that is not closed: '{text}'")
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [""])]

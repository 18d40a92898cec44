"""Options that take one of a few words, or several names."""

import csv
from collections.abc import Sequence
from os.path import exists
from typing import Any, TypeVar

import typer

from unseen.errors import UserError, did_you_mean

Word = TypeVar("Word", bound=str)
MOST_COMMAS = 5
"""In a path, for the search for paths that were split."""


def one_of(*words: str, help: str, **settings: Any) -> Any:  # noqa: A002 - as Typer calls it
    """An option that takes one of a few words: help shows them, shells complete them, anything else is refused."""

    def check(context: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
        for word in value if isinstance(value, list | tuple) else [value]:
            if word is not None and not context.resilient_parsing:
                choose(str(param.opts[0]), word, words)
        return value

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return typer.Option(help=help, metavar=f"[{'|'.join(words)}]", callback=check, autocompletion=complete, **settings)


def choose(what: str, value: str, words: Sequence[Word]) -> Word:
    """The word that was given for an option or argument, if it is one of `words`."""
    for word in words:
        if word == value:
            return word
    hint = did_you_mean(value, words)
    raise UserError(f"{what} must be one of {', '.join(words)}, not '{value}'{hint}")


def refuse_split_path(option: str, text: str) -> None:
    """Refuse a list with a path that exists, has a comma in its name and is not in double quotes."""
    parts = text.split(",")
    runs = (parts[start : start + size] for start in range(len(parts)) for size in range(2, MOST_COMMAS + 2))
    for run in runs:
        whole = ",".join(run).strip()
        if len(run) > 1 and exists(whole):  # noqa: PTH110 - Path.exists raises an error for names that are too long
            raise UserError(
                f"{option}: put '{whole}' in double quotes, because its name contains a comma: {option} '\"{whole}\"'"
            )


def split_names(option: str, text: str) -> list[str]:
    """The values between the commas of a text, as in a line of CSV: commas within double quotes do not count."""
    if text.count('"') % 2:
        raise UserError(f"{option} has a double quote that is not closed: '{text}'")
    try:
        names = [part.strip() for part in next(csv.reader([text], skipinitialspace=True))]
    except csv.Error:
        raise UserError(f"{option} is not one line of text: '{text[:40]}'") from None
    if not names or not all(names):  # of an empty text, there is no value at all: a list must not be all by accident
        raise UserError(f"{option} takes values separated by commas, not '{text}'")
    return names

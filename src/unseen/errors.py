"""The one exception the command line turns into a sentence and exit code 2, and how its sentences name arguments.

The same code answers the command line and Python. Where a sentence names an argument, `option` and `argument` write it
as the user would: `--on-error report` or `on_error='report'`.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")
SHOWN_ROWS = 5
COMMAND = "UNSEEN_ON_COMMAND_LINE"
"""Set while a command runs, also in its worker processes: sentences then name options instead of Python arguments."""


class UserError(Exception):
    """A mistake by the user: one sentence that says what is wrong, where, and what to do."""


class MissingDataError(UserError):
    """A data set that is not there at all."""


class ImageError(UserError):
    """Images that cannot be used; work on other images may continue."""


class JobsError(UserError):
    """Jobs failed; if others have results, the exit code is 1.

    Attributes:
        failures: one sentence per failure.
        done: number of jobs with results.
    """

    def __init__(self, failures: Sequence[str], done: int) -> None:
        more = len(failures) - 1
        rest = [f"{more} more {'failure' if more == 1 else 'failures'}"] if more else []
        rest += ["results are kept, and the same command repeats only the missing jobs"] if done else []
        super().__init__(failures[0] + (f" ({'; '.join(rest)})" if rest else ""))
        self.failures, self.done = list(failures), done

    def __reduce__(self) -> tuple[type["JobsError"], tuple[list[str], int]]:
        return JobsError, (self.failures, self.done)


class OtherPartsError(UserError):
    """A part of a job array is done and has to wait for the others; not a mistake."""


@contextmanager
def naming_options() -> Iterator[None]:
    """Let sentences name options of the command line."""
    before = os.environ.get(COMMAND)
    os.environ[COMMAND] = "yes"
    try:
        yield
    finally:
        os.environ.pop(COMMAND)
        if before is not None:
            os.environ[COMMAND] = before


def on_command_line() -> bool:
    """Whether the user typed a command."""
    return COMMAND in os.environ


def argument(name: str, *, python: str = "") -> str:
    """The name of an argument in a sentence: `--dry-run` on the command line, `dry_run` in Python.

    Args:
        name: as on the command line, without dashes before it.
        python: its name in Python, if that is another.
    """
    return f"--{name}" if on_command_line() else python or name.replace("-", "_")


def option(name: str, value: object = None, *, python: str = "") -> str:
    """An argument with its value as the user writes it: `--weights random` or `weights='random'`.

    Args:
        name, python: as for `argument`.
        value: None for any value, True for an option without one; a word in capitals stands for a value; a list is
            separated by commas on the command line.
    """
    given = argument(name, python=python)
    if on_command_line():
        value = ",".join(map(str, value)) if isinstance(value, list) else value
        return given if value is None or value is True else f"{given} {value}"
    stands_for_a_value = isinstance(value, str) and value.isupper()
    return f"{given}={'' if value is None else value if stands_for_a_value else repr(value)}"


def setting(key: str, value: object = None) -> str:
    """A key with its value as the user sets it: `--set backbone.pool=avg` on the command line, `pool='avg'` in Python.

    Args:
        value: None for any value; a word in capitals stands for a value.
    """
    if on_command_line():
        return f"--set {key}={'…' if value is None else value}"
    return option(key.rpartition(".")[2], value)


def call(command: str, name: str, value: object = None, *, python: str = "") -> str:
    """A call with an argument: `unseen run --datasets a` or `unseen.run(…, datasets='a')`.

    Args:
        name, value: as for `option`.
        python: the function in Python, if it is not called like the command.
    """
    given = option(name, value)
    return f"unseen {command} {given}" if on_command_line() else f"unseen.{python or command}(…, {given})"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A clause to append to an error about an unknown name; empty if no known name is close.

    From Python, a name may be anything.
    """
    close = get_close_matches(str(name), list(dict.fromkeys(known)), n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def look_up(known: Mapping[str, T], name: str, what: str, of: str = "") -> T:
    """The value of a name; an unknown name is a user's error that suggests close names, or else lists all.

    Args:
        what: the kind of thing that is named, for the error.
        of: further words after the name, for the error.
    """
    try:
        return known[name]
    except (KeyError, TypeError):  # from Python, a name may be anything
        hint = did_you_mean(name, known) or "; there are " + ", ".join(known)
        raise UserError(f"no {what} '{name}'{of}{hint}") from None


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

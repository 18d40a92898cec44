"""Parsing of shots (training samples per class) and seeds as users give them, and the shots that data allow."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from numbers import Integral
from typing import Any, NoReturn

from unseen.errors import UserError
from unseen.probes.samples import Shortage
from unseen.runs.notices import Notice, notice
from unseen.text.words import joined, whole_number

MOST_SEEDS = 999
Shots = int | str | None | Sequence[int | str | None]
"""Shots as given in Python: 8, "all", None for all, or a list of these."""


def parse_shots(texts: str | Sequence[str], option: str = "--shots") -> tuple[int | None, ...]:
    """Parse `1,8,all` or ["1", "8", "all"] as (1, 8, None).

    Args:
        option: name of the option in errors.
    """
    shots: list[int | None] = []
    words = [word for text in ([texts] if isinstance(texts, str) else texts) for word in text.split(",")]
    for word in filter(None, map(str.strip, words)):
        number = whole_number(word)
        if word != "all" and not number:
            raise UserError(f"{option} takes numbers of at least 1 and 'all', separated by commas, not '{word}'")
        shots.append(number)
    if not shots:
        raise UserError(f"{option} is empty; give for instance 1,8,all")
    return tuple(dict.fromkeys(shots))


def shots_in_python(shots: Shots) -> tuple[int | None, ...]:
    """Parse shots given in Python: 8, "all", "1,8,all", None for all, or a list of these."""
    if isinstance(shots, str):
        return parse_shots(shots, "shots")
    found: list[int | None] = []
    for number in shots if isinstance(shots, Iterable) else [shots]:
        if isinstance(number, str):
            found += parse_shots(number, "shots")
        elif number is None:
            found.append(None)
        elif isinstance(number, Integral) and not isinstance(number, bool) and number > 0:
            found.append(int(number))
        else:
            raise UserError(f"shots must be whole numbers of at least 1, or 'all', not {number!r}")
    if not found:
        raise UserError("shots is empty; give for instance [1, 8, 'all']")
    return tuple(dict.fromkeys(found))


def one_number_of_shots(shots: Shots) -> int | None:
    """One number of shots given in Python; None for all."""
    numbers = shots_in_python(shots)
    if len(numbers) > 1:
        raise UserError(f"shots must be one number or 'all', not {shots!r}; compare one number of shots at a time")
    return numbers[0]


Short = Callable[[int | None], Shortage | None]
"""Tells whether there are too few samples for a number of shots."""


def usable_shots(shots: Sequence[int | None], short: Short) -> tuple[int | None, ...]:
    """The numbers of shots for which there are samples; if there are none, an error.

    Args:
        short: why a number cannot be used, if so.
    """
    usable = tuple(number for number in shots if short(number) is None)
    if shots and not usable:
        refuse_shots(shots, [(short, "")])
    return usable


def refuse_shots(shots: Sequence[int | None], on: Sequence[tuple[Short, str]]) -> NoReturn:
    """Raise an error that says why no number of shots can be used, and what to do.

    Args:
        on: what each domain lacks, and its name, if the error should name it.
    """
    reasons = dict.fromkeys(each.sentence for short, name in on for each in shot_notices(shots, short, name))
    advice = dict.fromkeys(found.advice for short, _ in on for number in shots if (found := short(number)))
    raise UserError(f"{' '.join(reasons).removesuffix('.')}; {'; '.join(advice)}")


def shot_notices(shots: Sequence[int | None], short: Short, on: str = "") -> list[Notice]:
    """Notices about shots for which there are too few samples, one for all that have the same reason."""
    numbers: dict[Shortage, list[str]] = {}
    for number in shots:
        if found := short(number):
            numbers.setdefault(found, []).append(str(number))
    place = on and f" on {on}"
    return [
        notice(found.code, on, shots=joined(words), on=place, **dict(found.numbers)) for found, words in numbers.items()
    ]


def seed_count(seeds: object) -> int:
    """Check the number of seeds; absurdly large numbers are refused before any jobs are planned."""
    number = int(seeds) if isinstance(seeds, Integral) and not isinstance(seeds, bool) else 0
    if not 1 <= number <= MOST_SEEDS:
        raise UserError(f"the number of seeds must be from 1 to {MOST_SEEDS}, not {seeds}")
    return number


def seeds_in_python(seeds: int | Iterable[int]) -> tuple[int, ...]:
    """A list of seeds, or for a number n the seeds 0 to n − 1, as for `--seeds`."""
    if isinstance(seeds, Integral) and not isinstance(seeds, bool):
        return tuple(range(seed_count(seeds)))
    given: Iterable[Any] = seeds if isinstance(seeds, Iterable) and not isinstance(seeds, str) else [seeds]
    numbers = list(islice(given, MOST_SEEDS + 1))
    if not numbers or not all(isinstance(n, Integral) and not isinstance(n, bool) and int(n) >= 0 for n in numbers):
        raise UserError(f"seeds must be their number, or a list of whole numbers of at least 0, not {seeds!r}")
    if len(numbers) > MOST_SEEDS:
        raise UserError(f"seeds must be at most {MOST_SEEDS} numbers; give fewer")
    return tuple(dict.fromkeys(int(number) for number in numbers))

"""Shots and seeds as users say them: training samples per class, and the draws that are repeated."""

from collections.abc import Iterable, Sequence
from numbers import Integral

from unseen.errors import UserError
from unseen.words import whole_number

MOST_SEEDS = 999
Shots = int | str | None | Sequence[int | str | None]
"""As callers in Python give them: 8, "all", None for all, or a list of such."""


def parse_shots(text: str, option: str = "--shots") -> tuple[int | None, ...]:
    """`1,8,all` as (1, 8, None).

    Args:
        option: what errors call it.
    """
    shots: list[int | None] = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        number = whole_number(word)
        if word != "all" and not number:
            raise UserError(f"{option} takes numbers from 1 and 'all', with commas between, not '{word}'")
        shots.append(number)
    if not shots:
        raise UserError(f"{option} is empty; say for instance 1,8,all")
    return tuple(dict.fromkeys(shots))


def shots_in_python(shots: Shots) -> tuple[int | None, ...]:
    """What a caller in Python may say: 8, "all", "1,8,all", None for all, or a list of such."""
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
            raise UserError(f"shots are whole numbers of at least 1, or 'all', not {number!r}")
    if not found:
        raise UserError("shots is empty; say for instance [1, 8, 'all']")
    return tuple(dict.fromkeys(found))


def seed_count(seeds: object) -> int:
    """How many seeds, from 0 on; a number that no study is repeated as often as is refused before jobs are made."""
    number = int(seeds) if isinstance(seeds, Integral) and not isinstance(seeds, bool) else 0
    if not 1 <= number <= MOST_SEEDS:
        raise UserError(f"the number of seeds is from 1 to {MOST_SEEDS}, not {seeds}")
    return number


def seeds_in_python(seeds: int | Iterable[int]) -> tuple[int, ...]:
    """The seeds themselves, or as many as a number says, from 0 on, as `--seeds` means it."""
    if isinstance(seeds, Integral) and not isinstance(seeds, bool):
        return tuple(range(seed_count(seeds)))
    numbers = list(seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, str) else [seeds]
    if not numbers or not all(isinstance(n, Integral) and not isinstance(n, bool) and n >= 0 for n in numbers):
        raise UserError(f"seeds are how many there are, or a list of whole numbers of at least 0, not {seeds!r}")
    return tuple(dict.fromkeys(int(number) for number in numbers))

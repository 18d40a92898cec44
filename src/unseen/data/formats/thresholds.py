"""Classes that are intervals of a number."""

from collections.abc import Sequence
from itertools import pairwise

from unseen.errors import UserError


def interval(value: float, ends: Sequence[float], where: str) -> str:
    """The interval (low, high] between neighbouring ends that contains a value, named so that names are in order.

    Args:
        ends: increasing; a value up to the first or above the last is refused.
        where: what has the value, for the error.
    """
    for number, (low, high) in enumerate(pairwise(ends)):
        if low < value <= high:
            return f"{number}: {low:g} to {high:g}"
    raise UserError(f"{where}: {value:g} is not above {ends[0]:g} and at most {ends[-1]:g}")

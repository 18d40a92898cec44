"""From similarities to a ranking, and from a ranking to levels."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, option
from unseen.ontology.information import Floats

TieRule = Literal["stable", "numpy-1.24"]
Spread = Literal["to-end", "equal-gaps", "contiguous"]
Order = NDArray[np.int64]

INSERTION_LENGTH = 16


def decreasing_order(similarity: Floats, ties: TieRule) -> Order:
    """Positions by decreasing similarity.

    `stable` keeps ties in the given order. `numpy-1.24` orders them like `numpy.argsort(-similarity)` of NumPy before
    1.25: the published ImageNet-CoG levels were cut from that order, and since few similarities are distinct it decides
    membership at the borders.
    """
    if np.isnan(similarity).any():
        raise UserError("a similarity is not a number, so the concepts cannot be ranked")
    if ties == "stable":
        return np.argsort(-similarity, kind="stable")
    return introsort_order(-similarity)


def introsort_order(values: Floats) -> Order:
    """The ascending order of NumPy 1's default, unstable argsort, including ties, on every machine.

    Quicksort on indices: the pivot is the median of the first, middle and last, moved to the position before the last;
    the larger part is pushed on a stack; parts of at most 16 are sorted by insertion. (Newer NumPy uses vector
    instructions if the processor has them, with other ties. NumPy switches to heapsort when quicksort recurses deeper
    than twice the logarithm of the length, which is refused here: it does not happen for these lists.)
    """
    keys: list[float] = values.tolist()
    order = list(range(len(keys)))
    low, high = 0, len(keys) - 1
    budget = 2 * max(len(keys).bit_length() - 1, 0)
    waiting: list[tuple[int, int, int]] = []
    while True:
        if budget < 0:
            raise UserError("this list needs NumPy's heapsort, which ties 'numpy-1.24' does not support; use 'stable'")
        while high - low >= INSERTION_LENGTH:
            split = _partition(keys, order, low, high)
            budget -= 1
            if split - low < high - split:
                waiting.append((split + 1, high, budget))
                high = split - 1
            else:
                waiting.append((low, split - 1, budget))
                low = split + 1
        _insertion_sort(keys, order, low, high)
        if not waiting:
            return np.array(order, dtype=np.int64)
        low, high, budget = waiting.pop()


def _partition(keys: list[float], order: list[int], low: int, high: int) -> int:
    """Partition order[low:high + 1] around the median of three; returns the position of the pivot."""
    middle = low + ((high - low) >> 1)
    for a, b in ((middle, low), (high, middle), (middle, low)):
        if keys[order[a]] < keys[order[b]]:
            order[a], order[b] = order[b], order[a]
    pivot = keys[order[middle]]
    left, right = low, high - 1
    order[middle], order[right] = order[right], order[middle]
    while True:
        left += 1
        while keys[order[left]] < pivot:
            left += 1
        right -= 1
        while pivot < keys[order[right]]:
            right -= 1
        if left >= right:
            break
        order[left], order[right] = order[right], order[left]
    order[left], order[high - 1] = order[high - 1], order[left]
    return left


def _insertion_sort(keys: list[float], order: list[int], low: int, high: int) -> None:
    for i in range(low + 1, high + 1):
        moving, j = order[i], i
        while j > low and keys[moving] < keys[order[j - 1]]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = moving


def level_starts(concepts: int, levels: int, size: int, spread: Spread) -> tuple[int, ...]:
    """The rank at which each level begins.

    `to-end`: equal gaps, with the last level at the end of the ranking, whatever the division leaves over (`cog-v2`).
    `equal-gaps`: equal gaps, with the remainder after the last level (`cog-v1`). `contiguous`: no gaps.
    """
    if levels < 1 or size < 1:
        raise UserError(f"levels and their size must be at least 1, got {levels} of {size}")
    if concepts < levels * size:
        raise UserError(
            f"{concepts} eligible concepts are too few for {levels} levels of {size}; "
            f"ask for fewer or smaller ones ({option('levels')}, {option('size')}), or relax what makes a concept "
            "eligible"
        )
    gap = 0 if spread == "contiguous" or levels == 1 else (concepts - levels * size) // (levels - 1)
    starts = [i * (size + gap) for i in range(levels)]
    if spread == "to-end" and levels > 1:
        starts[-1] = concepts - size
    return tuple(starts)

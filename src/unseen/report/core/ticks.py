"""Ticks of logarithmic and logit axes, as plain numbers."""

from collections.abc import Sequence
from math import ceil, floor, isclose, log10

from unseen.metrics.accuracy_scales import expit, logit
from unseen.report.core.model import Ticks

STEPS = ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8), tuple(n / 2 for n in range(2, 20)))
"""Numbers within a decade that get a tick, from the coarsest choice to the finest."""
FEWEST_TICKS = 3
WIDE = 1e4
"""From this ratio of the largest value to the smallest, whole decades are enough: more would overlap."""
PERCENTS = (
    1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 98, 99,
)  # fmt: skip
MOST_TICKS = 7
MARGIN = 0.1
"""Logits that a figure shows beyond its points."""


def log_ticks(values: Sequence[float]) -> Ticks:
    """The numbers 1, 2, 5, 10, 20, … around positive `values`, as themselves; finer or coarser steps if need be."""
    low, high = min(values), max(values)
    decades = range(floor(log10(low)) - 1, ceil(log10(high)) + 2)
    shown: list[float] = []
    for step in ((1,), *STEPS) if high >= WIDE * low else STEPS:
        numbers = [number * 10.0**power for power in decades for number in step]
        first = max(number for number in numbers if number <= low or isclose(number, low))
        last = min(number for number in numbers if number >= high or isclose(number, high))
        shown = [number for number in numbers if first <= number <= last]
        if len(shown) >= FEWEST_TICKS:
            break
    return tuple((number, f"{number:,.10g}") for number in shown)


def percent_ticks(logits: Sequence[float]) -> Ticks:
    """Round percentages within the range of the points, at their logits; the ends of the range if fewer than two."""
    low, high = min(logits), max(logits)
    shown: list[tuple[float, str]] = []
    for percent in PERCENTS:
        at = float(logit(percent / 100))
        apart = not shown or at - shown[-1][0] >= (high - low) / MOST_TICKS
        if apart and low - MARGIN <= at <= high + MARGIN:
            shown.append((at, f"{percent:g}"))
    return tuple(shown) if len(shown) > 1 else tuple((at, f"{100 * expit(at):.1f}") for at in sorted({low, high}))

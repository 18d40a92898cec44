"""Ranks with their interval and tie group: cells of tables and a figure."""

from collections.abc import Sequence
from dataclasses import dataclass

from unseen.report.core.model import Cell, Column, Figure, Series
from unseen.text.words import joined

RANK_COLUMNS = (
    Column("Rank", "1 is best; in brackets its 95% interval", names=("rank", "rank_low", "rank_high")),
    Column("Tie group", "the order within a group is not resolved", names=("tie_group",)),
)
MOST_TICKS = 20
"""Ranks with a tick."""
MOST_NAMED = 5
"""Backbones of a tie group that a sentence names."""


@dataclass(frozen=True)
class Placed:
    """A backbone with its rank; the interval and the tie group are None if they are unknown."""

    backbone: str
    rank: int
    low: int | None
    high: int | None
    group: int | None
    text: str
    """Its score, for hovering."""


def rank_cells(placed: Placed | None, of: int) -> list[Cell]:
    """The cells of `RANK_COLUMNS`: `2 (1–4)`, and the group."""
    if placed is None:
        return [Cell(about="not ranked", order=of + 1), Cell(order=of + 1)]
    if placed.low is None or placed.high is None:
        return [Cell(str(placed.rank), (placed.rank, None, None), about=f"rank {placed.rank} of {of}"), Cell()]
    return [
        Cell(
            str(placed.rank), (placed.rank, placed.low, placed.high), small=f"({spread(placed.low, placed.high)})",
            about=f"rank {placed.rank}, {spread(placed.low, placed.high)} of {of}",
        ),
        Cell(str(placed.group), (placed.group,)),
    ]  # fmt: skip


def spread(low: int, high: int) -> str:
    """An interval of ranks: `2–5`, or `2` if it is one rank."""
    return str(low) if low == high else f"{low}–{high}"


def rank_figure(placed: Sequence[Placed], title: str = "") -> Figure:
    """One horizontal bar per backbone from the first to the last rank of its interval, with a mark at its rank."""
    series = []
    for number, each in enumerate(placed):
        if each.low is None or each.high is None:
            continue
        place, text = float(number), f"{each.backbone}: {each.text}, rank {each.rank} of {len(placed)}"
        text += f" ({spread(each.low, each.high)}), tie group {each.group}"
        series += [
            Series(
                each.backbone, [float(each.low), float(each.high)], [place, place], mode="lines",
                backbone=each.backbone, strong=True, solid=True, hover=[text, text],
            ),
            Series(
                each.backbone, [float(each.rank)], [place], mode="markers", backbone=each.backbone, strong=True,
                hover=[text],
            ),
        ]  # fmt: skip
    count = len(placed)
    names = tuple((float(number), each.backbone) for number, each in enumerate(placed))
    ranks = tuple((float(rank), str(rank)) for rank in range(1, count + 1, 1 + (count - 1) // MOST_TICKS))
    return Figure(
        title, "Rank (1 is best)", "", series, ranks, names, top_is_low=True, x_range=(0.5, count + 0.5),
        y_range=(count - 0.5, -0.5), caption="Bars are 95% intervals of ranks, marks are ranks",
    )  # fmt: skip


def leaders_text(placed: Sequence[Placed], score: str) -> str:
    """Who is first, if that is resolved, and otherwise the backbones that may be.

    Args:
        score: what they are ranked by.
    """
    first = [each.backbone for each in placed if each.group == 1]
    if len(first) == 1:
        return f"{first[0]} is first by {score}: it is resolved to be better than each of the others."
    others = len(first) - MOST_NAMED
    named = first if others <= 0 else [*first[:MOST_NAMED], f"{others} more"]
    who = "all of them" if len(first) == len(placed) else joined(named)
    return f"No backbone is resolved to be first by {score}: the first tie group has {who}."

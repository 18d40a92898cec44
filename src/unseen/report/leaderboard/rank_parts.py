"""Ranks with their interval and tie group: cells of tables, and a sentence."""

from collections.abc import Sequence

from unseen.report.core.model import Cell, Column
from unseen.report.core.rank_figure import Placed, spread
from unseen.text.words import joined

RANK_COLUMNS = (
    Column("Rank", "1 is best; in brackets its 95% interval", names=("rank", "rank_low", "rank_high")),
    Column("Tie group", "the order within a group is not resolved", names=("tie_group",)),
)
MOST_NAMED = 5
"""Backbones of a tie group that a sentence names."""


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

"""Ranks with their interval and tie group: cells of tables, and a sentence."""

from unseen.report.core.model import Cell, Column
from unseen.report.core.rank_figure import Placed, spread

RANK_COLUMNS = (
    Column("Rank", "1 is best; in brackets its 95% interval", names=("rank", "rank_low", "rank_high")),
    Column("Tie group", "the order within a group is not resolved", names=("tie_group",)),
)


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

"""Ranks with their intervals as horizontal bars, one line per backbone, with gaps between tie groups."""

from collections.abc import Sequence
from dataclasses import dataclass

from unseen.metrics.paired.standings import Standings
from unseen.report.core.model import Figure, Series

GAP = 0.6
"""Between tie groups, in lines."""
MOST_TICKS = 20
"""Ranks with a tick."""


@dataclass(frozen=True)
class Placed:
    """A backbone with its rank; the interval and the tie group are None if they are unknown. `text` is its score."""

    backbone: str
    rank: int
    low: int | None
    high: int | None
    group: int | None
    text: str


def placed(standings: Standings, texts: Sequence[str]) -> list[Placed]:
    """The backbones from the best to the worst, with their scores as texts in this order."""
    columns = (standings.names, standings.rank, standings.low, standings.high, standings.group, texts)
    return [
        Placed(name, int(rank), int(low), int(high), int(group), text)
        for name, rank, low, high, group, text in zip(*columns, strict=True)
    ]


def spread(low: int, high: int) -> str:
    """An interval of ranks: `2–5`, or `2` if it is one rank."""
    return str(low) if low == high else f"{low}–{high}"


def rank_range(low: int, high: int, of: int) -> str:
    """The interval of a rank in words: `2–5 of 9`."""
    return f"{spread(low, high)} of {of}"


def rank_figure(backbones: Sequence[Placed], title: str = "") -> Figure:
    """One bar per backbone from the first to the last rank of its interval, with a mark at its rank.

    Args:
        backbones: from the best to the worst; those without an interval are left out. Tie groups are blocks with a gap
            between them, unless they interleave.
    """
    count, place, before = len(backbones), 0.0, None
    series, ticks = list[Series](), list[tuple[float, str]]()
    for each in backbones:
        if each.low is None or each.high is None:
            continue
        if ticks:
            place += 1 if each.group == before else 1 + GAP
        before = each.group
        ticks.append((place, each.backbone))
        text = (
            f"{each.backbone}: {each.text}, rank {each.rank}, interval {rank_range(each.low, each.high, count)}, "
            f"tie group {each.group}"
        )
        bar = [float(each.low), float(each.high)]
        series += [
            # Without names: the axis has them, and the legend of the section is that of its other figures.
            Series(
                "", bar, [place, place], mode="lines", backbone=each.backbone, strong=True, solid=True,
                hover=[text, text],
            ),
            Series(
                "", [float(each.rank)], [place], mode="markers", backbone=each.backbone, strong=True, hover=[text]
            ),
        ]  # fmt: skip
    ranks = tuple((float(rank), str(rank)) for rank in range(1, count + 1, 1 + (count - 1) // MOST_TICKS))
    return Figure(
        title, "Rank (1 is best)", "", series, ranks, tuple(ticks), top_is_low=True,
        caption="Marks are ranks, bars their 95% intervals, and a gap separates tie groups",
        x_range=(0.5, count + 0.5), y_range=(place + 0.7, -0.7),
    )  # fmt: skip

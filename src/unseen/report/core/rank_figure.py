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
    """A backbone with its rank, the interval of the rank and its tie group; `text` is its score."""

    backbone: str
    rank: int
    low: int
    high: int
    group: int
    text: str


def placed(standings: Standings, texts: Sequence[str]) -> list[Placed]:
    """The backbones from the best to the worst, with their scores as texts in this order."""
    columns = (standings.names, standings.rank, standings.low, standings.high, standings.group, texts)
    return [
        Placed(name, int(rank), int(low), int(high), int(group), text)
        for name, rank, low, high, group, text in zip(*columns, strict=True)
    ]


def rank_range(low: int, high: int, of: int) -> str:
    """The interval of a rank in words: `2–5 of 9`."""
    return f"{low}–{high} of {of}" if low != high else f"{low} of {of}"


def rank_figure(backbones: Sequence[Placed], title: str = "") -> Figure:
    """One bar per backbone from the first to the last rank of its interval, with a mark at its rank.

    Args:
        backbones: from the best to the worst. Tie groups are blocks with a gap between them, unless they interleave.
    """
    count, place = len(backbones), 0.0
    series, ticks = list[Series](), list[tuple[float, str]]()
    for number, each in enumerate(backbones):
        if number:
            place += 1 if each.group == backbones[number - 1].group else 1 + GAP
        ticks.append((place, each.backbone))
        text = (
            f"{each.backbone}: {each.text}, rank {each.rank}, interval {rank_range(each.low, each.high, count)}, "
            f"tie group {each.group}"
        )
        bar = [float(each.low), float(each.high)]
        series += [
            # Without names: the axis has them, and the legend of the section is that of its other figures.
            Series("", bar, [place, place], mode="lines", backbone=each.backbone, strong=True, hover=[text, text]),
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

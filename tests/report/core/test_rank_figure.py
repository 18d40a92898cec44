"""The figure of ranks: a bar per interval, and gaps between tie groups."""

import numpy as np
import pytest

from unseen.metrics.paired.standings import standings
from unseen.report.core.model import Figure, Section
from unseen.report.core.rank_figure import GAP, placed, rank_figure, rank_range
from unseen.report.core.static import static_bytes

NAMES = ("first", "second", "third", "last")


@pytest.fixture
def figure() -> Figure:
    """The first two are not resolved from each other, the third only from the last, which is worse than all."""
    values = np.array([0.8, 0.79, 0.7, 0.2])
    p_values = np.full((4, 4), 1e-6)
    p_values[0, 1] = p_values[1, 0] = 0.5
    ranked = standings(NAMES, values, values[:, None] - values, p_values)
    return rank_figure(placed(ranked, [f"{100 * value:.1f}" for value in ranked.value]), "Ranks on L5")


def test_bars_are_intervals_and_marks_are_ranks(figure: Figure) -> None:
    bars, marks = ([series for series in figure.series if series.mode == mode] for mode in ("lines", "markers"))
    assert [tuple(bar.x) for bar in bars] == [(1, 2), (1, 2), (3, 3), (4, 4)]
    assert [tuple(mark.x) for mark in marks] == [(1,), (2,), (3,), (4,)]
    assert [series.backbone for series in marks] == [*NAMES]
    assert marks[1].hover == ["second: 79.0, rank 2, interval 1–2 of 4, tie group 1"]


def test_gaps_separate_tie_groups(figure: Figure) -> None:
    places = [place for place, _ in figure.y_ticks]
    assert np.diff(places) == pytest.approx([1, 1 + GAP, 1 + GAP])
    assert figure.y_range is not None
    assert figure.y_range[0] > places[-1] > places[0] > figure.y_range[1]  # the best is at the top


def test_the_axis_has_the_names_and_no_legend_repeats_them(figure: Figure) -> None:
    assert [name for _, name in figure.y_ticks] == [*NAMES]
    assert Section("a", "A", figures=[figure]).names == ()
    assert static_bytes(figure, "svg").count(b">second<") == 1


@pytest.mark.parametrize(("low", "high", "text"), [(2, 5, "2–5 of 9"), (3, 3, "3 of 9")])
def test_intervals_in_words(low: int, high: int, text: str) -> None:
    assert rank_range(low, high, 9) == text

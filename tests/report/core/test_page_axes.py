"""Axes of figures: readable ticks on logarithmic axes, and the same range in panels that are compared."""

import pytest

from unseen.report.core.model import Figure, Section, Series
from unseen.report.core.panels import with_shared_ranges
from unseen.report.core.ticks import log_ticks


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([4.0, 8.0], ["2", "5", "10"]),
        ([1.0, 1000.0], ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1,000"]),
        ([1.0, 21_840.0], ["1", "10", "100", "1,000", "10,000", "100,000"]),
        ([0.3, 0.9], ["0.2", "0.5", "1"]),
        ([5.0], ["5"]),
    ],
)
def test_log_axes_have_plain_round_numbers(values: list[float], texts: list[str]) -> None:
    ticks = log_ticks(values)
    assert [text for _, text in ticks] == texts
    assert all(float(text.replace(",", "")) == pytest.approx(at) for at, text in ticks)
    assert ticks[0][0] <= min(values) * (1 + 1e-9)
    assert ticks[-1][0] >= max(values) * (1 - 1e-9)


def test_close_values_still_have_three_ticks() -> None:
    assert len(log_ticks([4.0, 4.9])) >= 3


def test_panels_with_the_same_y_axis_share_its_range() -> None:
    low, high, other = (
        Figure(name, "x", label, [Series(name, [0, 1], values)])
        for name, label, values in (("a", "%", [0, 10]), ("b", "%", [50, 100]), ("c", "points", [1, 2]))
    )
    shared = with_shared_ranges(Section("s", "s", figures=[low, high, other])).figures
    assert shared[0].y_range == shared[1].y_range == (-5.0, 105.0)
    assert shared[2].y_range is None


def test_error_bars_are_inside_the_shared_range_and_gaps_are_skipped() -> None:
    first = Figure("a", "x", "y", [Series("a", [0, 1], [1, None], low=[-10, None], high=[2, None])])
    second = Figure("b", "x", "y", [Series("b", [0], [3], mode="bars", low=[2], high=[10])])
    assert with_shared_ranges(Section("s", "s", figures=[first, second])).figures[0].y_range == (-11.0, 11.0)


def test_a_range_of_its_own_is_kept() -> None:
    own = Figure("a", "x", "y", [Series("a", [0], [1])], y_range=(0, 1))
    other = Figure("b", "x", "y", [Series("b", [0], [100])])
    assert [figure.y_range for figure in with_shared_ranges(Section("s", "s", figures=[own, other])).figures] == [
        (0, 1),
        None,
    ]

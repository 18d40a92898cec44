"""Figures in the sizes of papers: widths, sizes of type, fonts, separated error bars, and texts that do not touch."""

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas
from matplotlib.text import Text

from unseen.report.core.model import Figure, Series
from unseen.report.core.static import PAPER_WIDTHS, PaperFigure, drawn, static_bytes
from unseen.report.core.static.dodging import dodged
from unseen.report.core.static.fonts import FAMILY, boxes, families

LEVELS = tuple((float(place), f"L{place + 1}") for place in range(5))


def bars(name: str, shift: float = 0.0, **more: Any) -> Series:
    y = [10.0 * place + 3 for place in range(5)]
    x = [place + shift for place in range(5)]
    return Series(name, x, y, 0, strong=True, low=[each - 3 for each in y], high=[each + 3 for each in y], **more)


def figures() -> Iterator[Figure]:
    names = [f"backbone-{number}-with-a-long-name" for number in range(9)]
    lines = [Series(name, [0, 1, 2, 3, 4], [n, n + 1, 4, 6, 5 - n], n % 8, strong=True) for n, name in enumerate(names)]
    yield Figure("Lines", "Domain", "Top-1 accuracy (%)", lines, LEVELS)
    yield Figure("Bars", "", "Difference (points)", [bars("a"), bars("b"), bars("c")], LEVELS, zero=True)
    rows = tuple((float(place), name) for place, name in enumerate(names))
    ranks = [Series("", [1.0, 3.0], [place, place], mode="lines", strong=True, solid=True) for place, _ in rows]
    yield Figure("Ranks", "Rank", "", ranks, ((1, "1"), (9, "9")), rows, top_is_low=True, y_range=(9, -1))
    cells = [[abs(1 - 0.1 * abs(i - j)) for i in range(9)] for j in range(9)]
    yield Figure("Matrix", "", "", x_ticks=rows, y_ticks=rows, cells=cells, drawing="matrix")
    yield Figure(
        "Round", "", "", [Series("a", [0, 1, 2], [0.2, 0.5, 1])], ((0, "one"), (1, "two"), (2, "three")), polar=True
    )
    points = Series("points", [0, 1, 0], [0, 1, 1], 3, mode="markers", z=[1, 2, 3], strong=True)
    yield Figure("Deep", "x", "y", [points], z_label="z")


EVERY = {figure.title: figure for figure in figures()}
USUAL = ("Bars", "Ranks")


def cases() -> list[Any]:
    long = pytest.mark.long_suite
    return [pytest.param(figure, marks=() if title in USUAL else long, id=title) for title, figure in EVERY.items()]


@pytest.mark.parametrize("width", PAPER_WIDTHS)
@pytest.mark.parametrize("figure", cases())
def test_a_figure_has_its_width_on_paper_and_readable_type(figure: Figure, width: Any) -> None:
    canvas = drawn(figure, width)
    assert canvas.get_size_inches()[0] == PAPER_WIDTHS[width]
    assert 0.8 < canvas.get_size_inches()[1] <= 9
    texts = [text for text in canvas.findobj(Text) if text.get_text().strip() and text.get_visible()]
    assert texts
    assert min(text.get_fontsize() for text in texts) >= 7
    if figure.title in ("Round", "Deep"):
        return  # their axes keep the ticks that they do not draw somewhere outside
    room = canvas.bbox.padded(2)
    for text in texts:
        box = text.get_window_extent()
        assert room.x0 <= box.x0, text
        assert box.x1 <= room.x1, text


@pytest.mark.parametrize("figure", cases())
def test_pdfs_have_true_type_fonts_and_no_type_3(figure: Figure) -> None:
    content = static_bytes(figure, "pdf", "column")
    assert content.startswith(b"%PDF")
    assert b"/Type3" not in content
    assert b"/CIDFontType2" in content
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ", content)
    assert box is not None
    assert float(box[1]) == 234  # points: 3.25 inches


def test_settings_of_matplotlib_change_no_font(tmp_path: Any) -> None:
    with mpl.rc_context({"pdf.fonttype": 3}):
        drawn(EVERY["Bars"]).savefig(tmp_path / "f.pdf")
    assert b"/Type3" not in (tmp_path / "f.pdf").read_bytes()


@pytest.mark.parametrize("width", PAPER_WIDTHS)
def test_error_bars_do_not_lie_on_each_other(width: Any) -> None:
    """The caps of neighbours are apart on paper; in the figure itself they are at the same place."""
    canvas = drawn(EVERY["Bars"], width)
    (axes,) = canvas.axes
    spines = [segment for each in axes.collections for segment in each.get_segments()]
    at = np.sort(axes.transData.transform([segment[0] for segment in spines])[:, 0]) * 72 / canvas.dpi
    assert len(at) == 15
    assert np.diff(at).min() > 3.3  # caps are 3.2 points wide


def test_series_move_together_and_keep_their_middle() -> None:
    moved = dodged(Figure("", "x", "y", [bars(name) for name in "abc"], LEVELS), 3.25)
    by = np.array([np.array(moved[number]) - range(5) for number in range(3)])
    assert np.ptp(by, axis=1) == pytest.approx(0, abs=1e-9)
    assert by.sum(axis=0) == pytest.approx(0, abs=1e-9)
    assert by[0, 0] < 0 == pytest.approx(by[1, 0], abs=1e-12)


@pytest.mark.parametrize("log", [False, True])
def test_points_stay_at_their_numbers(log: bool) -> None:
    same = [Series("", [0.5], [y], low=[y - 1], high=[y + 1], strong=True, mode="markers") for y in (93.0, 88.0)]
    (axes,) = drawn(Figure("", "Cost", "y", same, log_x=log), "page").axes
    assert [line.get_xdata().tolist() for line in axes.lines if line.get_marker() == "o"] == [[0.5]] * 2  # type: ignore[union-attr]


def test_points_at_the_only_category_stay_near_each_other() -> None:
    two = [Series(name, [0.0], [1.0], low=[0.5], high=[1.5], strong=True, mode="markers") for name in "ab"]
    (axes,) = drawn(Figure("", "", "y", two, LEVELS[:1])).axes
    low, high = axes.get_xlim()
    left, right = (float(each.get_segments()[0][0][0]) for each in axes.collections)  # type: ignore[attr-defined]
    assert 0 < (right - left) / (high - low) < 0.05


@pytest.mark.parametrize("costs", [(1.0, 1.0), (0.03, 0.03), (0.6, 0.9), (1e-7, 3e-7), (0.123, 0.125), (0.001, 1000.0)])
def test_every_logarithmic_axis_has_two_numbers(costs: tuple[float, float]) -> None:
    (axes,) = drawn(Figure("", "Cost", "y", [Series("a", costs, [1, 2], mode="markers")], log_x=True)).axes
    low, high = axes.get_xlim()
    shown = {at: label.get_text() for at, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)}
    read = [at for at, text in shown.items() if low <= at <= high and float(text.replace(",", "")) == pytest.approx(at)]
    assert len(read) >= 2
    assert low < min(costs) <= max(costs) < high


def test_only_error_bars_at_one_place_are_moved() -> None:
    apart = [replaced(bars("a"), [0.0, 2.0, 4.0, 6.0, 8.0]), replaced(bars("b"), [1.0, 3.0, 5.0, 7.0, 9.0])]
    assert dodged(Figure("", "x", "y", apart), 3.25) == {}
    assert dodged(Figure("", "x", "y", [bars("a")], LEVELS), 3.25) == {}
    without = [Series(name, [0, 1], [1, 2], strong=True) for name in "ab"]
    assert dodged(Figure("", "x", "y", without), 3.25) == {}
    # What a page has moved a little is at its place first.
    near = dodged(Figure("", "x", "y", [bars("a", -0.04), bars("b", 0.04)], LEVELS), 3.25)
    assert near[0][0] == -near[1][0]
    assert near[1][0] > 0.04


def replaced(series: Series, x: list[float]) -> Series:
    return Series(series.name, x, series.y, 0, strong=True, low=series.low, high=series.high)


def test_bars_have_their_error_bars_in_their_middle() -> None:
    two = [bars("a", mode="bars"), bars("b", mode="bars")]
    (axes,) = drawn(Figure("", "x", "y", two, LEVELS)).axes
    middles = sorted(patch.get_x() + patch.get_width() / 2 for patch in axes.patches)
    ends = sorted(segment[0][0] for each in axes.collections for segment in each.get_segments())
    assert ends == pytest.approx(middles)
    assert len({*np.round(middles, 6)}) == 10


def test_subjects_without_colours_of_the_page_can_be_told_apart() -> None:
    grey = [Series(name, [0, 1], [1, 2], strong=True) for name in "abc"]
    (axes,) = drawn(Figure("", "x", "y", grey)).axes
    looks = {(line.get_color(), line.get_marker()) for line in axes.lines}
    assert len(looks) == 3


def test_lines_without_marks_differ_in_dashes() -> None:
    lines = [Series(name, [0, 1], [1, n], n, mode="lines", strong=True) for n, name in enumerate("abc")]
    (axes,) = drawn(Figure("", "x", "y", lines)).axes
    assert len({str(line.get_linestyle()) + str(line._dash_pattern) for line in axes.lines}) == 3  # type: ignore[attr-defined]


def test_labels_lie_neither_on_each_other_nor_outside() -> None:
    names = [f"network {number}" for number in range(6)]
    points = Series(
        "a", [1.0, 1.02, 1.04, 1.0, 1.02, 3.0], [1, 1, 1, 1.05, 1.05, 3], 0, mode="markers", strong=True, labels=names
    )
    canvas = drawn(Figure("", "x", "y", [points]), "page")
    (axes,) = canvas.axes
    canvas.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the lines to their points
    assert len(boxes) == 6
    assert not any(one.overlaps(other) for n, one in enumerate(boxes) for other in boxes[:n])


def test_a_legend_is_below_the_axes_and_fits() -> None:
    canvas = drawn(EVERY["Bars"])
    (legend,) = canvas.legends
    box, (axes,) = legend.get_window_extent(), canvas.axes
    assert box.y1 <= axes.get_window_extent().y0
    assert box.width <= canvas.bbox.width
    assert isinstance(canvas, PaperFigure)


def test_characters_that_the_font_lacks_are_drawn_with_another_or_named() -> None:
    """U+1D81 is in a font that comes with Matplotlib; U+10FFFD is a private character without a glyph anywhere."""
    figure = Figure("A", "ᶁ", "y", [Series("b \U0010fffd", [0, 1], [1, 2], strong=True)])
    assert families(EVERY["Bars"]) == [FAMILY]
    assert len(families(figure)) == 2
    assert boxes([figure]) == "\U0010fffd"
    assert "ᶁ".encode() in static_bytes(figure, "svg")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Canvas.savefig(drawn(replace(figure, series=[])), BytesIO(), format="png")
    assert found == []

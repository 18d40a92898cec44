"""Legends show what is drawn: a line only where there is one."""

from unseen.report.core.model import Figure, Section, Series


def test_points_have_no_line_in_the_legend() -> None:
    series = [
        Series("points", [0, 1], [1, 2], 0, strong=True, mode="markers", symbol="square"),
        Series("fit", [0, 1], [1, 2], 1, strong=True, mode="lines", dash="dot"),
        Series("fit", [0, 1], [1, 2], 1, strong=True, mode="markers", dash="dot"),
        Series("other", [0, 1], [1, 2], 2, group="paper", mode="markers"),
    ]
    section = Section("a", "A", figures=[Figure("", "", "", series)])
    assert section.names == (("points", 0, "square", ""), ("fit", 1, "circle", "dot"))
    assert section.groups == (("paper", 2, "circle", ""),)
    assert Section("a", "A", row_groups=[("web", 3, "circle")]).groups == (("web", 3, "circle", ""),)

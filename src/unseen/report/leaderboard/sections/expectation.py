"""Seen against unseen: accuracy on each level over that on IN-1K, on logit axes."""

from collections.abc import Sequence

from unseen.metrics.accuracy_scales import logit
from unseen.papers.concept_generalization import LEVELS
from unseen.papers.leaderboard import Leaderboard
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series, Ticks
from unseen.report.leaderboard.parts import entry_look, members, percent, points

PERCENTS = (2, 5, 10, 20, 30, 40, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95)
MARGIN = 0.15
"""Logits that a scatter shows beyond its points."""


def build(board: Leaderboard) -> Section:
    """Accuracy on each level over that on IN-1K, on logit axes, with the line of the models trained on IN-1K alone."""
    x_ticks = _ticks([entry.accuracy["in1k"] for entry in board.entries])
    figures = []
    for level in LEVELS:
        band = board.bands[level]
        x = logit(band.seen).tolist()
        lines = [
            Series("expected", x, logit(band.expected).tolist(), mode="lines"),
            Series("95% of draws of models", x, logit(band.low).tolist(), mode="lines", dash="dot"),
            Series("95% of draws of models", x, logit(band.high).tolist(), mode="lines", dash="dot"),
        ]
        y_ticks = _ticks([entry.accuracy[level] for entry in board.entries])
        title = f"{level.upper()} (R² {board.fits[level].r2:.2f})"
        figures.append(
            Figure(title, "IN-1K (%)", f"{level.upper()} (%)", [*lines, *_points_of(board, level)], x_ticks, y_ticks)
        )
    note = (
        "Axes are logits of accuracies. The line is fitted to the published models trained on IN-1K alone; dotted: "
        "its 95% interval over draws of these models. Hover over a point for its numbers."
    )
    return Section("expectation", "Seen against unseen", [], figures, note)


def _points_of(board: Leaderboard, level: str) -> list[Series]:
    """The models as points, a series for each category and for each of the user's backbones."""
    found = []
    for group in members(board.entries):
        first = group[0]
        found.append(
            Series(
                first.model if first.yours else first.category,
                logit([entry.accuracy["in1k"] for entry in group]).tolist(),
                logit([entry.accuracy[level] for entry in group]).tolist(),
                **entry_look(first), mode="markers",
                hover=[
                    f"{entry.model}: IN-1K {percent(entry.accuracy['in1k'])}%, {level.upper()} "
                    f"{percent(entry.accuracy[level])}%, {points(entry.effective[level].value)} beyond expectation"
                    for entry in group
                ],
            )
        )  # fmt: skip
    return found


def _ticks(shares: Sequence[float]) -> Ticks:
    """Round percents within what is shown, at their logits."""
    low, high = (float(end) for end in logit([min(shares), max(shares)]))
    places = [(float(logit(percent / 100)), str(percent)) for percent in PERCENTS]
    return tuple((at, text) for at, text in places if low - MARGIN <= at <= high + MARGIN)


SECTION = PageSection("leaderboard", 40, build)

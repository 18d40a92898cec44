"""Seen against unseen: accuracy on each level against accuracy on IN-1K, on logit axes."""

from unseen.metrics.accuracy_scales import logit
from unseen.papers.concept_generalization import LEVELS
from unseen.papers.leaderboard import REFERENCE, Leaderboard
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.core.ticks import percent_ticks
from unseen.report.leaderboard.parts import entry_look, members, percent, points

LABELLED = 3
"""Models on each side of the line that have a label."""


def build(board: Leaderboard) -> Section:
    """One scatter plot per level, with the line fitted to the published models trained on IN-1K alone."""
    x_ticks = percent_ticks(logit([entry.accuracy["in1k"] for entry in board.entries]).tolist())
    y_ticks = percent_ticks(logit([entry.accuracy[level] for entry in board.entries for level in LEVELS]).tolist())
    figures = []
    for level in LEVELS:
        band = board.bands[level]
        x = logit(band.seen).tolist()
        lines = [
            Series("expected", x, logit(band.expected).tolist(), mode="lines"),
            Series("95% of draws of models", x, logit(band.low).tolist(), mode="lines", dash="dot"),
            Series("95% of draws of models", x, logit(band.high).tolist(), mode="lines", dash="dot"),
        ]
        title = f"{level.upper()} (R² {board.fits[level].r2:.2f})"
        figures.append(
            Figure(
                title, "IN-1K (%)", "Accuracy on the level (%)", [*lines, *_points_of(board, level)], x_ticks, y_ticks
            )
        )
    first, last = (
        f"{100 * board.fits[level].r2:.0f}% of the variance on {level.upper()}" for level in (LEVELS[0], LEVELS[-1])
    )
    sentences = [f"Accuracy on IN-1K explains {first} and {last}."]
    note = (
        "Both axes are logits of accuracies, and all panels have the same y-axis. The line is fitted to the published "
        "models trained on IN-1K alone; the dotted lines are its 95% interval over resamples of these models. "
        f"Labels name {REFERENCE}, the {LABELLED} models furthest above and below the line, and yours, if there is "
        "room. Hover over any other point, or select the plot and press the arrow keys, for its name and numbers."
    )
    return Section("expectation", "Seen against unseen", sentences, figures, note)


def _points_of(board: Leaderboard, level: str) -> list[Series]:
    """The models as points: one series per category and one per backbone of the user."""
    by_distance = sorted(board.entries, key=lambda entry: entry.effective[level].value)
    labelled = {entry.model for entry in (*by_distance[:LABELLED], *by_distance[-LABELLED:])} | {REFERENCE}
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
                labels=[entry.model if entry.yours or entry.model in labelled else "" for entry in group],
            )
        )  # fmt: skip
    return found


SECTION = PageSection("leaderboard", 40, build)

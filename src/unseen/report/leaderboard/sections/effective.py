"""Effective concept generalization of every model, highest first."""

from unseen.papers.leaderboard import Leaderboard
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.leaderboard.parts import entry_look, members, points, shown_domain

SURE = 0.05


def build(board: Leaderboard) -> Section:
    """Accuracy beyond expectation of each model, highest first, with intervals."""
    domain = shown_domain(board)
    ordered = sorted(board.entries, key=lambda entry: -entry.effective[domain].value)
    places = {entry.model: float(number) for number, entry in enumerate(ordered)}
    series = []
    for group in members(ordered):
        first, values = group[0], [entry.effective[domain] for entry in group]
        series.append(
            Series(
                first.model if first.yours else first.category, [places[entry.model] for entry in group],
                [100 * value.value for value in values],
                **entry_look(first), mode="markers",
                low=[100 * value.low for value in values], high=[100 * value.high for value in values],
                hover=[
                    f"{entry.model}: {points(value.value)} points ({points(value.low)} to {points(value.high)})"
                    for entry, value in zip(group, values, strict=True)
                ],
            )
        )  # fmt: skip
    ticks = tuple((place, name) for name, place in places.items())
    title = "L5" if domain == "l5" else "Mean over L1 to L5"
    figure = Figure(title, "", "Beyond expectation (points)", series, ticks, zero=True)
    note = (
        "A model's accuracy minus the accuracy that its accuracy on IN-1K predicts; the model itself is left out of "
        "the fit. The 95% intervals are over resamples of the fitted models and of accuracies from their spread over "
        "seeds. An interval that excludes 0 means that a model is off the line, not that it is further off than other "
        "models usually are."
    )
    return Section("effective", "Effective concept generalization", _standing_out(board), [figure], note)


def _standing_out(board: Leaderboard) -> list[str]:
    """How many models are off the line on L5, and whether any is unusually far off, after correction."""
    table = board.generalization.table()
    far = table[table["level"] == "l5"]
    sure = far[far["off_line_holm"] < SURE]
    above = int((sure["effective"] > 0).sum())
    unusual = table[table["unusual_fdr"] < SURE]
    names = ", ".join(f"{row.model} on {row.level.upper()}" for row in unusual.itertuples())
    return [
        f"On L5, {above} of {len(far)} models are above the line and {len(sure) - above} below, after correction "
        f"(Holm) for {len(table)} comparisons.",
        f"Unusually far from the line: {names}."
        if names
        else "No model is unusually far from the line, compared with the spread of the others around it.",
    ]


SECTION = PageSection("leaderboard", 50, build)

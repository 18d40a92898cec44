"""Effective concept generalization of every model, greatest first."""

from unseen.papers.leaderboard import Leaderboard
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.leaderboard.parts import entry_look, members, points, shown_domain

SURE = 0.05


def build(board: Leaderboard) -> Section:
    """What each model has beyond expectation, greatest first, with intervals."""
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
        "A model's accuracy minus what its accuracy on IN-1K predicts, with the model itself left out of the line. "
        "Intervals of 95%: the models of the line are drawn anew, and accuracies from their spread over seeds. "
        "An interval that leaves out 0 says that a model is off the line, not that it is further off than models "
        "usually are."
    )
    return Section("effective", "Effective concept generalization", _standing_out(board), [figure], note)


def _standing_out(board: Leaderboard) -> list[str]:
    """How many models are off the line of L5, and whether any is further off than others, after correction."""
    table = board.generalization.table()
    far = table[table["level"] == "l5"]
    sure = far[far["off_line_holm"] < SURE]
    above = int((sure["effective"] > 0).sum())
    unusual = table[table["unusual_fdr"] < SURE]
    names = ", ".join(f"{row.model} on {row.level.upper()}" for row in unusual.itertuples())
    return [
        f"On L5, {above} of {len(far)} models are above the line and {len(sure) - above} below, after correction "
        f"(Holm) for {len(table)} comparisons.",
        f"Further off than models usually are: {names}."
        if names
        else "None is further off than models usually are: their spread about the line is that wide.",
    ]


SECTION = PageSection("leaderboard", 50, build)

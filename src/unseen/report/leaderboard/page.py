"""The leaderboard as one HTML page that needs nothing else."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from unseen.files import atomic_write
from unseen.metrics.accuracy_scales import logit
from unseen.papers import TABLES
from unseen.papers.concept_generalization import LEVELS
from unseen.papers.leaderboard import Entry, Leaderboard
from unseen.report.concepts.published_sections import CATEGORY_COLOURS
from unseen.report.core.render import render
from unseen.report.core.sections import Plot, Section, Series, Ticks
from unseen.report.leaderboard.figures import figure_sections
from unseen.words import signed

SHEETS = ("page.css", "leaderboard.css")
SCRIPTS = ("plots.js", "sections.js", "table.js", "look.js", "leaderboard.js")
YOURS_COLOUR = 5
TITLES = {"in1k": "IN-1K", **{level: level.upper() for level in LEVELS}, "mean": "Mean"}
RANKED_BY = {
    "l5": "accuracy on L5",
    "mean": "mean accuracy on L1 to L5",
    "effective": "mean effective concept generalization",
}
PERCENTS = (2, 5, 10, 20, 30, 40, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95)
SURE = 0.05
MARGIN = 0.15
"""Logits that a scatter shows beyond its points."""


def write_leaderboard_page(board: Leaderboard, path: Path) -> None:
    """Write the page; the same leaderboard gives the same bytes. Names from runs are only ever text in it."""
    with atomic_write(path) as file:
        file.write(_page(board).encode(errors="replace"))


def _page(board: Leaderboard) -> str:
    domain = _domain(board)
    sections = [*figure_sections(board), _expectation(board), _effective(board, domain)]
    colours = {entry.model: _colour(entry) for entry in board.entries}
    present = {entry.category for entry in board.entries if not entry.yours}
    cautions = dict.fromkeys(text for entry in board.entries for text in entry.cautions)
    reach = max(
        abs(end) for entry in board.entries for end in (entry.effective[domain].low, entry.effective[domain].high)
    )

    def place(share: float, from_right: bool = False) -> str:
        """Where a difference is on the small axis of its cell, in percent of its width."""
        at = 50 * (1 + share / reach)
        return f"{100 - at if from_right else at:.1f}"

    return render(
        "leaderboard.html.j2",
        sheets=SHEETS,
        scripts=SCRIPTS,
        filters={"percent": _percent, "points": _points, "place": place},
        values={
            "title": "ImageNet-CoG leaderboard",
            "board": board,
            "shots": _shots(board),
            "ranked_by": RANKED_BY[board.by],
            "findings": _findings(board, domain),
            "categories": {name: colour for name, colour in CATEGORY_COLOURS.items() if name in present},
            "colours": colours,
            "marks": {text: number for number, text in enumerate(cautions, 1)},
            "domains": ["in1k", *LEVELS, "mean"],
            "titles": TITLES,
            "domain": domain,
            "of": _of(domain),
            "sections": sections,
            "source": TABLES["cog-v2"],
            # The scripts of the report look for rows of scores; the leaderboard's table has its own.
            "payload": {"rows": [], "sections": [asdict(section) for section in sections]},
        },
    )


def _domain(board: Leaderboard) -> str:
    """What the table's differences are of."""
    return "l5" if board.by == "l5" else "mean"


def _of(domain: str) -> str:
    return "of L5" if domain == "l5" else "of the mean over L1 to L5"


def _shots(board: Leaderboard) -> str:
    return "all images" if board.shots == "all" else f"{board.shots} images a concept"


def _colour(entry: Entry) -> int:
    return YOURS_COLOUR if entry.yours else CATEGORY_COLOURS[entry.category]


def _findings(board: Leaderboard, domain: str) -> list[str]:
    """Who is first, where the user's backbones are, and how much accuracy on IN-1K says."""
    first, unit = board.entries[0], RANKED_BY[board.by]
    sentences = [f"First by {unit} is {first.model}, with {_score(first, board)}."]
    for entry in board.entries:
        if entry.yours:
            effective = entry.effective[domain]
            sentences.append(
                f"{entry.model} ranks {entry.rank} of {len(board.entries)}{_range(entry)}, "
                f"with {_score(entry, board)}, {_points(entry.relative[domain])} points against ResNet50 and "
                f"{_points(effective.value)} ({_points(effective.low)} to {_points(effective.high)}) beyond what its "
                f"accuracy on IN-1K predicts."
            )
    near, far = board.fits["l1"], board.fits["l5"]
    sentences.append(
        f"Over the {near.n} published models trained on IN-1K alone, accuracy on IN-1K explains {100 * near.r2:.0f}% "
        f"of how L1 varies and {100 * far.r2:.0f}% of how L5 does."
    )
    return sentences


def _score(entry: Entry, board: Leaderboard) -> str:
    if board.by == "effective":
        return f"{_points(entry.effective['mean'].value)} points"
    return f"{_percent(entry.accuracy[_domain(board)])}%"


def _range(entry: Entry) -> str:
    return f" ({entry.low} to {entry.high})" if entry.low != entry.high else ""


def _expectation(board: Leaderboard) -> Section:
    """Accuracy on each level over that on IN-1K, on logit axes, with the line of the models trained on IN-1K alone."""
    x_ticks = _ticks([entry.accuracy["in1k"] for entry in board.entries])
    plots = []
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
        plots.append(
            Plot(title, "IN-1K (%)", f"{level.upper()} (%)", [*lines, *_points_of(board, level)], x_ticks, y_ticks)
        )
    note = (
        "Axes are logits of accuracies. The line is fitted to the published models trained on IN-1K alone; dotted: "
        "its 95% interval over draws of these models. Hover over a point for its numbers."
    )
    return Section("expectation", "Seen against unseen", [], plots, note)


def _points_of(board: Leaderboard, level: str) -> list[Series]:
    """The models as points, a series for each category and for each of the user's backbones."""
    found = []
    for members in _members(board.entries):
        first = members[0]
        found.append(
            Series(
                first.model if first.yours else first.category,
                logit([entry.accuracy["in1k"] for entry in members]).tolist(),
                logit([entry.accuracy[level] for entry in members]).tolist(),
                _colour(first), "" if first.yours else first.category, strong=first.yours, mode="markers",
                symbol="star" if first.yours else "circle",
                hover=[
                    f"{entry.model}: IN-1K {_percent(entry.accuracy['in1k'])}%, {level.upper()} "
                    f"{_percent(entry.accuracy[level])}%, {_points(entry.effective[level].value)} beyond expectation"
                    for entry in members
                ],
            )
        )  # fmt: skip
    return found


def _effective(board: Leaderboard, domain: str) -> Section:
    """What each model has beyond expectation, greatest first, with intervals."""
    ordered = sorted(board.entries, key=lambda entry: -entry.effective[domain].value)
    places = {entry.model: float(number) for number, entry in enumerate(ordered)}
    series = []
    for members in _members(ordered):
        first, values = members[0], [entry.effective[domain] for entry in members]
        series.append(
            Series(
                first.model if first.yours else first.category, [places[entry.model] for entry in members],
                [100 * value.value for value in values],
                _colour(first), "" if first.yours else first.category, strong=first.yours, mode="markers",
                symbol="star" if first.yours else "circle",
                low=[100 * value.low for value in values], high=[100 * value.high for value in values],
                hover=[
                    f"{entry.model}: {_points(value.value)} points ({_points(value.low)} to {_points(value.high)})"
                    for entry, value in zip(members, values, strict=True)
                ],
            )
        )  # fmt: skip
    ticks = tuple((place, name) for name, place in places.items())
    title = "L5" if domain == "l5" else "Mean over L1 to L5"
    plot = Plot(title, "", "Beyond expectation (points)", series, ticks, zero=True)
    note = (
        "A model's accuracy minus what its accuracy on IN-1K predicts, with the model itself left out of the line. "
        "Intervals of 95%: the models of the line are drawn anew, and accuracies from their spread over seeds. "
        "An interval that leaves out 0 says that a model is off the line, not that it is further off than models "
        "usually are."
    )
    return Section("effective", "Effective concept generalization", _standing_out(board), [plot], note)


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


def _members(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Entries by category, in the order of the legend, and each of the user's by itself at the end."""
    groups = [[e for e in entries if e.category == name and not e.yours] for name in CATEGORY_COLOURS]
    return [*(group for group in groups if group), *([entry] for entry in entries if entry.yours)]


def _ticks(shares: Sequence[float]) -> Ticks:
    """Round percents within what is shown, at their logits."""
    low, high = (float(end) for end in logit([min(shares), max(shares)]))
    places = [(float(logit(percent / 100)), str(percent)) for percent in PERCENTS]
    return tuple((at, text) for at, text in places if low - MARGIN <= at <= high + MARGIN)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _points(share: float) -> str:
    return signed(100 * share)

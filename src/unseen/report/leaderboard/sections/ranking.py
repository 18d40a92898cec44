"""The ranking of all models."""

from unseen.papers.concept_generalization import LEVELS
from unseen.papers.leaderboard import Entry, Leaderboard
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.core.model_lines import CATEGORY_COLOURS
from unseen.report.leaderboard.parts import TITLES, of_domain, percent, points, shown_domain

DOMAINS = ("in1k", *LEVELS, "mean")


def build(board: Leaderboard) -> Section:
    """One row per model, the score that it is ranked by first; readers hide and show categories."""
    domain = shown_domain(board)
    of = of_domain(domain)
    cautions = list(dict.fromkeys(text for entry in board.entries for text in entry.cautions))
    ends = [end for entry in board.entries for end in (entry.effective[domain].low, entry.effective[domain].high)]
    reach = max(abs(end) for end in ends)
    columns = [
        Column("Rank", "1 is best; in brackets the 95% range over seeds", names=("rank", "rank_low", "rank_high")),
        Column("Model", number=False, names=("model",)), _accuracy_column(domain),
        Column("Effective", f"points beyond what accuracy on IN-1K predicts, {of}",
               names=("effective", "effective_low", "effective_high")),
        Column("vs ResNet50", f"points, {of}", names=("relative",)),
        *(_accuracy_column(name) for name in DOMAINS if name != domain),
        Column("Category", number=False, names=("category",)),
    ]  # fmt: skip
    rows = [_row(entry, domain, cautions, reach) for entry in board.entries]
    present = {entry.category for entry in board.entries if not entry.yours}
    note = (
        "Accuracies are in percent, differences in points. The numbers in brackets are the 95% range of ranks over "
        "resamples of the accuracies: from their spread over seeds and, for published ones, within the rounding of the "
        "paper’s tables. Other concepts or images would change the ranks further. “Effective” and “vs ResNet50” are "
        f"{of}; the bar is the 95% interval. Press a heading to sort."
    )
    unfair = "".join(
        f"\n{number} Not a fair comparison with ResNet50: {text}." for number, text in enumerate(cautions, 1)
    )
    return Section(
        "ranking", "Ranking", note=note + unfair,
        tables=[Table("ranking", columns, rows, sortable=True, filter="part of a name or category")],
        row_groups=[(name, colour, "circle") for name, colour in CATEGORY_COLOURS.items() if name in present],
    )  # fmt: skip


def _accuracy_column(name: str) -> Column:
    return Column(TITLES[name], "over L1 to L5" if name == "mean" else "", names=(name,))


def _accuracy(entry: Entry, name: str, style: str = "") -> Cell:
    return Cell(percent(entry.accuracy[name]), (entry.accuracy[name],), style=style)


def _row(entry: Entry, domain: str, cautions: list[str], reach: float) -> Row:
    effective, marks = entry.effective[domain], [str(1 + cautions.index(text)) for text in entry.cautions]
    spread = f"({entry.low}–{entry.high})" if entry.low != entry.high else ""
    span = [50 * (1 + end / reach) for end in (effective.low, effective.value, effective.high)]
    cells = [
        Cell(str(entry.rank), (entry.rank, entry.low, entry.high), small=spread),
        Cell(
            entry.model, (entry.model,), style="model", small=", ".join([*(["yours"] if entry.yours else []), *marks]),
            about="; ".join(entry.cautions), look=entry.yours,
            dot=None if entry.yours else CATEGORY_COLOURS[entry.category],
        ),
        _accuracy(entry, domain, "main"),
        Cell(
            points(effective.value), (effective.value, effective.low, effective.high),
            about=f"{points(effective.low)} to {points(effective.high)}", span=(span[0], span[1], span[2]),
        ),
        Cell(points(entry.relative[domain]), (entry.relative[domain],)),
        *(_accuracy(entry, name) for name in DOMAINS if name != domain),
        Cell(entry.category),
    ]  # fmt: skip
    style, group = ("yours", "") if entry.yours else ("", entry.category)
    return Row(cells, style, entry.model if entry.yours else "", group)


SECTION = PageSection("leaderboard", 10, build)

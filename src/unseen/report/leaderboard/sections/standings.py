"""The user's backbones ranked among themselves, from comparisons on the same test images."""

from markupsafe import Markup

from unseen.papers.leaderboard import Leaderboard
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.core.rank_figure import Placed, rank_figure
from unseen.report.core.ranking_words import leaders_text
from unseen.report.leaderboard.parts import TITLES, percent, shown_domain
from unseen.report.leaderboard.rank_parts import RANK_COLUMNS, rank_cells

NOTE = (
    "Ranks among your own backbones only, from which test images each of them classifies correctly: all pairs are "
    "compared on the same images, with concepts and, if there are several, seeds as samples. An interval has every "
    "rank that these comparisons leave possible, with 95% confidence for each backbone (Holm’s correction over its "
    "pairs). A tie group has the best backbone and all whose difference from it is not resolved; the next group "
    "begins with the best of the others. In the ranking above, intervals are over seeds alone."
)


def build(board: Leaderboard) -> Section | None:
    """A table and a figure of rank intervals; None without comparisons."""
    if board.own is None:
        return None
    own, domain, count = board.own, shown_domain(board), len(board.own.names)
    placed = [
        Placed(name, int(own.rank[row]), int(own.low[row]), int(own.high[row]), int(own.group[row]),
               f"{percent(own.value[row])}%")
        for row, name in enumerate(own.names)
    ]  # fmt: skip
    what = "accuracy on L5" if domain == "l5" else "mean accuracy on L1 to L5"
    columns = [*RANK_COLUMNS, Column("Model", number=False, names=("model",)), Column(TITLES[domain], names=(domain,))]
    rows = [
        Row(
            [
                *rank_cells(each, count), Cell(each.backbone, (each.backbone,), style="model", look=True),
                Cell(percent(own.value[row]), (float(own.value[row]),), style="main"),
            ],
            backbone=each.backbone,
        )
        for row, each in enumerate(placed)
    ]  # fmt: skip
    first = [each.backbone for each in placed if each.group == 1]
    leaders = Markup("{}.").format(leaders_text(first, what))
    return Section(
        "standings", "Your backbones among themselves", [leaders], [rank_figure(placed)], NOTE,
        [Table("standings", columns, rows, sortable=True)], menu="Among yours",
    )  # fmt: skip


SECTION = PageSection("leaderboard", 15, build)

"""The page of the leaderboard of a study's own backbones: one section per ranking."""

from dataclasses import replace
from pathlib import Path

from unseen.analyses.core.rankings import Ranked, Ranking
from unseen.analyses.core.study_leaderboard import StudyLeaderboard
from unseen.report.core.costs import section_of
from unseen.report.core.metric_words import TRAINED_ON, metric_words, probe_words
from unseen.report.core.model import Backbone, Cell, Column, Page, Row, Section, Table
from unseen.report.core.provenance import provenance_section
from unseen.report.core.rank_figure import Placed, rank_figure, spread
from unseen.report.core.ranking_words import title
from unseen.report.core.render import write_page
from unseen.report.leaderboard.rank_parts import RANK_COLUMNS, rank_cells
from unseen.report.leaderboard.ranking_words import findings, how_ranked, leaders, notes, score_text
from unseen.text.words import counted

MANY = 12
"""With more backbones than this, tables have a filter."""


def write_study_leaderboard(board: StudyLeaderboard, path: Path) -> None:
    """Write the page of the rankings of a study."""
    write_page(study_leaderboard_page(board), path)


def study_leaderboard_page(board: StudyLeaderboard) -> Page:
    """The page of the rankings of a study."""
    choice, drawn = board.choice, frozenset(each.name for each in board.backbones)
    chosen = [] if choice is None else [section_of(choice, board.titles, drawn)]
    others = [each for each in board.rankings if choice is None or each is not choice.ranking]
    return Page(
        title="Leaderboard of your backbones",
        sections=[
            *(replace(section, sentences=()) for section in chosen),
            *(_section(number, ranking, board) for number, ranking in enumerate(board.rankings, 1)),
            provenance_section({"Runs": ", ".join(board.places)}),
        ],
        facts=[
            counted(len(board.backbones), "backbone"),
            counted(len({name for ranking in board.rankings for name in ranking.metrics}), "data set"),
            counted(len(board.rankings), "ranking"),
        ],
        notices=board.notices,
        findings=[
            *(section.sentences[0] for section in chosen),
            *(leaders(ranking, board.titles) for ranking in others),
        ],
        backbones=[Backbone(each.name, each.category) for each in board.backbones],
        beside_published=board.beside_published,
    )


def _section(number: int, ranking: Ranking, board: StudyLeaderboard) -> Section:
    ranked = ranking.ranked
    placed = {each.backbone: _placed(each, ranking) for each in ranked if each.rank is not None}
    others = any(each.others for each in ranked)
    averaged = len(ranking.by) > 1
    columns = [
        *RANK_COLUMNS,
        Column("Backbone", number=False, names=("backbone",)),
        *([Column("Mean", f"over {len(ranking.by)} data sets", names=("mean",))] if averaged else []),
        *(
            Column(board.titles.get(name, name), metric_words(metric.name), names=(name,))
            for name, metric in ranking.metrics.items()
        ),
        *([Column("Other data sets", "interval of the rank", names=("others_low", "others_high"))] if others else []),
    ]
    rows = [
        _row(each, placed.get(each.backbone), ranking, averaged=averaged, others=others) for each in ranking.entries
    ]
    name = "standings" if number == 1 else f"standings-{number}"
    table = Table(name, columns, rows, sortable=True, filter="part of a name" if len(rows) > MANY else "")
    return Section(
        name, title(ranking), [*findings(ranking, board.titles), *notes(ranking)],
        [rank_figure([*placed.values()])] if ranking.basis == "pairs" else [],
        how_ranked(ranking, board.titles), [table], menu=probe_words(ranking.probe),
    )  # fmt: skip


def _placed(each: Ranked, ranking: Ranking) -> Placed:
    assert each.rank is not None, "it is ranked"
    assert each.value is not None, "it is ranked"
    text = score_text(ranking.metric, each.value)
    return Placed(each.backbone, each.rank, each.low, each.high, each.group, text)


def _row(each: Ranked, placed: Placed | None, ranking: Ranking, *, averaged: bool, others: bool) -> Row:
    cells = [
        *rank_cells(placed, len(ranking.ranked)),
        Cell(each.backbone, (each.backbone,), style="model", look=True, about=each.reason),
    ]
    if averaged:
        known = each.value is not None
        cells.append(Cell(score_text(ranking.metric, each.value), (each.value,), style="main") if known else Cell())
    for name, metric in ranking.metrics.items():
        value = each.scores.get(name)
        style = "main" if not averaged and name in ranking.by else "" if name in ranking.by else "faint"
        mark = TRAINED_ON if name in each.trained_on else ""
        cells.append(Cell() if value is None else Cell(score_text(metric, value) + mark, (value,), style=style))
    if others:
        cells.append(Cell(spread(*each.others), each.others) if each.others else Cell())
    return Row(cells, backbone=each.backbone)

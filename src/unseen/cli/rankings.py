"""The rankings of a study's backbones in the terminal, as JSON, as a table and as a page."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.cli.output import console, print_json, print_table
from unseen.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from unseen.analyses.core.costs import Choice
    from unseen.analyses.core.rankings import Ranking
    from unseen.analyses.core.study_leaderboard import StudyLeaderboard

NARROW = 78
"""Terminal width below which a table has only what backbones are ranked by."""
FEW = 9
"""Data sets that a table has columns for."""


def show_rankings(board: "StudyLeaderboard", out: Path | None, *, as_json: bool) -> None:
    """Write the page or the table, and print all rankings."""
    if out is not None and out.suffix == ".html":
        from unseen.report.leaderboard.study_page import write_study_leaderboard

        write_study_leaderboard(board, out)
    elif out is not None:
        write_board_table(board.to_frame(), out)
    if as_json:
        print_json(_as_json(board))
        return
    for ranking in board.rankings:
        _print(ranking, board)
    if board.choice is not None:
        _print_choice(board, board.choice)
    for text in board.notices:
        console().print(text)


def write_board_table(table: "pd.DataFrame", out: Path) -> None:
    """Write a leaderboard as a table in the format of the file's suffix."""
    from unseen.runs.tables import WRITERS, write_table

    if out.suffix not in WRITERS:
        raise UserError(f"{out}: --out ends in .html for a page, or in {', '.join(WRITERS)} for a table")
    write_table(table, out)


def rank_text(rank: int, low: int | None, high: int | None) -> str:
    """A rank with its interval: `2 (1–4)`; an interval of one rank is left out."""
    return str(rank) if low is None or low == high else f"{rank} ({low}–{high})"


def _as_json(board: "StudyLeaderboard") -> dict[str, Any]:
    from unseen.analyses.core.costs import cost_record

    return {
        "by": board.by, "rankings": [_record(each) for each in board.rankings],
        "costs": {each.name: cost_record(each.cost) for each in board.backbones}, "notices": board.notices,
    }  # fmt: skip


def _print_choice(board: "StudyLeaderboard", choice: "Choice") -> None:
    """Print which backbone to take, and what each costs."""
    from unseen.report.core.cost_words import choice_sentence, cost_texts, elsewhere_sentence

    columns = ["backbone", "parameters", "multiply-adds", "ms per image", "dimensions"]
    rows = [[each.backbone, *cost_texts(choice, each.backbone)] for each in choice.ranking.entries]
    print_table("Cost of each backbone", columns, rows, right=columns[1:])
    if marked := elsewhere_sentence(choice):
        console().print(f"\n{marked}")
    console().print(f"\n{choice_sentence(choice, board.titles).striptags()}\n")


def _record(ranking: "Ranking") -> dict[str, Any]:
    return {
        "axis": ranking.axis, "probe": ranking.probe, "shots": ranking.shots, "protocol": ranking.protocol,
        "metrics": {name: metric.name for name, metric in ranking.metrics.items()},
        "higher_is_better": ranking.metric.ranks_high, "by": ranking.by, "rank_basis": ranking.basis,
        "units": ranking.units, "fewest_seeds": ranking.fewest_seeds,
        "backbones": [asdict(each) for each in ranking.entries], "notes": ranking.notes,
    }  # fmt: skip


def _print(ranking: "Ranking", board: "StudyLeaderboard") -> None:
    from markupsafe import Markup

    from unseen.report.core.metric_words import TRAINED_ON
    from unseen.report.core.ranking_words import by_text, compared_on, title
    from unseen.report.leaderboard.ranking_words import findings, notes, score_text

    wide = console().width >= NARROW and len(ranking.metrics) <= FEW
    averaged = len(ranking.by) > 1
    datasets = [name for name in ranking.metrics if wide or (not averaged and name in ranking.by)]
    others = any(each.others for each in ranking.ranked)
    columns = ["rank", "group", "backbone", *(["mean"] if averaged else []), *datasets]
    columns += ["other data sets"] if others else []
    rows = []
    for each in ranking.entries:
        row = [
            "–" if each.rank is None else rank_text(each.rank, each.low, each.high),
            "–" if each.group is None else str(each.group), each.backbone,
        ]  # fmt: skip
        row += [score_text(ranking.metric, each.value)] if averaged else []
        row += [
            score_text(ranking.metrics[name], each.scores.get(name)) + TRAINED_ON * (name in each.trained_on)
            for name in datasets
        ]
        if others:
            row.append("–" if each.others is None else "–".join(map(str, dict.fromkeys(each.others))))
        rows.append(row)
    heading = f"{title(ranking)}: {by_text(ranking, board.titles)}"
    print_table(heading, columns, rows, right=[name for name in columns if name != "backbone"])
    out = console()
    out.soft_wrap = False
    found = [text.striptags() if isinstance(text, Markup) else text for text in findings(ranking, board.titles)]
    chosen = board.choice is not None and board.choice.ranking is ranking  # whose leaders the last sentence names
    lines = [*found[chosen:], *notes(ranking)]
    if ranking.basis == "pairs":
        lines.append(
            f"In brackets: 95% interval of the rank, from comparisons of all pairs on the same {compared_on(ranking)}. "
            "The order of backbones in one group is not resolved."
        )
    out.print()
    for text in lines:
        out.print(text)
    out.print()

"""The page of the leaderboard of a study: its numbers, what it says of ranks, and that names stay text."""

from dataclasses import replace
from pathlib import Path

import pytest
from hit_runs import normal_hits, write_hit_run

from unseen.analyses.core.study_leaderboard import StudyLeaderboard, study_leaderboard
from unseen.report.core.export import export_page
from unseen.report.core.model import Page
from unseen.report.core.render import page_html
from unseen.report.leaderboard.study_page import study_leaderboard_page

HOSTILE = '"><img src=x onerror=alert(1)></script><script>alert(2)</script><b>bold</b>'
ACCURACY = {"best": 0.8, HOSTILE: 0.8, "far": 0.4}


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> StudyLeaderboard:
    folder = tmp_path_factory.mktemp("study") / "run"
    return study_leaderboard([write_hit_run(folder, [*ACCURACY], normal_hits(ACCURACY, spread=0.2))])


@pytest.fixture(scope="module")
def page(board: StudyLeaderboard) -> Page:
    return study_leaderboard_page(board)


def test_a_row_has_the_rank_its_interval_and_the_tie_group(page: Page, board: StudyLeaderboard) -> None:
    [table] = page.sections[0].tables
    last = table.rows[-1]
    assert [cell.values for cell in last.cells[:3]] == [(3, 3, 3), (2,), ("far",)]
    mean = board.rankings[0].entries[-1].value
    assert last.cells[3].values == (mean,)
    assert {row.cells[0].values for row in table.rows[:2]} <= {(1, 1, 2), (2, 1, 2)}
    assert {row.cells[1].text for row in table.rows[:2]} == {"1"}


def test_the_figure_has_a_bar_per_interval(page: Page) -> None:
    [figure] = page.sections[0].figures
    bars = {series.backbone: series.x for series in figure.series if series.mode == "lines"}
    assert bars == {"best": [1.0, 2.0], HOSTILE: [1.0, 2.0], "far": [3.0, 3.0]}
    assert [text for _, text in figure.x_ticks] == ["1", "2", "3"]
    assert len(figure.y_ticks) == 3


def test_no_winner_is_named_without_resolution(page: Page, tmp_path: Path) -> None:
    assert "share the first place by mean top-1 accuracy over 3 data sets" in page.findings[0]
    clear = {"first": 0.9, "second": 0.5}
    found = study_leaderboard([write_hit_run(tmp_path, [*clear], normal_hits(clear, spread=0.2))])
    assert study_leaderboard_page(found).findings[0].partition(": ")[2].startswith("<code>first</code> is best by")


def test_names_stay_text_and_the_page_is_the_same_each_time(page: Page) -> None:
    text = page_html(page)
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert text == page_html(page)


def test_tables_and_figures_are_exported(page: Page, tmp_path: Path) -> None:
    export_page(page, tmp_path)
    header = (tmp_path / "standings.csv").read_text().splitlines()[0]
    assert header == "rank,rank_low,rank_high,tie_group,backbone,mean,a,b,c,others_low,others_high"
    assert any(path.suffix == ".svg" for path in tmp_path.iterdir())


def test_a_page_says_which_kind_its_ranks_are(board: StudyLeaderboard) -> None:
    [ranking] = board.rankings
    texts = {}
    for basis in ("pairs", "scores", "alone"):
        entries = ranking.entries[: 1 if basis == "alone" else None]
        if basis != "pairs":
            entries = tuple(replace(each, low=None, high=None, group=None) for each in entries)
        if basis == "alone":
            entries = tuple(replace(each, rank=None) for each in entries)
        made = replace(ranking, basis=basis, entries=entries)  # type: ignore[arg-type]
        section = study_leaderboard_page(replace(board, rankings=(made,))).sections[0]
        texts[basis] = " ".join([*section.sentences, section.note])
        assert bool(section.figures) == (basis == "pairs")
    assert "comparisons of all pairs on the same test images" in texts["pairs"]
    assert "Ranks have no intervals" in texts["scores"]
    assert "there is one backbone to rank" in texts["alone"]

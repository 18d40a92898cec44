"""The section about which backbone to take: who is named, what is in its table and files, and names stay text."""

import csv
from pathlib import Path
from typing import Any

import pytest
from cost_runs import cost, write_cost_run
from hit_runs import normal_hits

from unseen.analyses.core.comparables import comparables
from unseen.analyses.core.costs import choice_of
from unseen.report.core.cost_words import ELSEWHERE, choice_sentence, cost_texts, elsewhere_sentence
from unseen.report.core.export import export_page
from unseen.report.core.model import Page, Section
from unseen.report.core.render import page_html
from unseen.report.of_runs import report_on
from unseen.runs.record import read_run

ACCURACY = {"large": 0.85, "small": 0.85, "weak": 0.6}
COSTS = {"large": cost(80_000_000, 17_500_000_000, 4.0), "small": cost(20_000_000, 4_600_000_000, 1.0), "weak": None}


def page_of(folder: Path, accuracy: Any = None, costs: Any = None, **options: Any) -> Page:
    return report_on([write_cost_run(folder, accuracy or ACCURACY, COSTS if costs is None else costs, **options)]).page


def section_of(page: Page) -> Section:
    [section] = [each for each in page.sections if each.name == "choice"]
    return section


def test_the_page_begins_with_the_cheapest_of_the_tie(tmp_path: Path) -> None:
    page = page_of(tmp_path)
    first = str(page.findings[0])
    tied, cheapest = first.split("The cheapest of them is")
    assert [name in tied for name in ("<code>large</code>", "<code>small</code>", "weak")] == [True, True, False]
    assert [name in cheapest for name in ("<code>small</code>", "large")] == [True, False]
    assert "20 M parameters, 4.6 G multiply-adds and 1 ms per image on NVIDIA H200" in cheapest
    assert page.sections[0] == section_of(page)


def test_a_resolved_winner_has_no_rival(tmp_path: Path) -> None:
    first = str(page_of(tmp_path, {"large": 0.9, "small": 0.6, "weak": 0.5}).findings[0])
    assert first.partition(": ")[2].startswith("<code>large</code> is best by")
    assert "small" not in first


@pytest.mark.long_suite
def test_the_table_has_every_backbone_and_dashes_have_reasons(tmp_path: Path) -> None:
    page = page_of(tmp_path / "run")
    [table] = section_of(page).tables
    rows = {
        row.cells[0].text: dict(zip([c.title for c in table.columns], row.cells, strict=True)) for row in table.rows
    }
    assert [rows["small"][name].text for name in ("Parameters", "Multiply-adds", "ms per image", "Dimensions")] == [
        "20 M", "4.6 G", "1", "384",
    ]  # fmt: skip
    assert rows["small"]["Parameters"].values == (20_000_000,)
    assert [rows["weak"][name].text for name in ("Parameters", "ms per image", "By time")] == ["–"] * 3
    assert all(rows["weak"][name].about for name in ("Parameters", "ms per image", "By time"))
    export_page(page, tmp_path / "files")
    with (tmp_path / "files/choice-costs.csv").open() as file:
        records = {record["backbone"]: record for record in csv.DictReader(file)}
    assert records["large"]["multiply_adds"] == "17500000000"
    assert (records["weak"]["parameters"], records["weak"]["ms_per_image"]) == ("", "")
    names = {path.name for path in (tmp_path / "files").glob("choice-accuracy*.svg")}
    assert len(names) == 3


def test_one_figure_for_each_cost_that_is_known(tmp_path: Path) -> None:
    without = {"large": cost(80_000_000), "small": cost(20_000_000)}
    section = section_of(page_of(tmp_path, costs=without))
    assert [figure.choice for figure in section.figures] == [("choice", "parameters")]
    [choice] = section.choices
    assert [value for value, _ in choice.options] == ["parameters"]


def test_equal_costs_are_drawn_too(tmp_path: Path) -> None:
    alike = {name: cost(20_000_000, 4_600_000_000, 1.0 + place) for place, name in enumerate(ACCURACY)}
    page = page_of(tmp_path, costs=alike)
    assert len(section_of(page).figures) == 3
    assert "choice-values" not in page_html(page)  # the name of a table in the place of a figure


def test_a_run_without_costs_is_as_it_was(tmp_path: Path) -> None:
    page = page_of(tmp_path, costs={})
    assert not any(section.name == "choice" for section in page.sections)


def test_one_backbone_has_its_cost_and_no_figure(tmp_path: Path) -> None:
    page = page_of(tmp_path, {"small": 0.8})
    assert not section_of(page).figures
    assert str(page.findings[0]).startswith("<code>small</code>, with 20 M parameters")


def test_names_stay_text(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>"
    page = page_of(tmp_path, {name: 0.9, "b": 0.5}, {name: cost(10, 10, 1.0, "<b>GPU</b>"), "b": cost(20, 20)})
    text = page_html(page)
    assert "<img src=x" not in text
    assert "<b>GPU" not in text


@pytest.mark.parametrize("lower", [False, True])
def test_costs_are_in_the_leaderboard(tmp_path: Path, lower: bool) -> None:
    from unseen.analyses.core.study_leaderboard import study_leaderboard
    from unseen.report.leaderboard.study_page import study_leaderboard_page

    write_cost_run(tmp_path, ACCURACY, COSTS, hits=normal_hits(ACCURACY, 300 if lower else 600))
    board = study_leaderboard([tmp_path])
    table = board.to_frame().set_index("backbone")
    assert table.loc["large", "parameters"] == 80_000_000
    assert table.loc["small", "ms_per_image"] == pytest.approx(1.0)
    assert table["parameters"].isna().sum() == 1
    assert (table["value_low"] < table["value"]).all()
    page = study_leaderboard_page(board)
    assert "small" in str(page.findings[0])
    assert page.sections[0].name == "choice"


def test_a_time_of_another_machine_is_marked_and_the_cheapest_says_so(tmp_path: Path) -> None:
    costs = COSTS | {"small": cost(20_000_000, 4_600_000_000, 1.0, "NVIDIA A100"), "weak": cost(1, 1, 1.0)}
    data = read_run(write_cost_run(tmp_path, ACCURACY, costs))
    choice = choice_of(data, comparables(data))
    assert choice is not None
    assert [cost_texts(choice, name)[2] for name in ("large", "small", "weak")] == ["4", f"1{ELSEWHERE}", "1"]
    assert "NVIDIA A100" in elsewhere_sentence(choice)
    first = choice_sentence(choice, {})
    assert "The cheapest of them is <code>small</code>" in first
    assert "NVIDIA A100" in first.partition("cheapest")[2]


def test_a_cost_of_zero_is_drawn_at_the_edge_and_ticks_are_whole_numbers(tmp_path: Path) -> None:
    costs = {"large": cost(2_000_000), "small": cost(500_000), "weak": cost(0)}
    section = section_of(page_of(tmp_path, costs=costs))
    [figure] = section.figures
    assert [text for _, text in figure.x_ticks] == ["0", "0.5", "1", "2"]
    points = {series.labels[0]: series.x[0] for series in figure.series if series.labels}
    assert points == {"large": 2.0, "small": 0.5, "weak": figure.x_ticks[0][0]}
    assert figure.x_range is not None
    assert figure.x_range[0] < points["weak"] < 0.5


def test_what_is_not_drawn_is_named(tmp_path: Path) -> None:
    section = section_of(page_of(tmp_path))
    assert all("weak" in figure.caption for figure in section.figures)
    assert section.note.count("weak") == 3


def test_a_backbone_looks_the_same_on_the_page_of_the_run_and_on_the_leaderboard(tmp_path: Path) -> None:
    from unseen.analyses.core.study_leaderboard import study_leaderboard
    from unseen.report.core.looks import page_looks
    from unseen.report.leaderboard.study_page import study_leaderboard_page

    page = page_of(tmp_path)
    assert page_looks(study_leaderboard_page(study_leaderboard([tmp_path]))) == page_looks(page)

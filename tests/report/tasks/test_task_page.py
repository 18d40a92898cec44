"""The page of the task study."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from task_scores import task_score

from unseen.analyses.tasks.averages import CorrelationTable, averages, correlations, ranks
from unseen.analyses.tasks.data import TaskDataset
from unseen.papers import published
from unseen.papers.transfer import imagenet_top1, published_task_scores
from unseen.report.core.discover import build_sections
from unseen.report.core.model import Section, Table
from unseen.report.tasks import page as page_module
from unseen.report.tasks.page import findings, shown_part, task_page, write_task_page
from unseen.report.tasks.page_data import Bins, Fit, TaskPage
from unseen.report.tasks.score_table import task_table
from unseen.report.tasks.tables import score_tables, text_of

EVIL = "</script><b>evil</b>"
PRINTED = [*published_task_scores(), *imagenet_top1()]


def page(name: str = "mine", stopped: int = 0, edge: str | None = None) -> TaskPage:
    own = [
        task_score(name, "cifar10", "linear", 0.812),
        task_score(name, "digits", "linear", 0.95),
        task_score(name, "cifar10", "5-shot", 0.775, 0.004),
        task_score(name, "cifar10", "20-shot", 0.8, 0.003),
        task_score(name, "cifar10", "50-shot", 0.85, 0.003),
        task_score(name, "cifar10", "ece", 0.06),
        task_score(name, "cifar10", "scaled-ece", 0.02),
        task_score(name, "", "imagenet", 0.7),
    ]
    bins = Bins([3, 0, 7], [0.2, None, 0.9], [0.25, None, 0.8])
    together, printed = averages([*own, *PRINTED]), averages(PRINTED)
    return TaskPage(
        title="Transfer", protocol="ericsson-2021", backbones=[name],
        datasets=[
            TaskDataset("cifar10", "CIFAR-10", "kornblith"), TaskDataset("digits", "digits", "other")
        ],
        scores=[*own, *PRINTED], fits=[Fit(name, "cifar10", 1.0, edge, stopped, bins, bins, (1.3,))], averages=together,
        correlations=[CorrelationTable("The paper's 14 models", printed, correlations(printed))], ranks=ranks(together),
        notices=["dtd: not there."], provenance={"protocol": "ericsson-2021"}, timings={name: (4, 12.0)},
    )  # fmt: skip


def task_sections(page: TaskPage) -> list[Section]:
    return build_sections("tasks", page)


def tables_of(page: TaskPage, name: str) -> list[Table]:
    return [table for section in task_sections(page) if section.name == name for table in section.tables]


def test_names_are_only_text(tmp_path: Path) -> None:
    write_task_page(page(EVIL), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert EVIL not in text
    assert "&lt;/script&gt;&lt;b&gt;evil" in text
    payload = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert payload
    assert json.loads(payload[1])["backbones"][0]["name"] == EVIL
    assert 'http-equiv="Content-Security-Policy"' in text
    write_task_page(page(EVIL), tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == text


def test_a_large_run_shows_the_best_backbones_and_their_ranks_among_all(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"net {place}" for place in range(20)]
    own = [task_score(name, "cifar10", "linear", 0.5 + place / 50) for place, name in enumerate(names)]
    together = averages([*own, *PRINTED])
    fits = [replace(page().fits[0], backbone=name) for name in names]
    large = replace(
        page(),
        backbones=names,
        scores=[*own, *PRINTED],
        fits=fits,
        ranks=ranks(together),
        averages=together,
        timings={},
        further_scores=[replace(score, probe="knn-20") for score in own],
    )
    assert shown_part(large) is large
    monkeypatch.setattr(page_module, "MOST_SCORES", 0)
    monkeypatch.setattr(page_module, "FEWEST_BACKBONES", 5)
    part = shown_part(large)
    assert [*part.backbones] == names[-5:]
    assert {fit.backbone for fit in part.fits} == {*names[-5:]}
    assert {score.backbone for score in part.scores if not score.published} == {*names[-5:]}
    assert {score.backbone for score in part.further_scores} == {*names[-5:]}
    assert (part.ranks, part.averages) == (large.ranks, large.averages)
    assert "5 of 20 backbones" in part.notices[-1]
    assert "20 backbones" in task_page(large).facts


def compared_page(**linear: tuple[float, float]) -> TaskPage:
    """A page of backbones with scores of linear probes on two data sets of 150 test images each."""
    scores = [
        replace(task_score(name, dataset, "linear", value), metric=metric)
        for name, values in linear.items()
        for dataset, value, metric in zip(("photos", "breeds"), values, ("top1", "mean-per-class"), strict=True)
    ]
    datasets = [TaskDataset(name, name, "other", own=True, test_images=150) for name in ("photos", "breeds")]
    return replace(
        page(), backbones=list(linear), datasets=datasets, scores=scores, fits=[], averages=[], ranks={}, timings={}
    )


def bold(page: TaskPage) -> list[tuple[str, str]]:
    """Backbone and column of every marked score of a page."""
    return [
        (row.cells[0].text, column.title)
        for section in task_sections(page)
        for table in section.tables
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.style
    ]


def test_a_score_is_bold_only_if_an_interval_supports_it() -> None:
    assert bold(compared_page(a=(113 / 150, 0.9), b=(112 / 150, 0.1), c=(20 / 150, 0.1))) == []
    clear = compared_page(a=(130 / 150, 0.9), b=(90 / 150, 0.1))
    assert bold(clear) == [("a", "photos")]  # the difference of mean per-class accuracies has no interval
    unknown = replace(clear, datasets=[replace(dataset, test_images=None) for dataset in clear.datasets])
    assert bold(unknown) == []


def test_scores_over_episodes_and_calibration_errors_are_never_bold() -> None:
    assert bold(page()) == []
    five = next(table for table in score_tables(page()) if table.name == "5-shot")
    assert "not over images" in five.caption
    cells = {row.cells[0].text: row.cells[1] for row in five.rows}
    assert text_of(cells["mine"]) == "77.50 ± 0.40"
    assert text_of(cells["Supervised"]) == "77.50 ± 0.55"  # Table 6
    assert [row.style for row in five.rows] == [""] + ["published"] * 14


def test_published_calibration_stands_only_beside_data_sets_of_the_paper() -> None:
    with_one = tables_of(page(), "calibration")[0]
    assert [row.cells[0].text for row in with_one.rows if row.style != "published"] == ["mine"]
    assert len(with_one.rows) > 1
    assert len(with_one.columns) == 3
    whole = page()
    kept = [score for score in whole.scores if score.domain != "digits"]
    scores = [replace(score, domain="digits") if score.domain == "cifar10" else score for score in kept]
    [none, *_] = tables_of(replace(whole, scores=scores), "calibration")
    assert [column.title for column in none.columns[1:]] == ["digits"]
    assert [row.cells[0].text for row in none.rows] == ["mine"]


def test_tables_of_correlations() -> None:
    tables = tables_of(page(), "correlations")
    rows = {row.cells[0].text: row.cells[1].text for row in tables[0].rows}
    assert rows["Calibration, fine-tuned"] == "−0.90"  # as Table 9 prints it
    assert rows["Calibration, linear"] == "−0.77"
    matrix = [[cell.text for cell in row.cells[1:]] for row in tables[1].rows]
    size = len(tables[1].columns) - 1
    assert all(matrix[i][j] == matrix[j][i] for i in range(size) for j in range(size))
    assert all(matrix[i][i] == "" for i in range(size))


def test_data_that_are_not_the_papers_have_no_sections_on_imagenet() -> None:
    whole = page()
    others = [replace(dataset, family="other") for dataset in whole.datasets]
    names = [section.name for section in task_sections(replace(whole, datasets=others))]
    assert "correlations" not in names
    assert "correlations" in [section.name for section in task_sections(whole)]


def test_radars_put_the_best_rank_at_the_rim() -> None:
    section = next(part for part in task_sections(page()) if part.name == "ranks")
    radars = {figure.title: figure.series[0] for figure in section.figures}
    assert radars["mine"].strong
    cifar = published("ericsson-2021").query("dataset == 'cifar10'").set_index("setting")["value"]
    places = [1 + (cifar[setting] > percent).sum() for setting, percent in (("linear", 81.2), ("20-shot", 80.0))]
    assert list(radars["mine"].hover)[1:] == [
        f"Many-shot, linear: {places[0]} of 15",
        f"20-shot, Kornblith: {places[1]} of 15",
    ]
    spokes = [text for _, text in next(figure for figure in section.figures if figure.title == "Supervised").x_ticks]
    assert len(spokes) == 9
    assert dict(zip(spokes, radars["Supervised"].y, strict=True))["ImageNet"] == 1
    assert radars["InsDis"].y[0] == 0
    assert len(radars) == 15
    assert all(height is not None and 0 <= height <= 1 for radar in radars.values() for height in radar.y)
    # As in the paper, calibration is not among them.
    assert any("Calibration" in average.title for average in page().averages)
    assert not any("Calibration" in text for text in spokes)


def test_of_calibration_errors_a_negative_coefficient_is_the_good_one() -> None:
    section = next(part for part in task_sections(page()) if part.name == "correlations")
    assert "Lower calibration errors are better, so a negative correlation" in section.note


def test_findings_say_where_a_backbone_stands() -> None:
    first, others, second = findings(page())
    # The average is over the paper's data sets: digits is none of them.
    assert "reach 81.2% on CIFAR-10" in first
    assert "outside the paper reach 95.0% on digits" in others
    for place in ("13 of 15 in Many-shot, linear", "1 of 15 in 5-shot, Kornblith", "2 of 15 in 50-shot, Kornblith"):
        assert place in second
    assert second.count("CIFAR-10") == 1  # the data sets of several settings are named once


def test_the_first_finding_counts_only_differences_beyond_chance() -> None:
    close = findings(compared_page(a=(113 / 150, 0.9), b=(112 / 150, 0.1)))[0]
    clear = findings(compared_page(a=(130 / 150, 0.9), b=(90 / 150, 0.1)))[0]
    assert "no backbone is more accurate than all others beyond chance on 1 data set" in close
    assert "one backbone is more accurate than all others beyond chance on 1 of 1 data set: a on 1" in clear
    assert all("1 other data set" in sentence for sentence in (close, clear))
    assert not any("beyond chance" in sentence for sentence in findings(page()))
    assert not any(word in f"{close} {clear}" for word in ("best", "highest"))


@pytest.mark.parametrize(
    ("stopped", "edge", "expected"),
    [
        (0, None, "Every scored fit reached its optimum."),
        (2, None, "Fits that did not reach their optimum: 2 of mine on CIFAR-10."),
        (
            0,
            "strongest",
            "The strongest constant of the grid was chosen for mine on CIFAR-10: a stronger one may be better.",
        ),
    ],
)
def test_fits_are_not_silent(stopped: int, edge: str | None, expected: str) -> None:
    section = next(part for part in task_sections(page(stopped=stopped, edge=edge)) if part.name == "many-shot")
    assert expected in section.sentences


def test_the_table_of_scores_says_what_a_fit_is_worth() -> None:
    table = task_table(page(stopped=2, edge="weakest")).set_index(["domain", "setting"])
    assert len(table) == 8  # the run's own, and none of the paper's
    for setting in ("linear", "ece", "scaled-ece"):
        row = table.loc["cifar10", setting]
        assert (row["penalty"], row["edge"], row["converged"]) == (1.0, "weakest", False)
    others = table.loc[[("cifar10", "5-shot"), ("digits", "linear"), ("imagenet", "imagenet")]]
    assert others[["penalty", "edge", "converged"]].isna().all(axis=None)
    assert table.loc[("cifar10", "5-shot"), ["episode_low", "episode_high"]].tolist() == pytest.approx([0.771, 0.779])
    assert table.drop(["5-shot", "20-shot", "50-shot"], level=1)["episode_low"].isna().all()
    assert {*task_table(page())["converged"].dropna()} == {True}


def test_notes_are_on_the_page_without_few_shot_scores_too() -> None:
    whole = replace(page(), notes=["Left out for a reason."])
    linear = replace(whole, scores=[score for score in whole.scores if score.shots is None])
    for each, name in ((whole, "few-shot"), (linear, "many-shot")):
        assert [part.name for part in task_sections(each) if "Left out for a reason." in part.sentences] == [name]


def test_reliability_leaves_out_empty_bins() -> None:
    section = next(part for part in task_sections(page()) if part.name == "calibration")
    line = section.figures[0].series[1]
    assert list(line.x) == pytest.approx([20, 90])
    assert list(line.y) == pytest.approx([25, 80])


def test_a_temperature_without_an_optimum_is_said() -> None:
    plain = page()
    unbounded = replace(plain, fits=[replace(fit, unbounded=True) for fit in plain.fits])
    said = [
        [sentence for sentence in part.sentences if "no best temperature for mine on CIFAR-10" in sentence]
        for each in (plain, unbounded)
        for part in task_sections(each)
        if part.name == "calibration"
    ]
    assert [len(sentences) for sentences in said] == [0, 1]

"""The page across axes: its numbers and sentences, that names stay text, that it is the same each time; in Chromium."""

import html
import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.special
import scipy.stats

from unseen.analyses.axes.together import Axes, Measure, Standing, put_together
from unseen.report.axes.page import axes_page
from unseen.report.axes.page_data import AxesPage, SharedModel
from unseen.report.axes.sections import values
from unseen.report.axes.sections.correlations import correlation_matrix
from unseen.report.axes.words import findings, rank_text, strong_and_weak
from unseen.report.core.export import export_page
from unseen.report.core.model import Page
from unseen.report.core.render import write_page

HOSTILE = '"><img src=x onerror=alert(1)></script><script>alert(2)</script><b>bold</b>'
NAMES = ("one", "two", "three", "four", HOSTILE)
LEVELS = (0.60, 0.58, 0.56, 0.50, 0.45)
LINEAR = (0.80, 0.82, 0.70, 0.72, 0.60)
RHO = (0.03, 0.01, 0.02, -0.01)


def shares(values: tuple[float, ...]) -> dict[str, float]:
    return dict(zip(NAMES, scipy.special.logit(values).tolist(), strict=True))


def made(levels: tuple[float, ...] = LEVELS) -> AxesPage:
    """Five backbones, the last without shifts."""
    draws = {name: scipy.special.logit(np.full(100, share)) for name, share in zip(NAMES, levels, strict=True)}
    draws["one"] = scipy.special.logit(np.linspace(0.57, 0.61, 100))
    draws["two"] = scipy.special.logit(np.linspace(0.56, 0.60, 100))[::-1]
    measures = [
        Measure("concepts", "levels", "Unseen concepts", "Levels <i>.", shares(levels),
                draws=draws),
        Measure("tasks", "linear", "Many-shot linear", "Tasks.", shares(LINEAR)),
        Measure("shifts", "rho", "Effective robustness", "Shifts.", dict(zip(NAMES[:4], RHO, strict=True)),
                bounded=False),
    ]  # fmt: skip
    models = [SharedModel("one", "ONE", "file.pth", "padding")]
    return AxesPage(put_together(measures), models, ["A notice & more."], {"runs": "<b>run</b>"})


@pytest.fixture(scope="module")
def page() -> AxesPage:
    return made()


@pytest.fixture(scope="module")
def path(page: AxesPage, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("axes") / "axes.html"
    write_page(axes_page(page), file)
    return file


def cells(text: str, table: str) -> list[list[str]]:
    """The cells of the body of a table, without tags."""
    body = text.split(table, 1)[1].split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    rows = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, re.DOTALL) for row in body.split("<tr")[1:]]
    return [[html.unescape(re.sub(r"<[^>]*>", " ", cell)).split() for cell in row] for row in rows]  # type: ignore[misc]


def test_every_value_has_its_rank_beside_it(path: Path) -> None:
    table = cells(path.read_text(), 'id="table-values"')
    assert table[0] == [["one", "published"], ["60.0", "1"], ["80.0", "2"], ["+3.0", "1"]]
    assert table[3] == [["four"], ["50.0", "4"], ["72.0", "3"], ["−1.0", "4"]]
    assert table[4][1:] == [["45.0", "5"], ["60.0", "5"], ["–"]]


def test_the_matrix_has_pearson_below_and_spearman_above(path: Path, page: AxesPage) -> None:
    x, y = scipy.special.logit(LEVELS), scipy.special.logit(LINEAR)
    pearson, spearman = scipy.stats.pearsonr(x, y), scipy.stats.spearmanr(x, y)
    matrix = cells(path.read_text(), 'id="table-correlations"')
    low, high = pearson.confidence_interval(0.95)
    assert matrix[1][1] == f"{pearson.statistic:+.2f} {low:+.2f} to {high:+.2f}".replace("-", "−").split()
    assert matrix[0][2][0] == f"{spearman.statistic:+.2f}"
    four = scipy.stats.pearsonr(y[:4], RHO)
    cell = correlation_matrix(page.axes)[2][1]
    assert cell.values[0] == pytest.approx(four.statistic)
    assert cell.about.startswith("Pearson’s correlation over 4 backbones")
    assert "p " in cell.about
    assert "with any one left out" not in cell.about


def test_it_answers_in_words(path: Path, page: AxesPage) -> None:
    sentences = findings(page.axes)
    assert sentences[0].startswith("No backbone is first on every measure: one is first on 2 of 3 measures")
    assert "support 0 of 2" in sentences[0]  # the range of the one rank is 1 to 2, that of the other is unknown
    assert sentences[1].startswith("Correlations across axes go from r ")
    assert "to r +0.9" in sentences[1]
    assert sentences[-1].startswith("With 5 backbones, intervals are wide")
    text = html.unescape(path.read_text())
    assert all(sentence in text for sentence in sentences)
    assert "A notice & more." in text
    assert "ONE" in text
    assert "padding" in text


def test_strong_and_weak_say_how_sure(page: AxesPage) -> None:
    said = strong_and_weak(page.axes, "one")
    assert said == (
        "Strongest on Unseen concepts, rank 1 of 5 (1 to 2); weakest on Many-shot linear, rank 2 of 5, uncertainty "
        "unknown."
    )
    assert rank_text(Standing(2, 6, 2, 2)) == "rank 2 of 6"


def test_ranges_that_meet_are_called_chance() -> None:
    near = {"a": np.tile([1.0, 0.0], 50), "b": np.tile([0.5, 0.6], 50)}
    names = {"a": 1.0, "b": 0.5}, {"a": 0.4, "b": 0.5}
    axes = put_together([Measure("concepts", f"m{i}", f"M{i}", "", names[i], draws=near) for i in range(2)])
    assert strong_and_weak(axes, "a").endswith("the difference may be chance.")


@pytest.mark.parametrize(
    ("best", "worst", "chance"),
    [
        # The third of five is half of the way down, as the second of three is; the second of five a quarter.
        (Standing(1, 5, 1, 3), Standing(3, 3, 2, 3), True),
        (Standing(1, 5, 1, 2), Standing(3, 3, 2, 3), False),
        (Standing(1, 5, 1, 3), Standing(3, 5, 2, 4), True),
        (Standing(1, 5), Standing(3, 3, 1, 3), False),
    ],
)
def test_ranges_of_ranks_among_different_numbers_meet_as_shares(best: Standing, worst: Standing, chance: bool) -> None:
    measures = {name: Measure("concepts", name, name, "", {"a": 1.0}) for name in ("best", "worst")}
    others = Standing(2, best.of), Standing(1, worst.of)
    axes = Axes(("a", "b"), measures, {"best": {"a": best, "b": others[0]}, "worst": {"a": worst, "b": others[1]}}, ())
    assert strong_and_weak(axes, "a").endswith("the difference may be chance.") == chance


def leaders(**measures: dict[str, float]) -> str:
    return findings(put_together([Measure("concepts", name, name, "", of) for name, of in measures.items()]))[0]


def test_leaders_are_among_measures_that_two_have() -> None:
    # What `b` alone has it is not first by; of the one that is left, `a` is first.
    assert leaders(m={"a": 2, "b": 1}, own={"b": 3}).startswith("a is first on the one measure of generalisation")
    assert leaders(m={"a": 2, "b": 1}, n={"a": 2, "b": 1}).startswith("a is first on all 2 measures of generalisation")


def test_only_ranks_whose_range_is_the_first_alone_are_bold_and_counted() -> None:
    sure = {"a": np.full(50, 2.0), "b": np.ones(50)}
    unsure = {"a": np.tile([2.0, 0.0], 25), "b": np.ones(50)}
    axes = put_together(
        [
            Measure("concepts", name, name, "", {"a": 2.0, "b": 1.0}, draws=draws, over_episodes=name == "episodes")
            for name, draws in (("sure", sure), ("unsure", unsure), ("unknown", {}), ("episodes", sure))
        ]
    )
    assert [axes.standings[name]["a"].sure_first for name in axes.measures] == [True, False, False, False]
    assert "support 1 of 4" in findings(axes)[0]
    [table] = values.build(AxesPage(axes)).tables
    assert [cell.style for cell in table.rows[0].cells[1:]] == ["best", "", "", ""]


def test_leaders_that_tie_are_all_named() -> None:
    every = leaders(m={"a": 2, "b": 2, "c": 1}, n={"a": 2, "b": 2, "c": 1})
    assert every == "a and b share the first rank on all 2 measures of generalisation."
    each = leaders(m={"a": 2, "b": 1}, n={"a": 1, "b": 2})
    assert each == (
        "No backbone is first on every measure: a and b are each first on 1 of 2 measures of generalisation; "
        "2 backbones are first on at least one."
    )
    shared = leaders(m={"a": 2, "b": 2}, n={"a": 2, "b": 1}, o={"a": 1, "b": 1, "c": 3})
    assert "a is first on 2 of 3 measures of generalisation (m, shared; n); the 95% ranges" in shared


def test_the_count_of_intervals_is_of_intervals() -> None:
    rng = np.random.default_rng(6)
    names = [f"b{place}" for place in range(4)]
    parts = [(axis, f"{axis}{i}") for axis in ("concepts", "tasks", "shifts") for i in range(3)]
    common = rng.normal(size=4)
    axes = put_together(
        [
            Measure(axis, name, name, "", dict(zip(names, common + rng.normal(size=4), strict=True)))
            for axis, name in parts
        ]
    )
    ends = [
        scipy.stats.pearsonr(*([axes.measures[m].values[b] for b in names] for m in (pair.first, pair.second)))
        for pair in axes.pairs
        if pair.across
    ]
    apart = sum(low > 0 or high < 0 for low, high in (found.confidence_interval(0.95) for found in ends))
    assert apart < sum(found.pvalue < 0.05 for found in ends)  # the interval and the exact test are not the same
    assert any(f"Of 27 correlations across axes, {apart} have an interval" in sentence for sentence in findings(axes))


def test_the_correlations_whose_sign_one_backbone_decides_are_counted_among_those_with_enough() -> None:
    rng = np.random.default_rng(0)
    names = [f"b{place}" for place in range(6)]
    parts = (("concepts", "c", 6), ("tasks", "few", 4), ("tasks", "many", 6))
    axes = put_together(
        [
            Measure(axis, name, name, "", dict(zip(names, rng.normal(size=n).tolist(), strict=False)))
            for axis, name, n in parts
        ]
    )
    across = [pair for pair in axes.pairs if pair.across]
    assert [pair.without_one is None for pair in across] == [True, False]
    assert re.search(r"changes the sign of [01] of 1 correlation \(1 more ", findings(axes)[-1])


def without_figures(page: Page) -> Page:
    return replace(page, sections=[replace(each, figures=[], exported=[]) for each in page.sections])


def test_exported_tables_say_what_their_columns_hold(page: AxesPage, tmp_path: Path) -> None:
    export_page(without_figures(axes_page(page)), tmp_path)
    held = pd.read_csv(tmp_path / "values.csv", index_col="backbone")
    assert [name for name in held.columns if name.startswith("levels")] == [
        "levels percent",
        "levels logit",
        "levels rank",
        "levels rank low",
        "levels rank high",
    ]
    assert held["levels percent"].to_numpy() == pytest.approx(100 * np.array(LEVELS))
    assert held["levels logit"].to_numpy() == pytest.approx(scipy.special.logit(LEVELS))
    assert [name for name in held.columns if name.startswith("rho")] == ["rho points", "rho rank"]
    assert held["rho points"].dropna().to_numpy() == pytest.approx(100 * np.array(RHO))
    matrix = pd.read_csv(tmp_path / "correlations.csv", index_col="measure")
    kinds = matrix[[name for name in matrix.columns if name.endswith(" kind")]].to_numpy()
    below, above = np.tril_indices(len(kinds), -1), np.triu_indices(len(kinds), 1)
    assert {*kinds[below]} == {"pearson"}
    assert {*kinds[above]} == {"spearman"}


def test_exported_values_give_the_exported_correlations(page: AxesPage, tmp_path: Path) -> None:
    """Also for errors, of which fewer are better: a share of 0 is 0%, although its logit is that of a clipped one."""
    errors = dict(zip(NAMES, (0.0, 0.03, 0.02, 0.05, 0.04), strict=True))
    logits = {name: float(scipy.special.logit(max(share, 1e-4))) for name, share in errors.items()}
    ece = Measure("tasks", "ece", "Calibration", "", logits, higher_is_better=False, shares=errors)
    axes = put_together([*page.axes.measures.values(), ece])
    export_page(without_figures(axes_page(AxesPage(axes))), tmp_path)
    held = pd.read_csv(tmp_path / "values.csv", index_col="backbone")
    assert held["ece percent"].tolist() == pytest.approx([0.0, 3.0, 2.0, 5.0, 4.0], abs=0)
    matrix = pd.read_csv(tmp_path / "correlations.csv", index_col="measure")
    r = np.corrcoef(held["levels logit"], held["ece negative logit"])[0, 1]
    assert matrix.loc["Calibration", "Unseen concepts"] == pytest.approx(r)
    assert scipy.stats.spearmanr(held["ece negative logit"], -held["ece rank"]).statistic == pytest.approx(1)


def test_missing_axes_have_their_titles(tmp_path: Path) -> None:
    axes = put_together([Measure("concepts", "c", "C", "", {"a": 1.0, "b": 2.0})])
    write_page(axes_page(AxesPage(axes)), tmp_path / "axes.html")
    assert "<span>Tasks: missing</span><span>Shifts: missing</span>" in (tmp_path / "axes.html").read_text()


def test_published_backbones_are_marked(path: Path) -> None:
    text = path.read_text()
    marks = [re.sub(r"<[^>]*>", " ", part).split()[-1] for part in text.split('<small class="published">')[:-1]]
    assert marks == ["one"] * 3  # in the legend, the table and the profiles


def test_draws_of_backbones_are_told_from_seven_on() -> None:
    rng = np.random.default_rng(0)
    for n in (6, 7):
        measures = [
            Measure(axis, axis, axis, "", {f"b{i}": float(v) for i, v in enumerate(rng.normal(size=n))})
            for axis in ("concepts", "tasks")
        ]
        assert ("over resampled backbones" in correlation_matrix(put_together(measures))[1][0].about) == (n == 7)


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ({"concepts": 5}, "There is only one axis"),
        (
            {"concepts": 3, "tasks": 3},
            "they need 4 backbones on two axes under the same names, and there are 3",
        ),
        ({"concepts": 1, "tasks": 1}, "and there is 1"),
    ],
)
def test_without_correlations_it_says_what_is_missing(counts: dict[str, int], sentence: str, tmp_path: Path) -> None:
    axes = put_together(
        [Measure(axis, axis, axis, "", {f"b{i}": float(i) for i in range(n)}) for axis, n in counts.items()]
    )
    assert sentence in findings(axes)[-1]
    write_page(axes_page(AxesPage(axes)), tmp_path / "axes.html")
    assert sentence in (tmp_path / "axes.html").read_text()


def test_names_on_different_axes_share_nothing() -> None:
    axes = put_together([Measure("concepts", "c", "C", "", {"a": 1.0}), Measure("tasks", "t", "T", "", {"b": 1.0})])
    assert "and there are none" in findings(axes)[-1]


def test_names_are_only_ever_text(path: Path) -> None:
    text = path.read_text()
    for raw in ("<img src=x", "<script>alert(2)", "<b>run</b>", "Levels <i>"):
        assert raw not in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["backbones"][-1]["name"] == HOSTILE


def test_the_same_numbers_give_the_same_bytes(path: Path, tmp_path: Path) -> None:
    write_page(axes_page(made()), tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == path.read_bytes()


def test_lines_that_share_a_rank_are_drawn_apart(tmp_path: Path) -> None:
    write_page(axes_page(made((0.6, 0.5, 0.5, 0.5, 0.4))), tmp_path / "ties.html")
    text = (tmp_path / "ties.html").read_text()
    measure = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])["measures"][0]
    assert measure["ranks"] == [1, 2, 2, 2, 5]
    assert measure["spots"] == [1, 2.5, 3, 3.5, 5]


def test_in_a_browser_it_loads_quietly_follows_and_chooses(browser: Any, path: Path) -> None:
    trouble: list[str] = []
    context = browser.new_context(color_scheme="dark", viewport={"width": 500, "height": 800})
    tab = context.new_page()
    tab.on("console", lambda message: trouble.append(message.text))
    tab.on("pageerror", lambda error: trouble.append(str(error)))
    tab.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
    tab.on("request", lambda request: request.url == path.as_uri() or trouble.append(request.url))
    tab.goto(path.as_uri())
    tab.wait_for_selector("#figure-ranks-0 .main-svg", state="attached")
    opacities = "document.getElementById('figure-ranks-0').data.map((trace) => trace.opacity)"
    assert tab.evaluate(opacities) == [1] * 5
    assert tab.evaluate("document.documentElement.scrollWidth") == 500  # wide tables scroll by themselves
    tab.locator("button[data-backbone='two']").click()
    assert tab.evaluate(opacities) == [0.15, 1, 0.15, 0.15, 0.15]
    assert tab.locator("#table-values tr.followed th").inner_text() == "two"
    tab.locator("button[data-backbone='two']").click()

    points = "document.getElementById('figure-scatter-0').data.map((trace) => [trace.x[0], trace.y[0]])"
    tab.locator(".matrix button[data-across='1'][data-up='2']").click()
    shown = np.array(tab.evaluate(points))
    assert shown == pytest.approx(np.column_stack([scipy.special.logit(LINEAR[:4]), 100 * np.array(RHO)]))
    tab.locator("[data-choice='up']").select_option("0")
    assert len(tab.evaluate(points)) == 5
    tab.locator("#table-values th", has_text="Many-shot").locator("button").click(click_count=2)
    assert tab.locator("#table-values tbody th").first.inner_text() == "two"  # 82%, the greatest
    background = "getComputedStyle(document.body).backgroundColor"
    assert tab.evaluate(background) == "rgb(20, 22, 26)"
    tab.locator("#theme").click()
    assert tab.evaluate(background) == "rgb(252, 252, 251)"
    context.close()
    assert [line for line in trouble if not line.startswith("data:")] == []


def crowded() -> AxesPage:
    """As many measures as a page can have, by which eight backbones are all but equal and one is far away."""
    names = [f"timm:vit_base_patch16_224.variant_{number}" for number in range(8)]
    measures = []
    for place in range(14):
        near = {
            name: float(scipy.special.logit(0.7 + 0.004 * (number % 3 + place % 2)))
            for number, name in enumerate(names)
        }
        axis, title = ("concepts" if place < 3 else "tasks"), f"Fine-tuned scaled calibration {place}"
        measures.append(Measure(axis, f"m{place}", title, "About.", near | {"untrained": -3.0}))
    return AxesPage(put_together(measures))


@pytest.mark.parametrize("width", [1440, 400])
@pytest.mark.long_suite
def test_names_of_points_do_not_overlap_and_tables_fit_a_wide_window(browser: Any, tmp_path: Path, width: int) -> None:
    write_page(axes_page(crowded()), tmp_path / "crowded.html")
    context = browser.new_context(viewport={"width": width, "height": 900})
    tab = context.new_page()
    tab.goto((tmp_path / "crowded.html").as_uri())
    tab.wait_for_selector("#figure-scatter-0 .annotation-text")
    boxes = tab.evaluate(
        "[...document.querySelectorAll('#figure-scatter-0 .annotation-text')].map((text) => { const box = "
        "text.getBoundingClientRect(); return [box.left, box.right, box.top, box.bottom]; })"
    )
    assert len(boxes) == 9
    for first, second in combinations(boxes, 2):
        across = min(first[1], second[1]) - max(first[0], second[0])
        assert across <= 0 or min(first[3], second[3]) - max(first[2], second[2]) <= 0
    widths = tab.evaluate(
        "[...document.querySelectorAll('.scroll, .of-bump')].map((e) => [e.scrollWidth, e.clientWidth])"
    )
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert width < 1440 or all(needed == given for needed, given in widths)
    context.close()


def test_a_drop_stands_with_its_accuracy_alone(tmp_path: Path) -> None:
    page = made()
    levels = replace(page.axes.measures["levels"], from_seen={"one": -12.3})
    axes = put_together([levels, page.axes.measures["linear"]])
    assert list(axes.measures) == ["levels", "linear"]
    write_page(axes_page(AxesPage(axes)), tmp_path / "axes.html")
    row = cells((tmp_path / "axes.html").read_text(), 'id="table-values"')[0]
    assert row[1] == ["60.0", "1", "−12.3", "from", "seen"]

"""The page in real Chromium: it loads alone and quietly, its controls do what they say, names stay text."""

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_page import BOLD, IMAGE, LINK, SCRIPT, hostile, run_data, scores, usual

from unseen.report.concepts.page import write_report
from unseen.runs.concept_estimates import drop_intervals, over_concepts
from unseen.runs.data import ConceptHits, RunData

Show = Callable[..., Any]


def new_tab(browser: Any, trouble: list[str], **options: Any) -> Any:
    """An empty tab; errors, dialogs and requests of its pages are noted as trouble."""
    context = browser.new_context(**options)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = context.new_page()
    tab.on("console", lambda message: trouble.append(f"console: {message.text}"))
    tab.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    tab.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    tab.on("request", lambda request: trouble.append(f"request: {request.url}"))
    return tab


def opened(tab: Any, data: RunData, path: Path, trouble: list[str]) -> Any:
    """Open a run's page in a tab. The request for the page itself is no trouble."""
    write_report(data, path)
    tab.goto(path.as_uri())
    tab.wait_for_selector("#figure-levels-0 .main-svg", state="attached")
    trouble.remove(f"request: {path.as_uri()}")
    return tab


@pytest.fixture(scope="module")
def plain_tab(browser: Any) -> Iterator[tuple[Any, list[str]]]:
    """A tab for the pages of several tests, and its trouble: a page in a new tab takes four times as long to load."""
    trouble: list[str] = []
    tab = new_tab(browser, trouble)
    yield tab, trouble
    tab.context.close()


@pytest.fixture
def show(browser: Any, plain_tab: tuple[Any, list[str]], tmp_path: Path) -> Iterator[Show]:
    """Open a run's page, in a tab of its own if there are options. At the end of the test there must be no trouble."""
    pages, (shared, trouble) = [], plain_tab
    trouble.clear()

    def open_page(data: RunData, **options: Any) -> Any:
        if options:
            pages.append(new_tab(browser, trouble, **options))
        return opened(pages[-1] if options else shared, data, tmp_path / "page.html", trouble)

    yield open_page
    for page in pages:
        page.context.close()
    assert [line for line in trouble if not line.startswith("request: data:")] == []


@pytest.fixture(scope="module")
def usual_page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page of the usual run, opened once: loading takes much longer than using it."""
    trouble: list[str] = []
    path = tmp_path_factory.mktemp("usual") / "page.html"
    page = opened(new_tab(browser, trouble), usual(), path, trouble)
    yield page
    page.context.close()
    allowed = ("request: data:", "request: blob:", "console: Executing inline script violates")
    assert [line for line in trouble if not line.startswith(allowed)] == []


@pytest.fixture
def page(usual_page: Any) -> Any:
    """The page of the usual run with its controls as they were when it was opened."""
    for control, value in (("baseline", "alpha"), ("shots", "all"), ("metric", "top1")):
        choose(usual_page, control, value)
    usual_page.get_by_text("Drop from seen", exact=True).click()
    return usual_page


def lines(page: Any, plot: str = "#figure-levels-0") -> dict[str, list[float | None]]:
    """What Plotly draws: name → rounded values."""
    traces = page.evaluate("plot => document.querySelector(plot).data.map(t => [t.name, Array.from(t.y)])", plot)
    return {name: [None if value is None else round(value, 3) for value in values] for name, values in traces}


def bars(page: Any, backbone: str) -> list[float]:
    name = "name => document.getElementById('figure-levels-0').data.find(t => t.name === name).error_y.array"
    return [round(value, 3) for value in page.evaluate(name, backbone)]


def choose(page: Any, control: str, value: str) -> None:
    page.locator(f"#levels select[data-choice={control}]").select_option(value)


def column(page: Any, number: int) -> list[str]:
    return page.locator(f"#table-scores tbody tr:visible td:nth-child({number})").all_inner_texts()


def test_it_starts_with_the_drop_from_seen(usual_page: Any) -> None:
    page = usual_page
    assert lines(page) == {"alpha": [0, -5, -10], "beta": [0, -1, -2], "gamma": [0, None, 1]}
    title = page.evaluate("document.getElementById('figure-levels-0').layout.yaxis.title.text")
    assert "minus that on seen (points)" in title


def test_error_bars_are_intervals_over_concepts_where_they_are_known(show: Show) -> None:
    hits = [
        ConceptHits("alpha", domain, "all", seed, tuple(f"{domain}-{i}" for i in range(10)), of, (100,) * 10)
        for domain, of in (("d0", (75, 85) * 5), ("d1", (60, 90) * 5))  # means as in the scores
        for seed in range(3)
    ]
    page = show(replace(usual(), concept_hits=hits))
    cell = ("alpha", "d1", "all")
    drop, accuracy = drop_intervals(over_concepts(hits), "d0")[cell], over_concepts(hits)[cell].interval
    assert bars(page, "alpha") == pytest.approx([0, 100 * drop.high + 5, 0], abs=1e-3)  # L2 falls by 10 for all seeds
    page.get_by_text("Absolute", exact=True).click()
    assert bars(page, "alpha")[1:] == pytest.approx([100 * accuracy.high - 75, 1], abs=1e-3)


def test_absolute_accuracies_have_a_hole_where_a_score_is_missing(page: Any) -> None:
    page.get_by_text("Absolute", exact=True).click()
    assert lines(page) == {"alpha": [80, 75, 70], "beta": [60, 59, 58], "gamma": [30, None, 31]}
    assert bars(page, "alpha") == [1, 1, 1]
    layout = page.evaluate("document.getElementById('figure-levels-0').layout")
    assert layout["yaxis"]["title"]["text"] == "Top-1 accuracy (%)"
    assert layout["xaxis"]["ticktext"] == ["Seen", "L1", "L2"]


def test_the_baseline_changes_the_plot(page: Any) -> None:
    choose(page, "baseline", "beta")
    assert page.locator("input[value=relative]").is_checked()
    assert lines(page) == {"alpha": [20, 16, 12], "beta": [0, 0, 0], "gamma": [-30, None, -27]}
    assert bars(page, "alpha") == [0, 0, 0]  # the same seeds move both: their difference does not move
    choose(page, "baseline", "gamma")
    assert lines(page)["alpha"] == [50, None, 39]


def test_modes_shots_and_metric(page: Any) -> None:
    page.get_by_text("Absolute", exact=True).click()
    choose(page, "shots", "4")
    assert lines(page)["alpha"] == [48, 45, 42]  # 0.4 + 0.05 × 4 of the whole
    choose(page, "metric", "top5")
    assert lines(page)["alpha"] == [74, 72.5, 71]
    assert page.locator("#few-shots select[data-choice=metric]").input_value() == "top5"


def test_modes_answer_to_the_keyboard(page: Any) -> None:
    page.locator("input[value=absolute]").focus()
    page.keyboard.press("ArrowRight")
    assert lines(page)["alpha"] == [0, 0, 0]


def test_few_shot_curves_are_per_domain_on_one_scale(page: Any) -> None:
    assert page.locator("#few-shots figcaption span:first-child").all_inner_texts() == ["Seen", "L1", "L2"]
    plots = [f"#figure-few-shots-{place}" for place in range(3)]
    assert lines(page, plots[0]) == {"alpha": [36, 48, 80], "beta": [27, 36, 60], "gamma": [13.5, 18, 30]}
    assert lines(page, plots[1])["gamma"] == [None, None, None]
    assert page.evaluate("document.querySelector('#figure-few-shots-0').layout.xaxis.ticktext") == ["1", "4", "all"]
    ranges = [page.evaluate("plot => document.querySelector(plot).layout.yaxis.range", plot) for plot in plots]
    assert ranges[0] == ranges[1] == ranges[2]


def test_the_legend_hides_and_shows(show: Show) -> None:
    page = show(run_data({name: [0.5, 0.4] for name in "abcd"}))
    page.locator("#levels [data-backbone=b]").click()
    assert list(lines(page)) == ["a", "c", "d"] == list(lines(page, "#figure-few-shots-0"))
    assert page.locator("#few-shots [data-backbone=b]").get_attribute("aria-pressed") == "false"
    page.locator("#levels [data-all]").click()
    assert list(lines(page)) == ["a", "b", "c", "d"]
    page.locator("#levels [data-all]").click()
    assert lines(page) == {}


def test_the_table_sorts_both_ways_and_rows_stay_whole(page: Any) -> None:
    rows = "#table-scores tbody tr"
    before = sorted(page.locator(rows).all_inner_texts())
    header = page.locator("#table-scores th", has_text="Mean")
    header.locator("button").click()
    means = [float(text) for text in column(page, 5)]
    assert means == sorted(means)
    assert header.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")  # the heading has the focus
    assert [float(text) for text in column(page, 5)] == sorted(means, reverse=True)
    assert header.get_attribute("aria-sort") == "descending"
    assert page.locator("#table-scores th:not([aria-sort=none])").count() == 1
    assert sorted(page.locator(rows).all_inner_texts()) == before


def test_columns_sort_by_what_they_mean(show: Show) -> None:
    page = show(run_data({"b10": [0.8, 0.7], "b9": [0.5, 0.4]}, scores=scores({"b10": [None, 0.7], "b9": [0.5, 0.4]})))
    for name, place, expected in (("Backbone", 1, ["b9", "b10"]), ("Shots", 3, ["1", "4", "all"])):
        page.locator("#table-scores th button", has_text=name).click()
        assert list(dict.fromkeys(column(page, place))) == expected
    gap = page.locator("#table-scores th button", has_text="Gap to seen")
    for _ in range(2):  # nothing comes after something, up and down
        gap.click()
        assert column(page, 7)[-6:] == ["–"] * 6
        assert "–" not in column(page, 7)[:-6]


def test_the_rows_shown_are_copied_as_csv(show: Show) -> None:
    data = usual()
    renamed = [replace(score, backbone='=al,"pha') if score.backbone == "alpha" else score for score in data.scores]
    page = show(replace(data, scores=renamed, backbones=data.backbones[1:], baseline="beta"))
    page.locator("[data-filter=scores]").fill("L2 top1 all")
    page.locator("#table-scores th button", has_text="Mean").click()
    page.locator("[data-copy=scores]").click()
    page.get_by_text("copied 3 rows").wait_for()
    records = list(csv.DictReader(io.StringIO(page.evaluate("navigator.clipboard.readText()"))))
    assert [record["backbone"] for record in records] == ["gamma", "beta", "'=al,\"pha"]  # no formula
    assert float(records[1]["mean"]) == pytest.approx(0.58)
    assert float(records[1]["gap"]) == pytest.approx(-0.02)
    assert {record["domain"] for record in records} == {"d2"}
    page.locator("[data-filter=scores]").fill("")
    page.locator("[data-copy=scores]").click()
    page.get_by_text("copied 48 rows").wait_for()


def test_a_browser_without_a_clipboard_copies_a_selection(page: Any) -> None:
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    page.locator("[data-copy=scores]").click()
    page.get_by_text("copied 48 rows").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith(
        "backbone,domain,shots,metric,mean,concept_low,concept_high,gap,rank"
    )


def test_hostile_names_stay_text(show: Show) -> None:
    page = show(hostile(), viewport={"width": 1000, "height": 900})
    assert page.title() == page.locator("h1").inner_text() == SCRIPT
    assert page.locator(".notice").inner_text() == IMAGE
    assert page.locator("#levels [data-backbone] span").all_inner_texts() == [IMAGE, SCRIPT, LINK]
    assert page.locator("img").count() == 2  # the examples, nothing else
    assert page.locator("main a, .js-plotly-plot a[href]").count() == 0
    for name in (IMAGE, SCRIPT, LINK):
        choose(page, "baseline", name)
    ticks = page.locator("#figure-levels-0 .xtick text").evaluate_all("all => all.map(text => text.textContent)")
    assert ticks == [SCRIPT, BOLD]
    choose(page, "metric", IMAGE)
    choose(page, "setting", page.locator("#levels select[data-choice=setting] option").nth(1).get_attribute("value"))
    assert "minus the baseline’s" in page.locator("#figure-levels-0 .ytitle").text_content()
    assert IMAGE[:20].lower() in page.locator("#figure-levels-0 .ytitle").text_content().lower()
    page.evaluate("Plotly.Fx.hover('figure-levels-0', [{curveNumber: 1, pointNumber: 0}])")
    assert SCRIPT in page.locator("#figure-levels-0 .hovertext").first.text_content()
    page.locator("#table-scores th button", has_text="Backbone").click()
    assert set(column(page, 1)) == {IMAGE, SCRIPT, LINK}


def test_the_policy_stops_a_script_that_is_not_ours(page: Any) -> None:
    page.evaluate(
        """() => {
            addEventListener("securitypolicyviolation", (event) => { window.stopped = event.effectiveDirective; });
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
        }"""
    )
    page.wait_for_function("window.stopped")
    assert page.evaluate("[window.stopped.startsWith('script-src'), window.ran]") == [True, None]


def test_plots_have_no_buttons_of_plotly_and_answer_to_arrow_keys(page: Any) -> None:
    plot = page.locator("#figure-levels-0")
    plot.hover()
    assert page.locator(".modebar-btn").count() == 0  # one of them would send the data away
    said = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        plot.press(key)
        said.append(page.locator("#point").inner_text())
    assert said[0] == said[2] != said[1]
    assert said[0].startswith("alpha, ")


@pytest.mark.parametrize("make", [pytest.param(usual, marks=pytest.mark.long_suite), hostile])
def test_a_small_screen_needs_no_sideways_scroll(show: Show, make: Callable[[], RunData]) -> None:
    page = show(make(), viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("#figure-levels-0").bounding_box()["width"] > 340


def background(page: Any) -> int:
    """How light the page is: the sum of red, green and blue."""
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))


def test_dark_follows_the_system_and_the_button(page: Any) -> None:
    font = "document.getElementById('figure-levels-0').layout.font.color"
    page.emulate_media(color_scheme="dark")
    assert background(page) < 150
    dark_ink = page.evaluate(font)
    page.locator("#theme").click()
    assert background(page) > 700
    page.wait_for_function(f"{font} !== {dark_ink!r}")  # figures are drawn again one after the other
    page.locator("#theme").click()
    assert background(page) < 150
    page.wait_for_function(f"{font} === {dark_ink!r}")


def test_one_point_is_a_table(tmp_path: Path) -> None:
    means = {"only": [0.5]}
    write_report(run_data(means, scores=scores(means, shots=(None,), seeds=1)), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "data-figure=" not in text
    assert "plotly.js v" not in text
    assert re.search(r'id="table-levels-values-1".*?only.*?50\.0', text, re.DOTALL)


@pytest.mark.long_suite
def test_forty_backbones_on_ten_domains(show: Show) -> None:
    means = {f"timm:backbone_{i}.tag_in1k": [0.8 - 0.01 * i - 0.02 * d for d in range(10)] for i in range(40)}
    page = show(run_data(means, scores=scores(means, shots=(1, None), seeds=2)), viewport={"width": 390, "height": 800})
    assert len(lines(page)) == 40
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.long_suite
def test_tables_and_figures_are_saved_by_the_page_itself(page: Any) -> None:
    with page.expect_download() as saved:
        page.locator("[data-csv=scores]").click()
    records = list(csv.DictReader(io.StringIO(saved.value.path().read_text())))
    assert len(records) == 48
    for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        with page.expect_download() as saved:
            page.locator(f"#few-shots [data-save={kind}]").first.evaluate("button => button.click()")
        assert saved.value.suggested_filename == f"few-shots-seen.{kind}"
        assert saved.value.path().read_bytes().startswith(start)

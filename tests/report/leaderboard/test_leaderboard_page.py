"""The leaderboard's page: its numbers, that names stay text, that it is the same each time; and in real Chromium."""

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unseen.papers.concept_generalization import Accuracies
from unseen.papers.leaderboard import Leaderboard, Own, leaderboard
from unseen.report.leaderboard.page import write_leaderboard_page

HOSTILE = '"><img src=x onerror=alert(1)></script><script>alert(2)</script><b>bold</b>'


@pytest.fixture(scope="module")
def board() -> Leaderboard:
    """The published models and two of a user's, one with a hostile name."""
    mean = np.array([[0.80, 0.72, 0.68, 0.64, 0.63, 0.58], [0.70, 0.62, 0.58, 0.54, 0.53, 0.40]])
    own = Accuracies(("mine", HOSTILE), mean, np.full((2, 6), 0.0005), np.zeros(2))
    return leaderboard(own, {"mine": Own(cautions=("mean pooling <i>",)), HOSTILE: Own()})


@pytest.fixture(scope="module")
def page(board: Leaderboard, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("board") / "page.html"
    write_leaderboard_page(board, path)
    return path


def rows(text: str) -> list[list[str]]:
    """The table's cells, without tags."""
    body = text.split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    cells = [re.findall(r"<t[dh].*?>(.*?)</t[dh]>", row, re.DOTALL) for row in body.split("<tr")[1:]]
    return [[html.unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in row] for row in cells]


def test_every_model_has_a_row_with_the_printed_accuracies(page: Path, board: Leaderboard) -> None:
    table = rows(page.read_text())
    assert len(table) == len(board.entries) == 33
    assert table[0][:2] == ["1", "mine yours, 1"]
    dino = next(row for row in table if row[1] == "s-DINO")
    # Tables 5 to 10, and their mean over levels; L5, by which models are ranked, comes first.
    assert [dino[2], dino[4]] == ["57.6", "+5.6"]
    assert dino[5:] == ["74.8", "71.1", "67.2", "63.2", "62.6", "64.3", "self-supervision"]


def test_it_answers_in_words(page: Path) -> None:
    text = page.read_text()
    assert "mine has the highest accuracy on L5, 58.0%, beyond the uncertainty over seeds." in text
    # Of the printed accuracies on L5, s-DINO's with all images is the first beyond the spread over seeds.
    assert "s-DINO (57.6%)" in text.partition("First on L5 among the published models")[2][:300]
    assert "mine ranks 1 of 33, with 58.0%, +6.0 points against ResNet50" in text
    assert "Over the 27 published models trained on IN-1K alone" in text
    assert "after correction (Holm) for 165 comparisons" in text
    assert "Not a fair comparison with ResNet50: saw other data than IN-1K." in text


def series_of(page: Path, section: str, plot: str) -> dict[str, dict[str, Any]]:
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])
    (found,) = [
        each
        for name, each in data["figures"].items()
        if re.fullmatch(rf"{section}-\d+", name) and each["title"] == plot
    ]
    return {series["name"]: series for series in found["series"]}


def test_it_has_the_figures_of_the_paper(page: Path) -> None:
    # Tables 5 to 10: s-DINO and ResNet50 with all images, then s-DINO on L5 from 1 image to all.
    dino = [74.8, 71.1, 67.2, 63.2, 62.6, 57.6]
    resnet = [75.8, 67.9, 63.1, 59.0, 58.1, 52.0]
    levels = series_of(page, "levels", "Accuracy with all samples")
    assert len(levels) == 33
    assert levels["s-DINO"]["y"] == pytest.approx(dino)
    assert levels["mine"]["y"] == pytest.approx([80, 72, 68, 64, 63, 58])
    relative = series_of(page, "levels", "Relative to ResNet50")
    assert relative["s-DINO"]["y"] == pytest.approx([a - b for a, b in zip(dino, resnet, strict=True)])
    assert relative["mine"]["y"][-1] == pytest.approx(6.0)
    shots = series_of(page, "few-shots", "L5")
    assert shots["s-DINO"]["y"] == pytest.approx([12.6, 18.6, 25.3, 32.3, 38.2, 43.2, 47.3, 50.8, 57.6])
    assert (shots["mine"]["x"], shots["mine"]["y"]) == ([8.0], pytest.approx([58]))
    assert series_of(page, "few-shots", "L1, relative to ResNet50")["ResNet50"]["y"] == [0.0] * 9


def test_names_are_only_ever_text(page: Path) -> None:
    text = page.read_text()
    assert "<img src=x" not in text
    assert "<script>alert(2)" not in text
    assert "mean pooling &lt;i&gt;" in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    names = {series["name"] for figure in data["figures"].values() for series in figure["series"]}
    assert HOSTILE in names


def test_the_same_leaderboard_gives_the_same_bytes(page: Path, board: Leaderboard, tmp_path: Path) -> None:
    write_leaderboard_page(board, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_in_a_browser_it_loads_quietly_sorts_and_filters(browser: Any, page: Path) -> None:
    trouble: list[str] = []
    context = browser.new_context(color_scheme="dark")
    tab = context.new_page()
    tab.on("console", lambda message: trouble.append(message.text))
    tab.on("pageerror", lambda error: trouble.append(str(error)))
    tab.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
    tab.on("request", lambda request: request.url == page.as_uri() or trouble.append(request.url))
    tab.goto(page.as_uri())
    tab.wait_for_selector("#effective .main-svg", state="attached")
    assert tab.locator("#expectation .main-svg").count() >= 5

    def names() -> list[str]:
        return tab.locator("#table-ranking tbody tr:visible th.model").all_inner_texts()

    def points() -> int:
        count = "document.querySelector('#effective .plot').data.reduce((sum, trace) => sum + trace.x.length, 0)"
        return int(tab.evaluate(count))

    assert (len(names()), points()) == (33, 33)
    tab.locator("#ranking [data-group='web data']").click()
    assert (len(names()), points()) == (29, 29)
    assert tab.locator("#ranking .status").inner_text() == "29 rows"
    tab.locator("[data-filter=ranking]").fill("dino")
    assert names() == ["s-DINO"]
    tab.locator("[data-filter=ranking]").fill("")
    tab.locator("#table-ranking th", has_text="IN-1K").locator("button").click(click_count=2)
    assert names()[0].startswith("a-DeiT-B-distilled")  # 84.2, the greatest of Table 5
    colours = []
    for _ in range(2):
        style = "[document.body, document.querySelector('#effective .xtick text')].map(e => getComputedStyle(e))"
        colours.append(tab.evaluate(f"{style}.map((s, i) => i ? s.fill : s.backgroundColor)"))
        tab.locator("#theme").click()
    # Dark at first, then light: page and plots follow.
    assert colours[0] == ["rgb(20, 22, 26)", "rgb(231, 233, 236)"]
    assert colours[1] == ["rgb(252, 252, 251)", "rgb(31, 36, 48)"]
    context.close()
    assert [line for line in trouble if not line.startswith("data:")] == []

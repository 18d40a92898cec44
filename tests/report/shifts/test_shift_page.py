"""The page of a study of shifts: every number without a script, names as text only, and its plots in real Chromium."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from unseen.analyses.robustness.fitted_model import FittedModel
from unseen.report.shifts.files import shown_models
from unseen.report.shifts.page import write_shift_page
from unseen.report.shifts.page_data import GroupLine, Line, OodPanel, ShiftPage

HOSTILE = '<img src=x onerror=alert(1)></script><b>"bold"'


def a_page(id_sets: tuple[str, ...] = ("val", "web"), bad: str = "resnet") -> ShiftPage:
    """Four models in two groups on two OOD sets, by hand."""
    k = len(id_sets)
    record = {
        "n": 3, "coefficients": dict.fromkeys(id_sets, 0.5), "intercept": -0.25, "r2": 0.987, "mae": 1.5,
        "adjusted_r2": 0.961, "left_out": {f"{bad} 9": f"no accuracy on {bad}"},
        "intervals": {"coefficients": dict.fromkeys(id_sets, (0.4, 0.6)), "intercept": [-0.3, -0.2]},
        "leave_one_out": {"mae": 1.75},
        "leave_one_out_of_id_sets": [
            {"id": list(id_sets), "r2": 0.987, "mae": 1.5, "held_out_mae": 1.75, "standard_error": 0.125},
        ],
        "alternatives": [
            {"method": "logit, Huber", "r2": 0.98, "mae": 1.4, "leave_one_out_mae": 1.6, "greatest_change_of_rho": 0.5},
        ],
    }  # fmt: skip
    panels = []
    for ood in ("sketch", bad):
        points = tuple(
            FittedModel(f"{bad} {i}", ["plain", bad][i % 2], i < 3, (0.3 + 0.1 * i,) * k, 0.2 + 0.1 * i, 0.25,
                       0.1 * i - 0.05, 0.1 * i - 0.07, 0.1 * i - 0.03)
            for i in range(4)
        )  # fmt: skip
        own = (GroupLine("plain", (-0.5, 0.5), (-0.6, 0.2)),)
        lines = tuple(
            Line(name, 0.9, -0.2, 0.9, 1.0, (-1.0, 1.0), (-1.2, 0.6), (-1.0, 0.8), own) for name in id_sets
        )  # fmt: skip
        panels.append(OodPanel(ood, id_sets, record, points, lines))
    scores = {"id_sets": id_sets, "ood": bad, "group": bad, "in_fit": False, "models": 2, "mae": 2.0, "average": False}
    groups = ({**scores, "mean": -1.25, "deviation": 0.5}, {**scores, "ood": "sketch", "mean": 0.0, "deviation": None})
    return ShiftPage(
        f"Robustness of {bad}", id_sets, "logit", ("plain", bad), tuple(panels), groups,
        (f"{bad} was left out.",), {"Table": f"{bad}.csv"},
    )  # fmt: skip


def written(page: ShiftPage, folder: Path) -> str:
    write_shift_page(page, folder / "report.html")
    return (folder / "report.html").read_text(encoding="utf-8")


def test_every_number_is_there_without_a_script(tmp_path: Path) -> None:
    text = re.sub(r"<script.*?</script>|<style.*?</style>", "", written(a_page(), tmp_path), flags=re.DOTALL)
    for piece in (
        "0.9870",
        "0.500",
        "(0.400 to 0.600)",
        "1.75 ± 0.12",
        "−1.25 ± 0.50",
        "logit, Huber",
        "only scored",
        "0.9610",
    ):
        assert piece in text, piece
    assert text.count("no accuracy on resnet") == 2
    assert len(re.findall("<tr", text.split('id="table-models"')[1].split("</table>")[0])) == 9  # and the heading
    assert "+25.00</td>" in text


def test_a_large_fit_shows_the_ends_and_an_even_choice_between() -> None:
    point = a_page().panels[0].points[0]
    rho = [place * 37 % 1000 / 1000 for place in range(1000)]
    models = [replace(point, model=str(place), rho=value) for place, value in enumerate(rho)]
    shown = shown_models(models, 40)
    assert len({model.model for model in shown}) == 40
    assert [int(model.model) for model in shown] == sorted(int(model.model) for model in shown)
    values = sorted(model.rho for model in shown)
    assert values[:10] == sorted(rho)[:10]
    assert values[-10:] == sorted(rho)[-10:]
    assert max(b - a for a, b in pairwise(values)) < 0.06
    assert shown_models(models[:40], 40) == tuple(models[:40])


def test_names_are_only_text_and_the_page_is_whole(tmp_path: Path) -> None:
    text = written(a_page((HOSTILE, "web"), bad=HOSTILE), tmp_path)
    assert "<img src=x" not in text
    assert "<b>&#34;bold" not in text
    assert text == written(a_page((HOSTILE, "web"), bad=HOSTILE), tmp_path)
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\'' in text
    payload = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert payload is not None
    assert json.loads(payload[1])["panels"][1]["name"] == HOSTILE


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a page. At the end of the test: no error, no dialog, and no request but for the page itself."""
    trouble, opened = list[str](), list[Any]()
    url = (tmp_path / "report.html").as_uri()

    def open_page(shown: ShiftPage, **screen: Any) -> Any:
        page = browser.new_page(**screen)
        opened.append(page)
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda sent: sent.url.startswith((url, "data:", "blob:")) or trouble.append(sent.url))
        written(shown, tmp_path)
        page.goto(url)
        page.wait_for_selector("#figure-residuals-0 .main-svg", state="attached")
        return page

    yield open_page
    for page in opened:
        page.close()
    assert trouble == []


def test_controls_do_what_they_say(show: Callable[..., Any]) -> None:
    page = show(a_page(("val",), bad=HOSTILE))
    assert page.locator(".plot.projection").count() == 1
    assert page.locator("#figure-plane-0").count() == 0
    assert residuals(page) == pytest.approx([-5, 5, 15, 25])
    plain = page.locator('[data-group="plain"]').first
    plain.click()
    assert residuals(page) == pytest.approx([5, 25])
    assert plain.get_attribute("aria-pressed") == "false"
    choose = "(select) => { select.value = '1'; select.dispatchEvent(new Event('change')); }"
    page.locator("[data-choice=ood]").first.evaluate(choose)
    assert page.locator("[data-choice=ood]").nth(1).input_value() == "1"
    page.locator("[data-filter=models]").fill("sketch")
    assert page.locator("#table-models tbody tr:visible").count() == 2  # of the group that is shown


SMALL = {"viewport": {"width": 420, "height": 640}}


@pytest.mark.parametrize("touch", [False, True])
@pytest.mark.long_suite
def test_two_id_sets_have_projections_and_a_plane_that_turns(show: Callable[..., Any], touch: bool) -> None:
    page = show(a_page(bad=HOSTILE), has_touch=touch, is_mobile=touch, **SMALL)
    assert page.locator(".plot.projection").count() == 3
    assert all(on_the_plane(page))
    plane = page.locator("#figure-plane-0")
    plane.scroll_into_view_if_needed()
    before = eye(page)
    box = plane.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    drag_finger(page, x, y) if touch else drag_mouse(page, x, y)
    scene = "document.getElementById('figure-plane-0')._fullLayout.scene._scene"
    moved = f"(x) => Math.abs({scene}.getCamera().eye.x - x) > 0.05"
    page.wait_for_function(moved, arg=before["x"])
    distances = [sum(at**2 for at in place.values()) for place in (before, eye(page))]
    assert distances[1] == pytest.approx(distances[0], rel=0.02)  # turned around the centre, not zoomed
    page.locator("button[data-group]").first.evaluate("(button) => button.click()")
    assert abs(eye(page)["x"] - before["x"]) > 0.05  # another choice of groups leaves it as it was turned


def drag_mouse(page: Any, x: float, y: float) -> None:
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=6)
    page.mouse.up()


def drag_finger(page: Any, x: float, y: float) -> None:
    session = page.context.new_cdp_session(page)
    for kind, step in (("touchStart", 0), *(("touchMove", 10 * number) for number in range(1, 7)), ("touchEnd", 0)):
        points = [] if kind == "touchEnd" else [{"x": x + step, "y": y}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def eye(page: Any) -> dict[str, float]:
    found: dict[str, float] = page.locator("#figure-plane-0").evaluate(
        "(plot) => plot._fullLayout.scene._scene.getCamera().eye"
    )
    return found


def test_groups_that_share_a_colour_have_other_marks(tmp_path: Path) -> None:
    names = ("plain", "resnet", *(f"group {number}" for number in range(38)))
    text = written(replace(a_page(), groups=names), tmp_path)
    payload = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert payload is not None
    groups = json.loads(payload[1])["groups"]
    assert len({(group["colour"], group["symbol"]) for group in groups}) == 40
    legend = text.split('class="legend"')[1].split("</div>")[0]
    assert len(set(re.findall(r'class="swatch (c\d)".*?<path d="(.*?)"', legend))) == 40


def on_the_plane(page: Any) -> list[bool]:
    """Of each corner that is drawn: whether it is on ½x + ½y − ¼, where x and y reach a little beyond the models."""
    drawn = "(plot) => ['x', 'y', 'z'].map((axis) => [...plot.data[0][axis]])"
    plane = page.locator("#figure-plane-0").evaluate(drawn)
    corners = list(zip(*plane, strict=True))
    assert len(corners) >= 3
    return [abs(0.5 * x + 0.5 * y - 0.25 - z) < 1e-9 for x, y, z in corners]


def residuals(page: Any) -> list[float]:
    """The ρ that are drawn, from the lowest to the highest."""
    drawn = "(plot) => plot.data.flatMap(({ x, y }) => x.map((place, i) => [place, y[i]]))"
    return [rho for _, rho in sorted(page.locator("#figure-residuals-0").evaluate(drawn))]

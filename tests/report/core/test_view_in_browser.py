"""Tables and the view in real Chromium: sorted by value, columns chosen, and the same again from a copied address."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from unseen.report.core.model import Cell, Choice, Column, Figure, Page, Row, Section, Series, Table
from unseen.report.core.render import write_page

pytestmark = pytest.mark.long_suite

NUMBERS = {"a": 10.0, "b": 9.0, "c": None, "d": 1e6, "e": 9.0}
SHOWN = {"a": "10", "b": "9", "c": "–", "d": "1 M", "e": "9"}


def table(name: str, **more: Any) -> Table:
    columns = [
        Column("Name", number=False, names=("name",)), Column("Cost", names=("cost",)),
        Column("Size, in & out", names=("size",)), Column("Group", number=False), Column("Last", number=False),
    ]  # fmt: skip
    rows = [
        Row(
            [Cell(key), Cell(SHOWN[key], () if value is None else (value,)), Cell(str(place), (place,)), Cell("g"),
             Cell("x")]
        )
        for place, (key, value) in enumerate(NUMBERS.items())
    ]  # fmt: skip
    foot = Row([Cell("total"), Cell("0", (0,)), Cell("0", (0,)), Cell("g"), Cell("x")], "foot")
    return Table(name, columns, [*rows, foot], name, groups=(("Numbers", 2), ("Words", 2)), filter="part", **more)


def page() -> Page:
    figures = [
        Figure(f"by {cost}", cost, "score", [Series("s", [1.0, 100.0], [1, 2], labels=["p", "q"])], log_x=True,
               choice=("cost", cost))
        for cost in ("parameters", "time")
    ]  # fmt: skip
    choice = Choice("Cost", "cost", [("parameters", "Parameters"), ("time", "Time")], "parameters", buttons=True)
    sections = [
        Section("top", "Top", figures=figures, choices=[choice], tables=[table("first"), table("second")]),
        Section("end", "End", tables=[table("folded", folded="More")]),
    ]
    return Page("View", sections)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[[str], Any]]:
    """Open the page with something after its address; at the end there must be no errors."""
    write_page(page(), tmp_path / "page.html")
    trouble = list[str]()
    context = browser.new_context(viewport={"width": 1000, "height": 500})
    context.grant_permissions(["clipboard-read", "clipboard-write"])

    def open_page(address: str = "") -> Any:
        tab = context.new_page()
        tab.on("console", lambda message: trouble.append(message.text))
        tab.on("pageerror", lambda error: trouble.append(str(error)))
        tab.goto(address if address.startswith("file:") else (tmp_path / "page.html").as_uri() + address)
        tab.wait_for_selector("#figure-top-0 .main-svg, #figure-top-1 .main-svg", state="attached")
        return tab

    yield open_page
    context.close()
    assert trouble == []


def names(tab: Any, of: str = "first") -> str:
    return "".join(
        text[0]
        for text in tab.locator(f"#table-{of} tbody tr th, #table-{of} tbody tr td:first-child").all_inner_texts()
    )


def heading(tab: Any, text: str, of: str = "first") -> Any:
    return tab.locator(f"#table-{of} thead th button", has_text=text)


def test_sorted_by_value_with_missing_and_totals_last_and_ties_as_they_were(opened: Callable[[str], Any]) -> None:
    tab = opened("")
    heading(tab, "Cost").click()
    assert names(tab) == "beadct"
    assert tab.locator("#table-first thead th[aria-sort=ascending]").inner_text().startswith("Cost")
    heading(tab, "Cost").click()
    assert names(tab) == "dabect"
    heading(tab, "Size").click()
    heading(tab, "Group").click()  # all are equal: the first order, not that of the last sort
    assert names(tab) == "abcdet"
    assert names(tab, "second") == "abcdet"


def test_columns_are_chosen_by_keyboard_and_left_out_of_files(opened: Callable[[str], Any]) -> None:
    tab = opened("")
    summary = tab.locator(".table:has(#table-first) .choose summary")
    summary.focus()
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    assert not heading(tab, "Cost").is_visible()
    above = tab.locator("#table-first .axes th")
    assert above.first.get_attribute("colspan") == "1"
    assert tab.evaluate("document.querySelectorAll('#table-first tbody tr:first-child td:not([hidden])').length") == 4
    tab.keyboard.press("Escape")
    assert tab.evaluate("document.activeElement.tagName") == "SUMMARY"
    tab.locator("[data-copy=first]").click()
    tab.get_by_text("copied 5 rows").wait_for()
    assert (
        tab.evaluate("navigator.clipboard.readText()").splitlines()[0]
        == '"name","size"'.replace('"', "") + ",Group,Last"
    )
    assert heading(tab, "Cost", "second").is_visible()


def test_a_link_shows_the_same_view(opened: Callable[[str], Any]) -> None:
    tab = opened("")
    heading(tab, "Cost").click()
    heading(tab, "Cost").click()
    tab.locator(".table:has(#table-second) .choose summary").click()
    tab.locator(".table:has(#table-second) .choose label", has_text="Size").click()
    tab.locator("[data-filter=second]").fill("d")
    tab.get_by_text("Time", exact=True).click()
    tab.locator(".table:has(#table-second) [data-view]").click()
    tab.get_by_text("copied the link to this view").wait_for()
    link = tab.evaluate("navigator.clipboard.readText()")
    assert unquote(link.partition("#")[2]) == "top&cost=time&first.sort=-cost&second.hide=size&second.filter=d"
    again = opened(link)
    assert names(again) == "dabect"
    assert not heading(again, "Size", "second").is_visible()
    assert again.locator("#table-second tbody tr:visible").count() == 1
    assert not again.locator("#figure-top-0").is_visible()
    assert again.locator("#figure-top-1").is_visible()
    assert again.evaluate("scrollY") > 0


def test_the_address_follows_links_within_the_page(opened: Callable[[str], Any]) -> None:
    tab = opened("")
    heading(tab, "Cost").click()
    tab.locator("nav a", has_text="End").click()
    tab.wait_for_function("location.hash === '#end&first.sort=cost'")
    assert names(tab) == "beadct"
    tab.evaluate("location.hash = '#top&second.sort=-size'")
    tab.wait_for_function("document.querySelector('#table-second th[aria-sort=descending]') !== null")
    assert names(tab) == "abcdet"  # what the address does not name is as it was at first


def test_an_unknown_view_is_ignored(opened: Callable[[str], Any]) -> None:
    sorting = "first.sort=-nothing&first.hide=%E0%A4%A,no,name&none.sort=cost"
    strange = f"{sorting}&cost=%3Cimg%3E&backbones=x&groups=&a=b=c&=&__proto__=1"
    tab = opened(f"#no-section&{strange}")
    assert names(tab) == "abcdet"
    assert heading(tab, "Name").is_visible()
    assert tab.locator("#figure-top-0").is_visible()


def test_a_folded_table_that_the_address_names_is_open(opened: Callable[[str], Any]) -> None:
    tab = opened("#end&folded.sort=-cost")
    assert heading(tab, "Cost", "folded").is_visible()
    assert names(tab, "folded") == "dabect"


def test_print_shows_what_is_chosen_without_controls(opened: Callable[[str], Any]) -> None:
    tab = opened("#first.hide=cost")
    tab.emulate_media(media="print")
    assert not tab.locator(".table:has(#table-first) .choose").is_visible()
    assert not heading(tab, "Cost").is_visible()
    assert heading(tab, "Size").is_visible()


def test_what_the_row_above_says_is_shown_once_rows_are_moved(browser: Any, tmp_path: Path) -> None:
    rows = [
        Row([Cell(name, again=number > 0), Cell(str(value), (value,))])
        for name, values in {"a": (3, 1), "b": (2, 4)}.items() for number, value in enumerate(values)
    ]  # fmt: skip
    columns = [Column("Name", number=False), Column("Value", names=("value",)), *(Column(f"c{n}") for n in range(3))]
    rows = [Row([*row.cells, Cell("1"), Cell("1"), Cell("1")]) for row in rows]
    write_page(
        Page("Again", [Section("s", "S", tables=[Table("t", columns, rows, filter="part")])]), tmp_path / "a.html"
    )
    tab = browser.new_page()
    tab.goto((tmp_path / "a.html").as_uri())

    def wide() -> list[bool]:
        return [(each.bounding_box() or {"width": 0})["width"] > 2 for each in tab.locator("#table-t .again").all()]

    assert tab.locator("#table-t tbody tr td:first-child").all_text_contents() == ["a", "a", "b", "b"]
    assert wide() == [False, False]
    tab.locator("#table-t thead th button", has_text="Value").click()
    assert tab.locator("#table-t tbody tr td:first-child").all_text_contents() == ["a", "b", "a", "b"]
    assert wide() == [True, True]
    tab.goto((tmp_path / "a.html").as_uri() + "#t.filter=4")
    tab.reload()
    assert wide()[-1]
    tab.close()


def test_a_dense_table_fits_a_screen_and_has_arrows(browser: Any, tmp_path: Path) -> None:
    columns = [
        Column("Group", number=False),
        Column("ID test sets", number=False),
        *(Column("ImageNet-A") for _ in range(11)),
    ]
    cells = [Cell("adversarially robust"), Cell("ImageNet + second"), *[Cell("−1.3", small="(−13.9 to +11.3)")] * 11]
    table = Table("t", columns, [Row(cells)] * 3, head=True)
    write_page(Page("Dense", [Section("s", "S", tables=[table])]), tmp_path / "a.html")
    tab = browser.new_page(viewport={"width": 1300, "height": 600})
    tab.goto((tmp_path / "a.html").as_uri())
    assert (
        tab.evaluate("(() => { const e = document.querySelector('.scroll'); return e.scrollWidth - e.clientWidth })()")
        <= 0
    )
    arrow = tab.evaluate("getComputedStyle(document.querySelector('#table-t th button'), '::after').content")
    assert "↕" in arrow
    tab.close()

"""Parts of a page as files: every table as CSV and LaTeX, every figure as SVG and PNG."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from unseen.report.core.export import export_page, save_figure
from unseen.report.core.model import Backbone, Cell, Column, Figure, Page, Row, Section, Series, Table
from unseen.report.core.single_points import without_single_points
from unseen.report.core.static import drawn, static_bytes
from unseen.report.core.static.canvas import static_files
from unseen.report.core.static.canvas import written as written_alone

ROUND_AND_DEEP = ("Round", "Turned")


def a_page(*, wide: bool = False) -> Page:
    """A page of tables and figures.

    Args:
        wide: with the figures that take longest.
    """
    line = Series("a <b>", [0, 1, 2], [1, None, 3], low=[0, None, 2], high=[2, None, 4], strong=True, backbone="a <b>")
    other = Series("other", [0, 1, 2], [2, 2, 2], 1, "a group")
    bars = Series("bars", [0, 1], [1, -1], 2, mode="bars", strong=True)
    solid = Series("points", [0, 1, 0], [0, 1, 1], 3, mode="markers", z=[1, 2, 3], strong=True)
    figures = [
        Figure("First", "x", "y", [other, line], ((0, "L1"), (1, "L2"), (2, "$L_3$")), zero=True, top_is_low=True),
        Figure("First", "x", "y", [bars], caption="A sentence."),
        Figure("Round", "", "", [line], ((0, "one"), (1, "two"), (2, "three")), polar=True),
        Figure("Turned", "x", "y", [solid], z_label="z"),
        Figure("Powers", "x", "y", [Series("line", [1, 10, 100], [1, 2, 3])], log_x=True),
        Figure("Chosen by the reader", "", "", drawing="own"),
    ]
    columns = [Column("Name", number=False), Column("Ends", names=("low", "high"))]
    rows = [
        Row([Cell("a, b"), Cell("0 to 1", (0.25, 1))]),
        Row([Cell("c"), Cell()]),
        Row([Cell("sum"), Cell()], "foot"),
    ]
    figures = [figure for figure in figures if wide or figure.title not in ROUND_AND_DEEP]
    section = Section("part", "Part", figures=figures, tables=[Table("ends", columns, rows)])
    return Page("Title", [section], backbones=[Backbone("a <b>")])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return export_page(a_page(), tmp_path_factory.mktemp("page"))


def test_every_table_and_figure_is_written(written: list[Path]) -> None:
    folder = written[0].parent
    names = ["part-first", "part-first-2", "part-powers"]
    assert {path.name for path in written} == {
        "part-ends.csv",
        "part-ends.tex",
        *(f"{n}{kind}" for n in names for kind in (".svg", ".png", ".pdf", "-column.pdf")),
        *("all-tables.tex", "all-figures.tex", "paper.tex", "results.bib"),
    }
    with (folder / "part-ends.csv").open() as file:
        assert list(csv.reader(file)) == [["Name", "low", "high"], ["a, b", "0.25", "1"], ["c", "", ""]]
    latex = (folder / "part-ends.tex").read_text().splitlines()
    assert latex[7:10] == [r"\begin{tabular}{@{}lr@{}}", r"\toprule", r"Name & Ends \\"]
    assert latex[11:15] == [r"a, b & 0 to 1 \\", r"c & -- \\", r"\midrule", r"sum & -- \\"]
    for name in names:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{name}.svg").read_text()
    svg = (folder / "part-first.svg").read_text()
    assert "$L_3$" in svg  # names are text, not formulas
    assert "a &lt;b&gt;" in svg
    assert "#0072b2" in svg  # the look of the first backbone
    powers = (folder / "part-powers.svg").read_text()
    assert ">100<" in powers
    assert "mathdefault" not in powers


@pytest.mark.parametrize(
    "figure",
    [
        Figure("Names", "", "y", [Series("a", [0, 1], [1, 2])], ((0, "a long name " * 8), (1, "another name " * 8))),
        Figure("Caption", "x", "y", [Series("a", [0, 1], [1, 2])], caption="A sentence of many words. " * 20),
        Figure("", "x", "y", [Series("a long name " * 8, [0, 1], [1, 2], strong=True)], drawing="bump"),
        Figure("中文", "x", "y", [Series("模型", [0, 1], [1, 2], strong=True)]),
    ],
    ids=lambda figure: figure.title,
)
@pytest.mark.filterwarnings("error")
def test_long_names_and_other_scripts_give_no_warning(figure: Figure) -> None:
    assert static_bytes(figure, "png").startswith(b"\x89PNG")


@pytest.mark.long_suite
def test_the_same_page_gives_the_same_files(tmp_path: Path) -> None:
    first, again = (export_page(a_page(wide=True), tmp_path / name) for name in "ab")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert {path.stem for path in first if path.suffix == ".png"} >= {"part-round", "part-turned"}


@pytest.mark.long_suite
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("title", ["First", "Powers"])
def test_a_pdf_has_the_size_of_a_figure_that_never_had_a_caption(title: str) -> None:
    """It is the drawing of the other files, without their caption."""
    figure = next(each for each in a_page().sections[0].figures if each.title == title)
    plain = written_alone(drawn(figure, "page"), "pdf")
    _, _, _, (ending, content) = static_files(replace(figure, caption="A sentence. " * 20, x_label="中文"))
    assert ending == ".pdf"
    found, expected = (re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+)", each) for each in (content, plain))
    assert found is not None
    assert expected is not None
    assert [float(each) for each in found.groups()] == pytest.approx([float(each) for each in expected.groups()], abs=1)


@pytest.mark.parametrize(("places", "single"), [([0.0], True), ([0.0, 1.0], False)])
def test_values_at_one_place_are_single_points(places: list[float], single: bool) -> None:
    figure = Figure("", "x", "y", [Series("a", places, [1.0] * len(places))], ((0, "L1"), (1, "L2")))
    assert figure.is_single_points == single


def test_a_table_instead_of_single_points_says_where_they_are() -> None:
    figure = Figure("Pets", "Shots", "Accuracy (%)", [Series("a", [5.0], [90.0], low=[88.0], high=[92.0])], ((5, "5"),))
    [table] = without_single_points(Section("few", "Few-shot", figures=[figure])).tables
    assert table.caption == "Pets, 5 shots"
    assert [cell.text for cell in table.rows[0].cells] == ["a", "90.0", "88.0 to 92.0"]


def test_a_figure_on_a_page_of_its_own_has_the_policy_of_all_pages(tmp_path: Path) -> None:
    """As `unseen levels plot` and pages of label noise have it: nothing is loaded, and only scripts of ours run."""
    save_figure(Figure("<script>alert(1)</script>", "x", "y", ()), tmp_path / "f.html")
    content = (tmp_path / "f.html").read_text()
    assert "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-" in content
    assert "<script>alert" not in content

"""Charts of levels: what is in them, and the files they become."""

import re
from pathlib import Path

import pytest

import unseen
from unseen.errors import UserError
from unseen.ontology.levels import Concept, Levels
from unseen.ontology.space import Space
from unseen.ontology.wordnet import imagenet_taxonomy, wordnet
from unseen.report.core.model import Figure, Series
from unseen.report.levels.charts import examples_chart, images_chart, ranking_chart

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"


@pytest.fixture(scope="module")
def levels() -> Levels:
    return unseen.levels("cog-v2")


def test_a_logarithmic_range_is_the_same_in_both_forms(tmp_path: Path) -> None:
    chart = Figure("t", "x", "y", [Series("", [1, 100], [0, 1], "#000", mode="lines")], log_x=True, x_range=(1, 100))
    chart.save(tmp_path / "chart.html")
    text = (tmp_path / "chart.html").read_text()
    assert '"log_x": true' in text
    assert '"x_range": [1, 100]' in text  # the script takes its logarithm
    assert chart._repr_png_().startswith(b"\x89PNG")


def test_the_ranking_has_a_band_per_level_at_its_ranks(levels: Levels) -> None:
    chart = ranking_chart(levels)
    assert [(band.start, band.end) for band in chart.bands] == [(s, s + 1000) for s in (0, 1036, 2072, 3108, 4146)]
    values = [value for line in chart.series for value in line.y]
    assert values == sorted(values, reverse=True)
    assert "planter.n.03 (n03957315), L1, rank 0" in chart.series[0].hover[0]


def test_images_are_capped_and_summed(levels: Levels) -> None:
    chart = images_chart(levels)
    assert [max(line.y) for line in chart.series] == [1350] * 5
    assert "1.17 M, 1.17 M, 1.15 M, 1.16 M, 1.14 M" in chart.caption


def test_examples_of_the_tiger_cat_fall_away() -> None:
    universe = wordnet().members("imagenet-21k")
    chart = examples_chart(Space(imagenet_taxonomy()), "n02123159", universe, "lin")
    assert len(chart.series[0].y) == len(universe) - 1
    marks = chart.series[1]
    assert marks.labels[0] == "domestic cat"
    assert list(marks.y) == sorted(marks.y, reverse=True)
    assert len(marks.y) >= 5


def test_levels_without_similarities_or_counts_are_refused() -> None:
    bare = Levels("bare", (Concept(1, 0, "n1", "x", None, "", None),))
    with pytest.raises(UserError, match="no similarities"):
        ranking_chart(bare)
    with pytest.raises(UserError, match="no image counts"):
        images_chart(bare)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "html"])
def test_the_same_chart_gives_the_same_file(levels: Levels, tmp_path: Path, suffix: str) -> None:
    files = [tmp_path / f"{i}.{suffix}" for i in range(2)]
    for file in files:
        images_chart(levels).save(file)
    contents = [file.read_bytes() for file in files]
    magic = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "html": b"<!doctype html>"}
    assert contents[0].startswith(magic[suffix])
    assert contents[0] == contents[1]


def test_a_page_needs_no_network_and_hostile_names_stay_text(tmp_path: Path) -> None:
    line = Series(HOSTILE, [1, 2], [3, 4], "#000", hover=[HOSTILE, "b"], labels=[HOSTILE, ""])
    Figure(HOSTILE, HOSTILE, HOSTILE, [line], caption=HOSTILE).save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert HOSTILE not in page
    assert "<img src=x" not in page
    assert not re.search(r"<(script|img|iframe)[^>]+(src|href)=", page)
    assert "default-src 'none'" in page


def test_an_unknown_format_is_refused(levels: Levels, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a figure is written as"):
        images_chart(levels).save(tmp_path / "figure.bmp")

"""The page of a run without a browser: what it says, that names stay text, that it is the same each time."""

import html
import json
import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from unseen.errors import UserError
from unseen.report.concepts.page import write_report
from unseen.report.core.looks import look
from unseen.report.core.render import TEMPLATES
from unseen.runs.data import Backbone, ConceptHits, Domain, Example, RunData, Step
from unseen.runs.notices import told
from unseen.runs.score import Score

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(2)</script>"
BOLD = "<b>bold</b> &lt;"  # Plotly knows this tag, and entities
LINK = '"><a href=javascript:alert(3)>$x$</a><!--<script>'


def png(width: int, height: int) -> bytes:
    """A grey picture, made by hand from the PNG specification."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(range(width)) for _ in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def scores(
    means: dict[str, Sequence[float | None]], shots: Sequence[int | None] = (1, 4, None), seeds: int = 3
) -> list[Score]:
    """Scores whose mean over seeds is the one given with all samples; None leaves the cell out."""
    found = []
    for backbone, row in means.items():
        for place, mean in enumerate(row):
            for number in shots:
                for seed in range(seeds):
                    if mean is None:
                        continue
                    share = mean * (1.0 if number is None else 0.4 + 0.05 * number)
                    top1 = share + 0.01 * (seed - (seeds - 1) / 2)
                    key = f"{backbone}/{place}/{number}/{seed}"
                    for metric, value in (("top1", top1), ("top5", (1 + top1) / 2)):
                        where = (f"d{place}", "logistic", number, seed, metric)
                        found.append(Score("concepts", "cog-v2", backbone, *where, value, seconds=2.0, key=key))
    return found


def run_data(means: dict[str, Sequence[float | None]], **more: Any) -> RunData:
    """A run over as many domains as there are means, the first of them seen."""
    domains = [
        Domain(f"d{place}", "Seen" if place == 0 else f"L{place}", place == 0)
        for place in range(max(map(len, means.values())))
    ]
    backbones = [Backbone(name, "first" if place < 2 else "second") for place, name in enumerate(means)]
    facts: dict[str, Any] = {"title": "A run", "scores": scores(means), "domains": domains, "backbones": backbones}
    return RunData(**{**facts, "baseline": next(iter(means)), **more})


def usual() -> RunData:
    data = run_data({"alpha": [0.8, 0.75, 0.7], "beta": [0.6, 0.59, 0.58], "gamma": [0.3, None, 0.31]})
    example = Example(png(28, 20), "a cat")
    first = replace(data.domains[0], concepts=["cat", "dog"], examples=[example, Example(png(100, 20), "a dog")])
    domains = [first, *(replace(domain, similarity=0.5) for domain in data.domains[1:])]
    steps = [Step("has images", 1200, 3400)]
    return replace(data, domains=domains, steps=steps, told=[told("Only a part.")], remarks={"Machine": "2 cores"})


def hostile() -> RunData:
    """Every name and text in a run tries to be more than text."""
    data = run_data({IMAGE: [0.8, 0.7], SCRIPT: [0.5, 0.4], LINK: [0.2, 0.1]})
    domains = [
        Domain(domain.name, name, domain.seen, 0.5, [name], [Example(png(8, 8), name)])
        for domain, name in zip(data.domains, (SCRIPT, BOLD), strict=True)
    ]
    found = [replace(score, study=IMAGE, protocol=SCRIPT, probe=LINK) for score in data.scores]
    found += [replace(score, protocol="other", metric=IMAGE) for score in found if score.metric == "top1"]
    backbones = [Backbone(b.name, name, LINK) for b, name in zip(data.backbones, (IMAGE, SCRIPT, LINK), strict=True)]
    notices = [told(IMAGE)]
    remarks = {SCRIPT: IMAGE, IMAGE: LINK}
    return RunData(SCRIPT, found, domains, backbones, SCRIPT, notices, [Step(IMAGE, 1, 2)], remarks=remarks)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def written(data: RunData, folder: Path) -> str:
    """The page without Plotly's own script, which is 5 MB of someone else's text; pages of tables alone have none."""
    write_report(data, folder / "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page.count("plotly.js v") == ("data-figure=" in page)
    return re.sub(r"<script>/\*\*\n\* plotly\.js v.*?</script>", "", page, flags=re.DOTALL)


def payload(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def table_rows(page: str, name: str) -> list[list[str]]:
    """The texts of a table's cells."""
    body = page.split(f'id="table-{name}"', 1)[1].split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    rows = [re.findall(r"<t[dh].*?>(.*?)</t[dh]>", row, re.DOTALL) for row in body.split("<tr")[1:]]
    return [[html.unescape(re.sub(r"<[^>]*>", " ", cell)).strip() for cell in row] for row in rows]


def text_of(page: str) -> str:
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_it_says_what_the_run_has(folder: Path) -> None:
    text = text_of(written(usual(), folder))
    for part in ("A run", "Only a part.", "2 cores", "has images 1,200 3,400", "a cat", "2 concepts", "0.500"):
        assert part in text
    # 3 + 3 + 2 domains × 3 shots × 3 seeds, of 2 s each; both metrics of a job count once.
    assert "Total 72 2.4 min" in text
    assert "alpha 27 54 s" in text


def test_the_table_has_the_numbers(folder: Path) -> None:
    page = written(usual(), folder)
    rows = payload(page)["rows"]
    assert len(rows) == len(table_rows(page, "scores")) == 8 * 3 * 2
    [row] = [row for row in rows if row[1:5] == ["beta", "d2", "all", "top1"]]
    assert row[5:7] == [pytest.approx(0.58), pytest.approx(0.01)]
    [row] = [row for row in table_rows(page, "scores") if row[:4] == ["beta", "L2", "all", "top1"]]
    assert row[4:] == ["58.0", "–", "−2.0", "2", "1.0", "57.0 to 59.0", "3", "first"]


def test_the_table_has_the_interval_over_concepts(folder: Path) -> None:
    # A concept that is always right and one that never is: a draw of two has 0, 1 or 2 of the first.
    hits = [ConceptHits("beta", "d2", "all", seed, ("a", "b"), (10, 0), (10, 10)) for seed in range(3)]
    page = written(replace(usual(), concept_hits=hits), folder)
    found = {tuple(row[:4]): row[5] for row in table_rows(page, "scores")}
    assert found.pop(("beta", "L2", "all", "top1")) == "0.0 to 100.0"
    assert set(found.values()) == {"–"}
    assert "Over concepts" in text_of(page)


def test_pictures_are_inside_and_small_ones_keep_their_pixels(folder: Path) -> None:
    page = written(usual(), folder)
    assert re.search(r'<img src="data:image/png;base64,\S+" width="28" height="20" alt="a cat" class=small>', page)
    assert re.search(r'<img src="data:image/png;base64,\S+" width="100" height="20" alt="a dog">', page)


@pytest.mark.parametrize(
    ("means", "seeds", "expected"),
    [
        (
            {"alpha": [0.8, 0.75, 0.7], "beta": [0.6, 0.6, 0.62]}, 3,
            "From Seen to L2, alpha loses 10.0 ± 0.0 points of accuracy and beta gains 2.0 ± 0.0. "
            "With all samples, alpha reaches 80.0% top-1 accuracy on Seen; its lead over beta was not tested. "
            "alpha reaches 70.0% on L2; its lead over beta was not tested.",
        ),
        (
            {"alpha": [0.8, 0.8]}, 1,
            "From Seen to L1, alpha does not change. With all samples, alpha reaches 80.0% top-1 accuracy on Seen.",
        ),
        ({"alpha": [0.8]}, 1, "With all samples, alpha reaches 80.0% top-1 accuracy on Seen."),
        (
            {"alpha": [0.8], "beta": [0.9]}, 1,
            "With all samples, beta reaches 90.0% top-1 accuracy on Seen; its lead over alpha was not tested.",
        ),
        (
            {"alpha": [0.8, None], "beta": [None, 0.9]}, 1,
            "With all samples, alpha reaches 80.0% top-1 accuracy on Seen. beta reaches 90.0% on L1.",
        ),
        (
            {f"b{i}": [0.9 - 0.02 * i, 0.8 - 0.01 * i] for i in range(8)}, 1,
            "From Seen to L1, b0 loses 10.0 points of accuracy and b7 3.0; these are the extremes of 8 backbones. "
            "With all samples, b0 reaches 90.0% top-1 accuracy on Seen; its lead over b1, b2 and 5 more was not "
            "tested. b0 reaches 80.0% on L1; its lead over b1, b2 and 5 more was not tested.",
        ),
    ],
)  # fmt: skip
def test_findings_follow_from_the_scores(
    means: dict[str, Sequence[float | None]], seeds: int, expected: str, folder: Path
) -> None:
    page = written(run_data(means, scores=scores(means, seeds=seeds)), folder)
    found = re.search(r'<div class="findings">(.*?)</div>', page, re.DOTALL)
    assert found
    assert re.sub(r" ([.,])", r"\1", text_of(found[1])) == expected


def test_without_all_samples_the_most_shots_speak(folder: Path) -> None:
    means = {"alpha": [0.8]}
    text = text_of(written(run_data(means, scores=scores(means, shots=(1, 4))), folder))
    assert "With 4 shots, alpha reaches 48.0%" in text


def test_the_least_of_runs_still_makes_a_page(folder: Path) -> None:
    one = Score("probe", "cog-v2", "mine", "test", "logistic", None, 0, "top1", 0.5)
    page = written(RunData("Mine", [one], [Domain("test", "Test")], [Backbone("mine", "own")], "mine"), folder)
    assert "With all samples, mine reaches 50.0% top-1 accuracy on Test." in text_of(page)
    assert "No times were recorded." in page
    for section in ("few-shots", "examples", "making"):
        assert f'id="{section}"' not in page
    [row] = table_rows(page, "scores")
    assert row == ["mine", "Test", "all", "top1", "50.0", "–", "–", "1", "–", "–", "1", "own"]


def test_scores_of_names_that_are_not_listed_are_shown(folder: Path) -> None:
    data = run_data({"alpha": [0.8, 0.7], "beta": [0.5, 0.4]})
    page = written(replace(data, domains=data.domains[:1], backbones=data.backbones[:1]), folder)
    assert [domain["name"] for domain in payload(page)["domains"]] == ["d0", "d1"]
    assert [backbone["name"] for backbone in payload(page)["backbones"]] == ["alpha", "beta"]


def test_names_stay_text(folder: Path) -> None:
    page = written(hostile(), folder)
    for name in (IMAGE, SCRIPT, LINK):
        assert name not in page
        assert html.escape(name).replace("&quot;", "&#34;") in page
    assert not re.search(r"<img src=x|<a href=javascript|<script>alert", page)
    assert {backbone["name"] for backbone in payload(page)["backbones"]} == {IMAGE, SCRIPT, LINK}
    # Text between the tags of the data block has none of the characters that could end it.
    block = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert block
    assert not set("<>&") & set(block[1])


def test_the_page_names_nothing_outside_itself(folder: Path) -> None:
    page = written(usual(), folder)
    assert "://" not in page
    assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest", page)
    for value in re.findall(r'\b(?:src|href)="([^"]*)"', page):
        assert value.startswith(("data:", "#"))
    assert "default-src 'none'" in page


def test_the_same_data_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_report(usual(), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["one", "two"]


def test_a_baseline_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(UserError, match="no backbone 'alpho' to take differences from; did you mean alpha"):
        write_report(replace(usual(), baseline="alpho"), folder / "no.html")
    assert not (folder / "no.html").exists()


def test_forty_backbones_are_told_apart() -> None:
    for beside_published in (False, True):
        assert len({look(number, beside_published=beside_published) for number in range(40)}) == 40
    assert {look(number).dash for number in range(8)} == {"solid"}


def test_templates_are_short_files() -> None:
    for file in TEMPLATES.iterdir():
        assert len(file.read_text(encoding="utf-8").splitlines()) <= 300, file.name


def test_one_seed_has_no_deviation_anywhere(tmp_path: Path) -> None:
    from unseen.cli.summaries import write_scores

    means = {"alpha": [0.8, 0.7], "beta": [0.7, 0.72]}
    data = run_data(means, scores=scores(means, shots=(1, None), seeds=1))
    write_report(data, tmp_path / "page.html")
    write_scores(data, tmp_path / "scores.csv")
    table = pd.read_csv(tmp_path / "scores.csv")
    assert table[["deviation", "low", "high"]].isna().all(axis=None)
    text = (tmp_path / "page.html").read_text()
    assert "± 0.0" not in text
    assert "Points are of one seed" in text

"""`unseen leaderboard` as a user types it."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hit_runs import normal_hits, write_hit_run
from run_folders import write_concept_run

from unseen.papers.concept_generalization import DOMAINS
from unseen.runs.data import Backbone
from unseen.runs.notices import told

Unseen = Callable[..., Any]


def lines(out: str) -> list[list[str]]:
    """The rows of models, cut at spaces; the first line is the title."""
    rows = [line.split() for line in out.splitlines()[1:]]
    return [row for row in rows if row and row[0].isdecimal()]


def test_it_needs_no_data(unseen: Unseen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    answer = unseen("leaderboard")
    assert answer.code == 0
    table = lines(answer.out)
    assert len(table) == 31
    # Tables 5 to 10 of the paper, its best model on L5; and 57.6 is 5.6 more than ResNet50's 52.0.
    assert table[0][:3] == ["1", "s-DINO", "self-supervision"]
    assert table[0][3:10] == ["74.8", "71.1", "67.2", "63.2", "62.6", "57.6", "+5.6"]
    assert "Not a fair comparison with ResNet50: saw other data than IN-1K" in answer.out
    assert list(tmp_path.iterdir()) == []


def test_one_shot_is_one_image_and_an_unknown_form_names_the_page_too(unseen: Unseen, tmp_path: Path) -> None:
    assert "1 image per concept" in " ".join(unseen("leaderboard", "--shots", "1").out.split())
    wrong = unseen("leaderboard", "--out", tmp_path / "board.pdf")
    assert (wrong.code, ".html" in wrong.err) == (2, True)


def test_shots_and_categories(unseen: Unseen) -> None:
    answer = unseen("leaderboard", "--shots", "8", "--category", "web data", "--category", "reference", "--by", "mean")
    table = lines(answer.out)
    assert len(table) == 5
    # Tables 6 to 10 with 8 images: 48.3, 40.4, 36.5, 35.0 and 29.6 of ResNet50, 37.96 in the mean.
    assert table[-1][1:3] == ["ResNet50", "reference"]
    assert {row[1] for row in table} == {"d-Semi-Weakly-Sup", "d-Semi-Sup", "d-CLIP", "d-MoPro", "ResNet50"}
    assert "31 models of ImageNet-CoG by mean accuracy on L1 to L5, 8 images per concept" in answer.out


@pytest.mark.parametrize(
    ("by", "explained"),
    [("l5", "0% of the variance of L5"), ("effective", "17%, 5%, 3%, 2%, 0% of the variance of L1 to L5")],
)
def test_what_lines_explain_is_of_the_levels_that_are_shown(unseen: Unseen, by: str, explained: str) -> None:
    assert explained in " ".join(unseen("leaderboard", "--by", by, "--category", "reference").out.split())


@pytest.mark.parametrize(("width", "by"), [(45, "l5"), (60, "effective"), (80, "effective"), (125, "mean")])
def test_no_line_is_longer_than_the_terminal(
    unseen: Unseen, monkeypatch: pytest.MonkeyPatch, width: int, by: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    answer = unseen("leaderboard", "--by", by)
    assert max(len(line.rstrip()) for line in answer.out.splitlines()) <= width
    table = answer.out.split("\n\n")[0].splitlines()
    # Numbers are whole everywhere; from 60 on, names too: every model has one line.
    ends = [line.split()[-1] for line in table if line.rstrip()[-1:].isdecimal() or line.rstrip().endswith(")")]
    assert sum(end[0] in "+−0" or end.endswith(")") for end in ends) >= 31
    if width >= 60:
        assert sum("a-DeiT-B-distilled" in line for line in table) == 1


def test_a_users_run_stands_out(unseen: Unseen, tmp_path: Path) -> None:
    folder = write_concept_run(tmp_path / "run", [Backbone("[red]mine[/red]", "yours")], lambda *_: 0.9)
    answer = unseen("leaderboard", folder, "--category", "reference")
    assert "1  ▶ [red]mine[/red]  yours" in answer.out
    assert "32 models" in answer.out
    assert len(lines(answer.out)) == 2


def test_pages_and_tables_are_written(unseen: Unseen, tmp_path: Path) -> None:
    assert unseen("leaderboard", "--out", tmp_path / "page.html").code == 0
    assert "<title>ImageNet-CoG leaderboard</title>" in (tmp_path / "page.html").read_text()
    assert unseen("leaderboard", "--out", tmp_path / "table.csv", "--category", "regularization").code == 0
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert {"rank", "rank_low", "rank_high", "model", "in1k", "l5", "relative", "effective_low"} <= set(rows[0])
    assert float(rows[0]["l5"]) == pytest.approx(0.522)  # r-MEAL-v2, Table 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shots", "7"], "no published accuracies with 7 shots, only 1, 2, 4, 8, 16, 32, 64, 128, all"),
        (["--shots", "al"], "did you mean all"),
        (["--category", "self-supervised"], "not 'self-supervised'; did you mean self-supervision?"),
        (["--by", "l6"], "--by must be one of l5, mean, effective, not 'l6'"),
        (["--out", "board.docx"], "--out ends in .html for a page, or in .csv, .json, .parquet, .md, .tex"),
        (["nowhere"], "nowhere: no run.json in it"),
    ],
)
def test_mistakes_get_one_sentence(
    unseen: Unseen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = unseen("leaderboard", *arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("unseen: ")
    assert len(answer.err.splitlines()) == 1
    assert message in answer.err
    assert list(tmp_path.iterdir()) == []


def test_what_a_run_has_to_say_is_shown(unseen: Unseen, tmp_path: Path) -> None:
    folder = write_concept_run(
        tmp_path / "run",
        [Backbone("mine", "yours")],
        lambda *_: 0.5,
        notices=[told("Other <b>images</b> were [red]drawn[/red].")],
    )
    answer = unseen("leaderboard", folder, "--out", tmp_path / "page.html")
    assert "Other <b>images</b> were [red]drawn[/red]." in answer.out
    page = (tmp_path / "page.html").read_text()
    assert '<p class="notice" role="note">Other &lt;b&gt;images&lt;/b&gt; were [red]drawn[/red].</p>' in page
    unseen("leaderboard", "--out", tmp_path / "page.html")
    assert 'role="note"' not in (tmp_path / "page.html").read_text()


def test_an_unfinished_run_is_named(unseen: Unseen, tmp_path: Path) -> None:
    folder = write_concept_run(tmp_path / "run", [Backbone("mine", "yours")], lambda *_: 0.5, domains=DOMAINS[:3])
    answer = unseen("leaderboard", folder)
    assert answer.code == 2
    assert "mine has no score on l3, l4, l5 with all shots" in answer.err


def test_a_site_does_not_mix_with_other_files(unseen: Unseen, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    refused = unseen("leaderboard", "--site", tmp_path)
    assert (refused.code, refused.out) == (2, "")
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]
    for _ in range(2):  # a new folder, then an earlier site
        assert unseen("leaderboard", "--site", tmp_path / "site").code == 0


ACCURACY = {"best": 0.8, "[red]near": 0.8, "far": 0.4}


def test_backbones_of_another_study_are_ranked_among_themselves(
    unseen: Unseen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = write_hit_run(tmp_path / "run", [*ACCURACY], normal_hits(ACCURACY, spread=0.2))
    answer = unseen("leaderboard", run, "--out", tmp_path / "page.html")
    assert answer.code == 0
    assert [row[:3] for row in lines(answer.out)][-1] == ["3", "2", "far"]
    assert answer.out.count("(1–2)") == 2
    assert "[red]near" in answer.out
    assert "In brackets: 95% interval of the rank" in answer.out
    assert "<title>Leaderboard of your backbones</title>" in (tmp_path / "page.html").read_text()
    monkeypatch.setenv("COLUMNS", "60")
    narrow = unseen("leaderboard", run).out
    assert max(len(line.rstrip()) for line in narrow.splitlines()) <= 60


def test_rankings_as_json_and_as_a_table(unseen: Unseen, tmp_path: Path) -> None:
    run = write_hit_run(tmp_path / "run", [*ACCURACY], normal_hits(ACCURACY, spread=0.2))
    answer = unseen("leaderboard", run, "--json", "--by", "b", "--out", tmp_path / "table.csv")
    [ranking] = json.loads(answer.out)["rankings"]
    assert (ranking["by"], ranking["rank_basis"], ranking["units"]) == (["b"], "pairs", ["images"])
    last = ranking["backbones"][-1]
    assert [last[key] for key in ("backbone", "rank", "low", "high", "group", "others")] == ["far", 3, 3, 3, 2, None]
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [rows[-1][key] for key in ("backbone", "rank", "rank_low", "rank_high", "tie_group")] == ["far", *"3332"]
    published = json.loads(unseen("leaderboard", "--json", "--category", "reference").out)
    assert (published["by"], published["rank_intervals"], len(published["models"])) == ("l5", "seeds", 1)
    refused = unseen("leaderboard", run, "--category", "reference")
    assert (refused.code, refused.out) == (2, "")


def test_own_backbones_on_imagenet_cog_are_ranked_among_themselves(unseen: Unseen, tmp_path: Path) -> None:
    backbones = [Backbone(name, "yours") for name in ("a", "b", "worse")]
    hits = normal_hits({"a": 0.6, "b": 0.6, "worse": 0.3}, spread=0.2)
    run = write_concept_run(tmp_path / "run", backbones, lambda *_: 0.5, hits=hits)
    words = " ".join(unseen("leaderboard", run, "--site", tmp_path / "site").out.split())
    assert "worse 3, tie group 2" in words
    page = (tmp_path / "site/index.html").read_text()
    assert "Your backbones among themselves" in page
    assert "95% range over seeds" in page
    with (tmp_path / "site/leaderboard.csv").open() as file:
        own = {row["model"]: row["own_group"] for row in csv.DictReader(file) if row["own_group"]}
    assert own["worse"] == "2"


def test_a_site_of_another_study_names_the_page_to_write_instead(unseen: Unseen, tmp_path: Path) -> None:
    run = write_hit_run(tmp_path / "run", ["a", "b"], normal_hits({"a": 0.9, "b": 0.5}, 50))
    refused = unseen("leaderboard", run, "--site", tmp_path / "site")
    assert refused.code == 2
    assert "--out page.html" in " ".join(refused.err.split())

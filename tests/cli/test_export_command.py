"""`unseen export`, `unseen check` and a leaderboard of results files, as a user types them."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_folders import write_concept_run
from shift_runs import made_up, write_shift_run

import unseen as package
from unseen.api.run import Run
from unseen.papers import published
from unseen.papers.concept_generalization import DOMAINS
from unseen.probes.protocol import COG_V2_SHORT
from unseen.runs.cautions import caution
from unseen.runs.data import Backbone
from unseen.runs.setup import ProtocolUsed

Unseen = Callable[..., Any]


def like_resnet(more: float) -> Callable[[str, str, int], float]:
    """ResNet50's published accuracies, and some more."""
    table = published("cog-v2")
    known = table[(table["model"] == "ResNet50") & (table["shots"] == "all")].set_index("domain")["mean"] / 100
    return lambda _, domain, seed: float(known[domain]) + more + 0.001 * seed


@pytest.fixture
def run(tmp_path: Path) -> Path:
    backbones = [Backbone("<i>mine</i>", "yours", cautions=[caution("network-size")])]
    return write_concept_run(tmp_path / "run", backbones, like_resnet(0.03))


def test_from_a_run_to_a_place_among_the_published_models(unseen: Unseen, run: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    assert unseen("export", run, "--out", out).code == 0
    assert unseen("export", run, "--out", tmp_path / "card.yaml").code == 0
    assert (tmp_path / "card.yaml").read_text().startswith("model-index:")
    checked = unseen("check", out)
    assert (checked.code, checked.out.splitlines()[0]) == (0, f"{out}: valid, 1 warning")
    assert unseen("check", "--strict", out).code == 1
    [finding] = json.loads(unseen("check", "--json", out).out)
    assert (finding["severity"], finding["file"]) == ("warning", str(out))
    # The same numbers as from the run itself.
    frames = [package.leaderboard(each).to_frame().drop(columns="category") for each in (run, str(out))]
    assert frames[0].equals(frames[1])
    assert frames[0].query("yours")["rank"].tolist() == [10]  # 55.1 on L5: nine in Table 10 have more


def test_hits_are_written_if_asked_for_and_their_size_is_printed(unseen: Unseen, tmp_path: Path) -> None:
    rng, out = np.random.default_rng(0), tmp_path / "results.json"
    for name in ("train", "test"):
        np.savez(tmp_path / f"{name}.npz", X=rng.random((60, 4)), y=np.arange(60) % 3)
    run = tmp_path / "run"
    assert unseen("probe", tmp_path / "train.npz", tmp_path / "test.npz", "--probes", "knn", "--out", run).code == 0
    assert unseen("export", run, "--out", out).out.split() == ["1", "record:", str(out)]
    written = unseen("export", run, "--out", out, "--hits").out
    assert re.match(r"1 record, with 0\.\d kB of hits: ", written)
    [record] = json.loads(out.read_text())["records"]
    assert [(each["images"], len(each["fits"])) for each in record["hits"]] == [(60, 1)]
    assert unseen("check", out).code == 0


def test_results_of_other_data_are_left_out_and_that_is_said(unseen: Unseen, run: Path, tmp_path: Path) -> None:
    from unseen.exchange.read import read_results_file

    good, few, shift = (tmp_path / f"{name}.json" for name in ("good", "few", "shift"))
    unseen("export", run, "--out", good)
    record = json.loads(good.read_text())
    for each in record["records"]:
        each["data"]["images"]["train"] = 10
        each["backbone"]["name"] = "few"
    few.write_text(json.dumps(record))
    shifted = write_shift_run(tmp_path / "shift-run", made_up(["robust"]))
    assert unseen("export", shifted, "--out", shift).code == 0
    records = read_results_file(shift).records
    assert {each.study for each in records} == {"shifts"}
    # 1000 images: the interval of 95% is some 1.96 · √(p (1 − p) / 1000) to either side.
    for each in records:
        [score], p = each.scores, each.scores[0].value
        assert each.data.images == {"test": 1000}
        half = (score.intervals[0].high - score.intervals[0].low) / 2
        assert (score.intervals[0].over, half) == (
            "images",
            pytest.approx(1.96 * (p * (1 - p) / 1000) ** 0.5, rel=0.02),
        )
    board = unseen("leaderboard", good, few, shift, "--category", "reference")
    assert "32 models" in board.out
    assert "Left out: few (few.json): IN1K has 10 training images, not 1,281,167" in board.out
    assert "Left out: robust (shift.json): no results on the concepts of ImageNet-CoG" in board.out
    assert "▶ <i>mine</i>" in board.out
    assert "a network of another size" in board.out
    assert "not comparable" in unseen("check", few).out


def test_results_that_contradict_themselves_are_not_ranked(unseen: Unseen, run: Path, tmp_path: Path) -> None:
    out, site = tmp_path / "results.json", tmp_path / "site"
    unseen("export", run, "--out", out)
    record = json.loads(out.read_text())
    record["records"][0]["settings"]["logistic"] = ProtocolUsed.of("logistic", COG_V2_SHORT).settings
    out.write_text(json.dumps(record))
    assert unseen("check", out).code == 2
    refused = unseen("leaderboard", out, "--site", site, "--out", tmp_path / "board.html")
    assert (refused.code, refused.out, len(refused.err.splitlines())) == (2, "", 1)
    assert "not those of cog-v2: epochs is 30, not 100" in refused.err
    assert not site.exists()
    assert not (tmp_path / "board.html").exists()
    in_run = json.loads((run / "run.json").read_text())
    in_run["protocols"][0]["settings"]["epochs"] = 30
    (run / "run.json").write_text(json.dumps(in_run))
    assert "epochs is 30, not 100" in unseen("leaderboard", run).err


def test_a_site_has_pages_and_files_and_loads_nothing(unseen: Unseen, run: Path, tmp_path: Path) -> None:
    out, site = tmp_path / "mine.json", tmp_path / "site"
    unseen("export", run, "--out", out)
    shifted = write_shift_run(tmp_path / "shift-run", made_up(["robust", "robust!"]))
    assert unseen("leaderboard", out, shifted, "--site", site).code == 0
    pages = {path.relative_to(site).as_posix(): path.read_text() for path in site.rglob("*.html")}
    assert set(pages) == {
        "index.html", "models/i-mine-i.html", "models/robust.html", "models/robust-2.html"
    }  # fmt: skip
    for name, page in pages.items():
        assert "default-src 'none'" in page
        assert "<i>mine" not in page
        body = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)  # Plotly has addresses in its texts
        for link in re.findall(r'<a href="([^"#]+)"', body):
            assert (site / name).parent.joinpath(link).resolve().is_file(), (name, link)
        assert not re.search(r'(?:src|href)="(?:https?:)?//', body)
    assert 'href="models/i-mine-i.html"' in pages["index.html"]
    assert "31 models: 45.8% to 57.6%" in pages["models/i-mine-i.html"]
    assert "Rank 10 of 32" in pages["models/i-mine-i.html"]
    with (site / "leaderboard.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 32
    assert unseen("check", site / "results.json", *(site / "results").iterdir()).code == 0


def test_models_that_are_all_left_out_are_refused(unseen: Unseen, tmp_path: Path) -> None:
    shift, site, page = (tmp_path / name for name in ("shift.json", "site", "page.html"))
    shifted = write_shift_run(tmp_path / "shift-run", made_up(["robust"]))
    assert unseen("export", shifted, "--out", shift).code == 0
    for words in ((shift, "--site", site), (shifted, "--site", site), (shift, "--out", page), (shift,)):
        answer = unseen("leaderboard", *words)
        assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1)
        assert "no results on the concepts of ImageNet-CoG" in answer.err
    assert not site.exists()
    assert not page.exists()


def test_mistakes_get_one_sentence(unseen: Unseen, run: Path, tmp_path: Path) -> None:
    (tmp_path / "newer.json").write_text('{"schema": "unseen-results", "version": 7}')
    for arguments, message in (
        (["export", run, "--out", tmp_path / "r.csv"], "results are written as .json"),
        (["export", run, "--backbone", "min"], "no backbone 'min' in these runs"),
        (["export", run, run, "--out", tmp_path / "r.json"], "both have <i>mine</i> on in1k under cog-v2"),
        (["export", run, "--out", "card.txt"], "for a model card as .yaml"),
        (["export", run, "--out", "card.md", "--hits"], "a model card has no hits"),
        (["export", tmp_path / "nowhere"], "no run.json in it"),
        (["leaderboard", tmp_path / "newer.json"], "update unseen"),
        (["leaderboard", tmp_path / "none.json"], "none.json: no such file"),
    ):  # fmt: skip
        answer = unseen(*arguments)
        assert (answer.code, len(answer.err.splitlines())) == (2, 1)
        assert message in answer.err
    bad = unseen("check", tmp_path / "newer.json", tmp_path / "none.json")
    assert (bad.code, bad.out.count("1 error")) == (2, 2)
    assert not (tmp_path / "r.json").exists()


def test_some_backbones_in_python(tmp_path: Path) -> None:
    backbones = [Backbone("a", "yours"), Backbone("b", "yours")]
    folder = write_concept_run(tmp_path / "run", backbones, like_resnet(0.0), domains=DOMAINS[:2])
    out = Run(folder).export(tmp_path / "r.json")
    assert len(json.loads(out.read_text())["records"]) == 4
    assert set(package.check(out)["severity"]) == {"warning"}
    assert list(package.check([out]).columns) == ["file", "severity", "where", "text"]

"""The further probes of `unseen run cog-v1`, from features to the page."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from tiny_imagenet import LEVELS
from unseen.exchange.read import read_results_file
from unseen.exchange.stated_settings import stated_settings
from unseen.runs.record import read_run

Unseen = Callable[..., tuple[int, str, str]]
SECTIONS = ("dimensions", "networks", "clusters", "geometry")


def write_levels(path: Path) -> None:
    rows = [
        f"{level},{10 * level + place},{wnid},{name},{0.9 - 0.3 * level - 0.01 * place},n02123045,12"
        for level, concepts in LEVELS.items()
        for place, (wnid, name) in enumerate(concepts.items())
    ]
    path.write_text("\n".join(["level,rank,wnid,name,similarity,nearest,images", *rows, ""]))


def write_features(folder: Path, samples: Mapping[int, int] = MappingProxyType({1: 15, 2: 15})) -> None:
    """Three concepts a level, on axes of their own under noise; more dimensions than the fewest components.

    Args:
        samples: of each concept and split, by level.
    """
    rng = np.random.default_rng(0)
    for level, concepts in LEVELS.items():
        (folder / f"l{level}").mkdir(parents=True)
        for split in ("train", "test"):
            y = np.arange(3 * samples[level]) % 3
            X = 2 * np.eye(40)[y] + rng.normal(size=(len(y), 40)) * 0.2 * level
            np.savez(folder / f"l{level}" / f"{split}.npz", X=X, y=np.array(sorted(concepts))[y])


def test_the_extended_probes_come_to_the_page(tmp_path: Path, unseen: Unseen) -> None:
    write_levels(tmp_path / "levels.csv")
    write_features(tmp_path / "features")
    words = (
        "--features", tmp_path / "features", "--backbone", "mine", "--set", f"levels={tmp_path / 'levels.csv'}",
        "--datasets",
        "l1,l2", "--shots", "all", "--seeds", 1, "--workers", 1, "--set", "logistic.protocol=cog-v2-short",
    )  # fmt: skip
    run = tmp_path / "run"
    some = unseen("run", "cog-v2", *words, "--probes", "logistic,kmeans,geometry", "--out", run)
    assert some.code == 0, some.err
    assert {score.probe for score in read_run(run).scores} == {"logistic", "kmeans", "geometry"}
    small = ("--set", "mlp.hidden=64,64")  # the paper's 2048 and 2048 hidden units take half a minute
    short = ("--set", "mlp.protocol=cog-v2-short", "--set", "pca.protocol=cog-v2-short")
    answer = unseen("run", "cog-v1", *words, *small, *short, "--out", run)
    assert answer.code == 0, answer.err
    measured = {score.probe for score in read_run(run).scores}
    assert {"logistic", "pca-32", "mlp", "mlp-linear", "kmeans", "geometry"} <= measured
    page = (run / "report.html").read_text()
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    figures = json.loads(found[1])["figures"]
    for name in SECTIONS:
        assert f'<section id="{name}"' in page
        assert '<p class="answer">' in page.split(f'<section id="{name}"')[1].split("</section>")[0]
        strong = [
            series
            for place, figure in figures.items() if place.rpartition("-")[0] == name
            for series in figure["series"] if series.get("strong")
        ]  # fmt: skip
        assert {series["name"].partition(", ")[0] for series in strong} == {"mine"}
    # The regression is there with all samples, so networks are relative to it.
    accuracy = {(s.domain, s.probe): s.value for s in read_run(run).scores if s.metric == "top1" and s.shots is None}
    line = next(s for s in figures["networks-0"]["series"] if s["name"] == "mine, mlp-linear")
    expected = [100 * accuracy[d, "mlp-linear"] / accuracy[d, "logistic"] - 100 for d in ("l1", "l2")]
    assert np.allclose(line["y"], expected)


def test_shots_that_one_domain_lacks_are_skipped_there(tmp_path: Path, unseen: Unseen) -> None:
    write_levels(tmp_path / "levels.csv")
    write_features(tmp_path / "features", {1: 4, 2: 8})
    words = (
        "run", "cog-v2", "--features", tmp_path / "features", "--backbone", "mine", "--set",
        f"levels={tmp_path / 'levels.csv'}",
        "--datasets", "l1,l2", "--seeds", 1, "--workers", 1, "--set", "logistic.protocol=cog-v2-short", "--out",
        tmp_path / "run",
    )  # fmt: skip
    refused = unseen(*words, "--shots", "9,10")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert not (tmp_path / "run").exists()
    assert "Jobs: 1 of 1 to do" in unseen(*words, "--shots", "5", "--dry-run").out
    answer = unseen(*words, "--shots", "5")
    assert answer.code == 0, answer.err
    data = read_run(tmp_path / "run")
    assert {(score.domain, score.shots) for score in data.scores} == {("l2", 5)}
    skipped = [(each.domain, dict(each.arguments)["most"]) for each in data.told if each.code == "skipped-shots"]
    assert skipped == [("l1", 4)]
    assert (tmp_path / "run/scores.csv").is_file()


def test_episodes_that_a_domain_is_too_small_for_are_known_at_once(tmp_path: Path, unseen: Unseen) -> None:
    """Episodes have five classes, and the levels three."""
    write_levels(tmp_path / "levels.csv")
    write_features(tmp_path / "features")
    words = (
        "run", "cog-v2", "--features", tmp_path / "features", "--backbone", "mine", "--set",
        f"levels={tmp_path / 'levels.csv'}",
        "--datasets", "l1", "--shots", "all", "--seeds", 1, "--workers", 1, "--set", "logistic.protocol=cog-v2-short",
        "--probes",
        "logistic,centroids", "--out", tmp_path / "run",
    )  # fmt: skip
    planned = unseen(*words, "--dry-run")
    assert (planned.code, "5-shot episodes are skipped on l1" in planned.err) == (0, True)
    answer = unseen(*words)
    assert answer.code == 0, answer.err
    data = read_run(tmp_path / "run")
    assert {score.probe for score in data.scores} == {"logistic"}
    assert [dict(each.arguments) for each in data.told if each.code == "skipped-episodes"] == [
        {"shots": "5", "on": " on l1", "ways": 5, "needed": 20, "enough": 3, "classes": 3}
    ]


def test_an_export_states_the_settings_of_additional_probes(tmp_path: Path, unseen: Unseen) -> None:
    write_levels(tmp_path / "levels.csv")
    write_features(tmp_path / "features")
    words = (
        "--features", tmp_path / "features", "--backbone", "mine", "--set", f"levels={tmp_path / 'levels.csv'}",
        "--datasets",
        "l1", "--shots", "all", "--seeds", 1, "--workers", 1, "--set", "logistic.protocol=cog-v2-short", "--probes",
        "logistic,linear,knn",
    )  # fmt: skip
    assert unseen("run", "cog-v2", *words, "--out", tmp_path / "run").code == 0
    assert unseen("export", tmp_path / "run", "--out", tmp_path / "r.json").code == 0
    found = read_results_file(tmp_path / "r.json").records
    stated = {each.probe: each.missing for record in found for each in stated_settings(record)}
    assert stated == {"logistic": (), "linear": ()}

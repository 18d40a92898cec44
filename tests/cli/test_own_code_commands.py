"""Probes and metrics of the user's own, and concepts of the user's own, by command."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.special
from PIL import Image

from unseen.probes.many_shot import ERICSSON_2021, PROTOCOLS
from unseen.report.axes.across_runs import study_axes
from unseen.runs.record import read_run

Unseen = Callable[..., tuple[int, str, str]]
PROBE = """
from dataclasses import dataclass
from typing import ClassVar
import torch
from unseen.probes import ScoredProbe

@dataclass(frozen=True)
class Mean(ScoredProbe):
    name: ClassVar[str] = "own-mean"
    title: ClassVar[str] = "nearest <b>mean</b>"

    def scores(self, X_train, y_train, X_test, classes, seed):
        means = torch.stack([X_train[y_train == each].mean(0) for each in range(classes)])
        return -torch.cdist(X_test, means)

PROBE = Mean
"""
METRIC = """
import numpy as np
from unseen.metrics.own import OwnMetric

def errors(y, predictions):
    return np.mean(predictions != y)

METRIC = OwnMetric("own-errors", False, 0, None, "score", compute=errors, title="share of errors")
"""
BACKBONE = """
from torch import nn
from unseen.data.core.decoding.transform import Transform

def backbone():
    return nn.Sequential(nn.AvgPool2d(4), nn.Flatten()), Transform(size=8, resize=8)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, text in (("probe.py", PROBE), ("metric.py", METRIC), ("net.py", BACKBONE)):
        (tmp_path / name).write_text(text)
    return tmp_path


def write_features(folder: Path, splits: tuple[str, ...], classes: list[str]) -> None:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for split in splits:
        y = np.arange(36) % len(classes)
        X = np.eye(8)[y] + 0.3 * rng.normal(size=(36, 8))
        np.savez(folder / f"{split}.npz", X=X, y=np.array(classes)[y])


def test_concepts(unseen: Unseen, place: Path) -> None:
    lines = ["level,rank,wnid,name", *(f"1,{i},{name},{name}" for i, name in enumerate("abc"))]
    (place / "levels.csv").write_text("\n".join(lines))
    write_features(place / "features/l1", ("train", "test"), ["a", "b", "c"])
    words = (
        "run", "cog-v2", "--features", place / "features", "--set", f"levels={place / 'levels.csv'}",
        "--datasets", "l1", "--shots", "all", "--seeds", 1, "--workers", 1,
        "--set", "logistic.protocol=cog-v2-short", "--out", place / "run",
    )  # fmt: skip
    own = ("--probes", f"logistic,{place / 'probe.py'}", "--set", f"metrics={place / 'metric.py'}")
    code, _, said = unseen(*words, *own)
    assert code == 0, said
    assert said.index("Running your own code") < said.index("jobs to do")
    run = read_run(place / "run")
    values = {(score.probe, score.metric): score.value for score in run.scores}
    assert {*values} == {
        (probe, metric) for probe in ("logistic", "own-mean") for metric in ("top1", "top5", "own-errors")
    }
    for probe in ("logistic", "own-mean"):
        assert values[probe, "own-errors"] == pytest.approx(1 - values[probe, "top1"])
    assert not run.metrics["own-errors"].higher_is_better
    page = (place / "run/report.html").read_text()
    assert 'id="own-code"' in page
    assert "probe.py" in page
    assert "nearest <b>mean" not in page
    done = sorted(path.name for path in (place / "run/results").iterdir())
    assert unseen(*words, *own)[0] == 0
    assert sorted(path.name for path in (place / "run/results").iterdir()) == done
    (place / "probe.py").write_text(PROBE + "# changed\n")
    code, _, said = unseen(*words, *own)
    assert (code, "differs in the code of the own-mean protocol" in said) == (2, True)
    (place / "probe.py").write_text(PROBE.replace("        means =", "        1 / 0\n        means ="))
    code, _, said = unseen(*words[:-1], place / "other", *own)
    assert (code, "probe.py, line 13: ZeroDivisionError" in said) == (1, True)
    page = (place / "other/report.html").read_text()  # of the logistic regression, which goes on
    assert "line 13: ZeroDivisionError" in page
    assert f"{100 * values['logistic', 'top1']:.1f}" in page


def test_a_probe_that_fails_once(unseen: Unseen, place: Path) -> None:
    """The page and the table show the other jobs."""
    write_features(place / "features", ("train", "test"), ["a", "b", "c"])
    (place / "probe.py").write_text(PROBE.replace("        means =", "        1 / (1 - seed)\n        means ="))
    files = [place / f"features/{split}.npz" for split in ("train", "test")]
    words = ("probe", *files, "--probes", place / "probe.py", "--shots", 5, "--seeds", 3, "--out", place / "run")
    code, said, notes = unseen(*words)
    assert (code, "line 13: ZeroDivisionError" in notes, "Report:" in said) == (1, True, True)
    assert {score.seed for score in read_run(place / "run").scores} == {0, 2}
    assert "line 13: ZeroDivisionError" in (place / "run/report.html").read_text()
    assert pd.read_csv(place / "run/scores.csv")["seeds"].tolist() == [2, 2]
    assert unseen(*words)[0] == 1  # although all that was left to do fails again


def test_tasks(unseen: Unseen, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROTOCOLS, "ericsson-2021", replace(ERICSSON_2021, steps=2))
    write_features(place / "features/digits", ("train", "val", "test"), list("012345"))
    words = ("run", "ericsson-2021", "--features", place / "features", "--datasets", "digits", "--backbone", "mine",
             "--workers", 1, "--out", place / "run")  # fmt: skip
    metric = ("--set", f"metrics={place / 'metric.py'}")
    code, _, said = unseen(*words, *metric, "--probes", f"linear,{place / 'probe.py'}")
    assert code == 0, said
    values = {(score.probe, score.metric): score.value for score in read_run(place / "run").scores}
    assert values["own-mean", "own-errors"] == pytest.approx(1 - values["own-mean", "top1"])
    assert values["linear", "own-errors"] == pytest.approx(1 - values["linear", "top1"])
    page = (place / "run/report.html").read_text()
    assert 'id="further-probes"' in page
    assert "probe.py" in page

    table = pd.read_csv(place / "run/scores.csv").set_index("setting")["mean"]
    assert table["own-mean-own-errors"] == pytest.approx(values["own-mean", "own-errors"])
    # A metric of one's own is not another score of the linear probe, neither in the table nor across axes.
    assert list(table[table.index == "linear"]) == [values["linear", "top1"]]
    [measure] = [each for name, each in study_axes([place / "run"]).axes.measures.items() if name.startswith("linear")]
    assert measure.values["mine"] == pytest.approx(scipy.special.logit(values["linear", "top1"]))
    page = re.sub(r"<[^>]+>", " ", page)
    assert re.search(r"own-mean\s+all\s+own-errors\s+[\d.]+\s+probe and metric", page)

    # A probe by its name joins the run; what is there is not done again.
    code, said, notes = unseen(*words, "--probes", "knn")
    assert code == 0, notes
    assert "1 of 1 jobs to do" in notes
    assert "Further probes and metrics" in said
    assert "knn-20" in said
    scores = {(score.probe, score.metric) for score in read_run(place / "run").scores}
    assert scores == {*values, ("knn-20", "top1"), ("knn-20", "top5")}
    code, _, said = unseen(*words, "--probes", "kn")
    assert (code, "did you mean knn" in said) == (2, True)


def test_what_files_say_of_themselves(unseen: Unseen, place: Path) -> None:
    code, said, _ = unseen("ls", "probes", place / "probe.py", "--json")
    assert code == 0
    assert json.loads(said)["metric top1"] == "0 to 1, higher is better (share)"
    code, said, _ = unseen("ls", "metrics", place / "metric.py", "--json")
    assert json.loads(said)["range"] == "0 to ∞, lower is better"
    assert "nearest neighbours" in unseen("ls", "probes", "knn")[1]
    assert unseen("ls", "probes", "knnn")[0] == 2


def test_concepts_of_ones_own_from_one_file(unseen: Unseen, place: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("giraffe", "zebra", "violin", "saxophone"):
        (place / "images" / name).mkdir(parents=True)
        for number in range(6):
            pixels = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(place / "images" / name / f"{number}.png")
    text = 'images = "images"\nseen = ["giraffe", "zebra"]\ntest = 2\n[domains]\nmusic = ["violin", "saxophone"]\n'
    (place / "mine.toml").write_text(text)
    code, said, _ = unseen("ls", "domains", place / "mine.toml", "--json")
    assert code == 0
    domains = json.loads(said)["domains"]
    assert [(row["domain"], row["training images"], row["test images"]) for row in domains] == [
        ("seen", 8, 4),
        ("music", 8, 4),
    ]
    code, _, said = unseen(
        "run", "cog-v2", "--set", f"levels={place / 'mine.toml'}", "--backbone", place / "net.py", "--set",
        "preprocessing=own", "--set", "logistic.protocol=cog-v2-short", "--shots", "all", "--seeds", 1, "--workers", 1,
        "--out", place / "run",
    )  # fmt: skip
    assert code == 0, said
    run = read_run(place / "run")
    assert [(domain.name, domain.title, domain.seen) for domain in run.domains] == [
        ("seen", "seen", True),
        ("music", "music", False),
    ]
    assert run.splits is not None
    assert run.splits.test == 2
    assert {score.domain for score in run.scores} == {"seen", "music"}
    # The folder of a run may have come from somebody else: its backbones are not run for being named there.
    code, _, said = unseen("run", place / "run", "--probes", "fine-tuned", "--out", place / "run")
    assert (code, "net.py" in said, "--allow-code" in said) == (2, True, True)
    (place / "images/violin/copy.png").write_bytes((place / "images/violin/0.png").read_bytes())
    (place / "images/violin/again.png").write_bytes((place / "images/violin/0.png").read_bytes())
    (place / "images/violin/more.png").write_bytes((place / "images/violin/0.png").read_bytes())
    code, said, _ = unseen("ls", "domains", place / "mine.toml", "--json")
    assert (code, "in training too" in json.loads(said)["problems"][0]) == (2, True)

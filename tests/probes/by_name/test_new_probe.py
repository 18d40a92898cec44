"""A probe is one file: put beside the others, it is listed and runs wherever probes run."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unseen as package
from tiny_imagenet import LEVELS
from unseen.probes import by_name
from unseen.runs.record import read_run
from unseen.runs.results import RESULTS

MAJORITY = """
from dataclasses import dataclass
from typing import ClassVar
from unseen.probes.probe import DrawnProbe

@dataclass(frozen=True)
class Majority(DrawnProbe):
    name: ClassVar[str] = "majority"
    title: ClassVar[str] = "the most frequent class, or the least"
    default_shots: ClassVar[tuple[int | None, ...]] = (2, None)

    def variants(self, data):
        return 2

    def fit_drawn(self, data, seed):
        counts = data.y_train.bincount()
        for name, guess in (("most", counts.argmax()), ("least", counts.argmin())):
            share = float((data.y_test == guess).float().mean())
            yield f"majority-{name}", [("top1", share)], {"guess": int(guess)}

PROBE = Majority
"""
MOST, LEAST = 0.5, 0.125
"""Shares of the test images of the two classes."""
Command = Callable[..., Any]


@pytest.fixture
def majority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "probes"
    folder.mkdir()
    (folder / "majority.py").write_text(MAJORITY)
    monkeypatch.setattr(by_name, "__path__", [*by_name.__path__, str(folder)])
    by_name.all_probes.cache_clear()
    yield
    by_name.all_probes.cache_clear()


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """Three concepts of one level, with 20, 15 and 5 images, and 8, 6 and 2 to test on."""
    folder = tmp_path / "features" / "l1"
    folder.mkdir(parents=True)
    names, rng = sorted(LEVELS[1]), np.random.default_rng(0)
    for split, counts in (("train", (20, 15, 5)), ("test", (8, 6, 2))):
        y = np.repeat(np.arange(3), counts)
        X = 2 * np.eye(6)[y] + rng.standard_normal((len(y), 6))
        np.savez(folder / f"{split}.npz", X=X.astype(np.float32), y=np.array(names)[y])
    return folder


def arrays(features: Path) -> list[Any]:
    return [np.load(features / f"{split}.npz")[name] for split in ("train", "test") for name in ("X", "y")]


def test_in_python_and_on_the_command_line(majority: None, features: Path, unseen: Command, tmp_path: Path) -> None:
    result = package.probe(*arrays(features), probe="majority", shots="all")
    assert {score.probe: score.value for score in result.scores} == {"majority-most": MOST, "majority-least": LEAST}
    assert package.probes.Majority.name == "majority"
    files = (features / "train.npz", features / "test.npz")
    said = unseen("probe", *files, "--probes", "majority", "--shots", "all", "--out", tmp_path / "out", "--json")
    scores = {score["probe"]: score["value"] for score in json.loads(said.out)["scores"]}
    assert scores == {"majority-most": MOST, "majority-least": LEAST}
    [row] = [row for row in json.loads(unseen("ls", "probes", "--json").out) if row["probe"] == "majority"]
    assert (row["input"], row["labels"], row["metrics"]) == ("vectors", "class", "top1")


def test_in_a_study_of_levels(majority: None, features: Path, unseen: Command, tmp_path: Path) -> None:
    """With others that no study had before, by the command, and again from Python, which has nothing left to do."""
    rows = [f"1,{rank},{wnid},{name},0.5,n02123045,12" for rank, (wnid, name) in enumerate(LEVELS[1].items())]
    levels, out = tmp_path / "levels.csv", tmp_path / "run"
    levels.write_text("\n".join(["level,rank,wnid,name,similarity,nearest,images", *rows, ""]))
    probes = ["majority", "knn", "ridge", "linear"]
    words = (
        "run", "cog-v2", "--features", features.parent, "--backbone", "mine", "--set", f"levels={levels}",
        "--datasets", "l1", "--shots", "2,all", "--seeds", 2, "--workers", 1, "--probes", ",".join(probes), "--out",
        out,
    )  # fmt: skip
    answer = unseen(*words)
    assert answer.code == 0, answer.err
    scores = read_run(out).scores
    found = {(s.probe, s.shots, s.seed): s.value for s in scores if s.probe.startswith("majority")}
    # It draws nothing of all samples, so they are taken once, and its two shots once for each seed.
    assert found["majority-most", None, 0] == MOST
    assert found["majority-least", None, 0] == LEAST
    assert {(shots, seed) for _, shots, seed in found} == {(2, 0), (2, 1), (None, 0)}
    expected = package.probe(*arrays(features), probe="ridge").scores[0]
    whole = [score for score in scores if score.shots is None]
    assert [s.value for s in whole if s.probe == "ridge"] == [expected.value]
    neighbours = {s.metric: s.value for s in package.probe(*arrays(features), probe="knn").scores}
    assert {s.metric: s.value for s in whole if s.probe == "knn-20"} == neighbours
    linear = [s for s in package.probe(*arrays(features), probe="linear", seeds=2).scores if s.metric == "top1"]
    mine = [s for s in whole if s.probe == "linear" and s.metric == "top1"]
    assert [(s.seed, s.value, s.protocol) for s in mine] == [(s.seed, s.value, "ericsson-2021") for s in linear]
    before = {path.name: path.stat().st_mtime_ns for path in (out / RESULTS).iterdir()}
    study = package.study("cog-v2", levels=levels, datasets=["l1"], shots=[2, "all"], seeds=2, probes=probes)
    package.run(study, "mine", features=features.parent, out=out, progress=False)
    assert {path.name: path.stat().st_mtime_ns for path in (out / RESULTS).iterdir()} == before

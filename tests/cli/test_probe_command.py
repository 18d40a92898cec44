"""`unseen probe --probes NAME`: every probe of feature vectors writes a run with its page and its table."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from unseen.api.probing import probe
from unseen.probes.by_name import feature_probes
from unseen.runs.record import read_run

Unseen = Callable[..., Any]
SLOW = {"logistic", "mlp", "pca"}
"""Probes with a search, which have tests of their own."""
LONG = {"dinov2-linear"}
"""A probe whose steps are as many for few images as for ImageNet."""
NAMES = [
    pytest.param(name, marks=[pytest.mark.long_suite] if name in LONG else [])
    for name in sorted({*feature_probes()} - SLOW)
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Features of six classes, of which each has 20 training and 10 test images."""
    rng = np.random.default_rng(0)
    for split, each in (("train", 20), ("test", 10)):
        y = np.arange(6).repeat(each)
        np.savez(tmp_path / f"{split}.npz", X=np.eye(8)[y] + 0.3 * rng.normal(size=(len(y), 8)), y=y)
    return tmp_path / "train.npz", tmp_path / "test.npz"


@pytest.mark.parametrize("name", NAMES)
def test_a_probe_by_name_is_a_run(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    seeds = ("--set", "kmeans.seeds=2") if name == "kmeans" else ("--seeds", 2)  # a study fits k-means once
    words = ("probe", *files, "--probes", name, *seeds, "--workers", 1, "--out", tmp_path / "run")
    answer = unseen(*words)
    assert answer.code == 0, answer.err
    (X, y), (X_test, y_test) = ((found["X"], found["y"]) for found in map(np.load, files))
    scores = probe(X, y, X_test, y_test, probe=name, seeds=2, device="cpu", progress=False).scores
    expected = {(score.probe, score.shots, score.seed, score.metric): score.value for score in scores}
    run = read_run(tmp_path / "run")
    assert {(s.probe, s.shots, s.seed, s.metric): s.value for s in run.scores} == pytest.approx(expected)
    table = pd.read_csv(tmp_path / "run/scores.csv", dtype={"shots": str})
    assert set(table["metric"]) == {metric for *_, metric in expected}
    metric = "top1" if "top1" in set(table["metric"]) else table["metric"].iloc[0]
    mean = table.loc[table["metric"] == metric, "mean"].iloc[0]
    assert any(text in answer.out for text in (f"{100 * mean:.1f}", f"{mean:.3f}"))
    page = re.sub(r"<[^>]+>", "", (tmp_path / "run/report.html").read_text())
    assert f"{table['probe'].iloc[0]} probe" in page
    assert "probe: ," not in page
    assert "protocol:" not in page

    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run/results").iterdir()}
    answer = unseen(*words)
    assert answer.code == 0
    assert "to do" not in answer.err
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run/results").iterdir()} == before


def test_one_accuracy_is_not_shown_twice(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path) -> None:
    assert unseen("probe", *files, "--probes", "knn", "--workers", 1, "--out", tmp_path / "run").code == 0
    sections = re.findall(r'<section id="([^"]+)"', (tmp_path / "run/report.html").read_text())
    assert "other-probes" not in sections
    assert sections[-1] == "provenance"

"""Intervals over concepts of a run, from the hits that its results have."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from run_folders import probe_files

from unseen.cli.running import finish_run
from unseen.features.about import BackboneAbout
from unseen.metrics.paired.crossed import crossed
from unseen.metrics.paired.units import concept_accuracies
from unseen.runs.data import ConceptHits, RunData
from unseen.runs.kept_labels import labelled
from unseen.runs.merge import merge_runs
from unseen.runs.record import read_results, read_run
from unseen.runs.results import RESULTS
from unseen.runs.setup import Extraction

CLASSES, EACH = 8, 12


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A probe with two seeds of features whose concepts differ in how blurred they are."""
    folder = tmp_path_factory.mktemp("concepts")
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(CLASSES), EACH)
    centres = rng.standard_normal((CLASSES, 6))
    for split in ("train", "test"):
        blur = np.linspace(0.2, 2.5, CLASSES)[y, None]
        np.savez(folder / f"{split}.npz", X=centres[y] + blur * rng.standard_normal((len(y), 6)), y=y)
    files = folder / "train.npz", folder / "test.npz"
    probe_files(*files, folder / "run", backbone="mine", domain="blobs", shots=[1, "all"], seeds=2)
    finish_run(folder / "run", quiet=True)
    return folder / "run"


def test_each_setting_has_the_interval_of_its_hits(run: Path) -> None:
    data = read_run(run)
    results = read_results(run)
    assert set(data.concept_intervals) == {("mine", "blobs", shots) for shots in ("1", "all")}
    for shots, name in ((1, "1"), (None, "all")):
        pairs = [labelled(run / RESULTS, r) for r in results if r.setting[0] == shots]
        labels = pairs[0][0]
        accuracy, sizes = concept_accuracies(np.stack([hits for _, hits in pairs]), labels.labels)
        expected = crossed(accuracy, sizes=sizes).interval()
        found = data.concept_intervals["mine", "blobs", name]
        assert (found.value, found.low, found.high) == pytest.approx(
            (expected.value, max(0.0, expected.low), min(1.0, expected.high))
        )
        top1 = np.mean([s.value for s in data.scores if (s.shots, s.metric) == (shots, "top1")])
        assert found.value == pytest.approx(top1)
        assert found.high - found.low > 0.1  # concepts are unlike, as seeds are not


def test_the_table_of_a_run_has_them(run: Path) -> None:
    table = pd.read_csv(run / "scores.csv").set_index(["shots", "metric"])
    for (*_, shots), interval in read_run(run).concept_intervals.items():
        found = table.loc[(shots, "top1")]
        assert (found["concept_low"], found["concept_high"]) == pytest.approx((interval.low, interval.high))
    assert table["concept_low"].notna().sum() == 2


def test_a_run_whose_labels_were_not_kept_has_none(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    shutil.rmtree(tmp_path / "run/tests")
    data = read_run(tmp_path / "run")
    assert data.scores
    assert data.concept_intervals == {}


def hits(seed: int, correct: tuple[int, ...], concepts: tuple[str, ...] = ("a", "b", "c")) -> ConceptHits:
    return ConceptHits("mine", "blobs", "all", seed, concepts, correct, (10,) * len(correct))


def part(data: RunData, seed: int, *found: ConceptHits) -> RunData:
    return replace(data, scores=[s for s in data.scores if s.seed == seed], concept_hits=found)


def test_seeds_of_two_machines_are_in_one_interval(run: Path) -> None:
    data = read_run(run)
    data = replace(data, backbones=[replace(data.backbones[0], features=Extraction(BackboneAbout(weights="w")))])
    parts = [("one", part(data, 0, hits(0, (9, 5, 1)))), ("two", part(data, 1, hits(1, (8, 6, 2))))]
    merged = merge_runs(parts)
    expected = crossed(np.array([[0.9, 0.5, 0.1], [0.8, 0.6, 0.2]])).interval()
    found = merged.concept_intervals["mine", "blobs", "all"]
    assert (found.low, found.high) == pytest.approx((max(0.0, expected.low), min(1.0, expected.high)))


def test_repetitions_on_other_concepts_have_none(run: Path) -> None:
    data = replace(read_run(run), concept_hits=[hits(1000, (9, 5, 1)), hits(2000, (9, 5, 1), ("b", "c", "d"))])
    assert data.concept_intervals == {}
    assert replace(data, concept_hits=[hits(0, (9,), ("a",))]).concept_intervals == {}

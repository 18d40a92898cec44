"""The metrics of class scores agree with scikit-learn, and one more is one file."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, matthews_corrcoef

from unseen.metrics.by_name import score_metrics

REFERENCES = {
    "macro-f1": lambda y, predictions: f1_score(y, predictions, average="macro", zero_division=0),
    "matthews": matthews_corrcoef,
}
HALF = """
from unseen.metrics.own import OwnMetric


def half(y, predictions):
    return (y == predictions).mean() / 2


METRIC = OwnMetric(
    "half-accuracy", higher_is_better=True, lower=0, upper=1, unit="share", compute=half, title="half of the accuracy"
)
"""
WITH_IT = """
import sys
from unseen.metrics import by_name
by_name.__path__ = [*by_name.__path__, sys.argv.pop(1)]
from unseen.cli.main import run
sys.exit(run())
"""


OF_CLASSES = {"lca-depth", "lca-information", "lca-over-chance"}
"""Those that need to know which classes they are (`test_lca_metrics`)."""


def test_each_has_a_reference() -> None:
    assert {*score_metrics()} == {*REFERENCES} | OF_CLASSES


@pytest.mark.filterwarnings("ignore:A single label:UserWarning")
@pytest.mark.parametrize("name", REFERENCES)
@examples(60)
@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=40))
def test_as_scikit_learn(name: str, pairs: list[tuple[int, int]]) -> None:
    y, predictions = np.array(pairs).T
    metric = score_metrics()[name]
    value = metric.compute(y, predictions)
    assert value == pytest.approx(REFERENCES[name](y, predictions), abs=1e-12)
    assert metric.allows(value, 1e-12)


def test_a_new_one_is_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "metrics"
    folder.mkdir()
    (folder / "half.py").write_text(HALF)
    for split, each in (("train", 6), ("test", 4)):
        y = np.arange(3).repeat(each)
        np.savez(tmp_path / f"{split}.npz", X=np.eye(4)[y], y=y)

    def unseen(*words: object) -> str:
        command = [sys.executable, "-c", WITH_IT, folder, *words]
        said = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
        return said.stdout

    assert "half-accuracy" in unseen("ls", "metrics")
    files, more = (tmp_path / "train.npz", tmp_path / "test.npz"), ("--workers", 1, "--out", tmp_path / "run")
    unseen("probe", *files, "--probes", "knn", "--set", "metrics=half-accuracy", *more)
    table = pd.read_csv(tmp_path / "run/scores.csv").set_index("metric")["mean"]
    assert table["half-accuracy"] == table["top1"] / 2

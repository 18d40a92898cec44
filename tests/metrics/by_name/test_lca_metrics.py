"""Severity of mistakes as a metric of a study: added to a finished run, kept for each image, and compared."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

import unseen as package
from unseen.analyses.core.comparables import comparables
from unseen.errors import UserError
from unseen.metrics.by_name import score_metrics
from unseen.ontology.class_distances import class_distances
from unseen.runs.record import read_run

Unseen = Callable[..., Any]
CATS = ("n02123045", "n02123159", "n02124075", "n02085620", "n02708093")


def arrays(noise: float = 1.0) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    made = {}
    for split, each in (("train", 8), ("test", 12)):
        y = np.arange(len(CATS)).repeat(each)
        X = (np.eye(len(CATS))[y] + noise * rng.normal(size=(len(y), len(CATS)))).astype(np.float32)
        made[split] = X, np.array(CATS)[y]
    return made


@pytest.mark.long_suite  # two studies
def test_it_is_added_to_a_finished_run_and_kept_for_each_image(unseen: Unseen, tmp_path: Path) -> None:
    made = arrays()
    for split, (X, y) in made.items():
        np.savez(tmp_path / f"{split}.npz", X=X, y=y)
    command = ("probe", tmp_path / "train.npz", tmp_path / "test.npz", "--probes", "knn", "--set", "knn.k=1")
    assert unseen(*command, "--out", tmp_path / "run").code == 0
    before = {path.name for path in (tmp_path / "run/results").glob("*.json")}
    assert unseen(*command, "--set", "metrics=lca-information,lca-depth", "--out", tmp_path / "run").code == 0
    after = {path.name for path in (tmp_path / "run/results").glob("*.json")}
    assert before < after
    assert len(after) == len(before) + 2
    (X, y), (X_test, y_test) = made["train"], made["test"]
    unit, unit_test = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, X_test))
    guess = KNeighborsClassifier(1).fit(unit, y).predict(unit_test)
    wrong = guess != y_test
    distances = class_distances(sorted(CATS))
    rows, columns = (np.searchsorted(sorted(CATS), labels) for labels in (y_test, guess))
    data = read_run(tmp_path / "run")
    for by, matrix in distances.by.items():
        [score] = [score for score in data.scores if score.metric == f"lca-{by}"]
        assert score.value == pytest.approx(matrix[rows, columns][wrong].mean())
        [found] = comparables(data, metric=f"lca-{by}").every
        [name] = found.backbones
        values = found.rows(name, [score.seed])
        assert values.shape == (1, len(y_test))
        assert values.mean() == pytest.approx(score.value)
        assert not found.metric.higher_is_better
    table = pd.read_csv(tmp_path / "run/scores.csv")
    assert {"lca-information", "lca-depth"} < {*table["metric"]}


def test_random_mistakes_are_at_chance() -> None:
    """All mistakes, each once: their mean over chance is 1, whatever the distances."""
    compute = score_metrics()["lca-over-chance"].compute
    y, guess = np.divmod(np.arange(25), 5)
    values = compute(y, guess, CATS)
    assert np.isnan(values).tolist() == (y == guess).tolist()
    assert np.nanmean(values) == pytest.approx(1)
    near = compute(np.array([0]), np.array([1]), CATS)
    assert near[0] < 1 < compute(np.array([0]), np.array([4]), CATS)[0]


def test_it_is_not_defined_without_mistakes_and_for_other_classes() -> None:
    (X, y), (X_test, y_test) = arrays(0.01).values()
    result = package.probe(X, y, X_test, y_test, probe="knn", metric="lca-depth")
    assert {*result.to_frame()["metric"]} == {"top1", "top5"}
    with pytest.raises(UserError, match="not in WordNet"):
        package.probe(X, np.char.add("x", y), X_test, np.char.add("x", y_test), probe="knn", metric="lca-depth")

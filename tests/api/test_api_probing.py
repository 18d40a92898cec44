"""`unseen.probe`: every probe by name, against other people's code, with the labels and arguments users have."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

import unseen as package
from unseen.errors import UserError
from unseen.metrics.catalogue import METRICS
from unseen.probes import by_name
from unseen.probes.knn import knn
from unseen.probes.many_shot import ManyShotProtocol
from unseen.probes.protocol import LogisticProtocol
from unseen.probes.sampling import draw_shots, stream

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
QUICK = LogisticProtocol("quick", epochs=3, trials=2, round_size=2)
SMALL = {
    "mlp": package.probes.MLP(hidden=(8, 8), protocol=QUICK),
    "linear": package.probes.Linear(protocol=ManyShotProtocol(steps=3, weakest=1e-2)),
    "logistic": package.probes.Logistic(QUICK),
    "pca": package.probes.PCA(dimensions=(2, 3), protocol=QUICK),
    "centroids": package.probes.Centroids(ways=3, queries=5, episodes=20),
}
"""Probes that take long with their own settings."""


@pytest.fixture(scope="module")
def drawn() -> Arrays:
    """Eight of the 45 concepts of the farthest level, by their names; pixels, which need no network."""
    X, y, X_test, y_test = package.example("l5", backbone="pixels")
    chosen = np.unique(y)[:8]
    train, test = np.isin(y, chosen), np.isin(y_test, chosen)
    return X[train], y[train], X_test[test], y_test[test]


@pytest.fixture(scope="module")
def blobs() -> Arrays:
    rng = np.random.default_rng(0)
    centres = 2 * rng.standard_normal((3, 6))
    y, y_test = np.arange(3).repeat(20), np.arange(3).repeat(10)
    return centres[y] + rng.standard_normal((60, 6)), y, centres[y_test] + rng.standard_normal((30, 6)), y_test


def value(result: Any, metric: str = "top1") -> float:
    [found] = [score.value for score in result.scores if score.metric == metric]
    return float(found)


@pytest.mark.parametrize("k", [1, 5, 20])
def test_neighbours_are_those_of_scikit_learn(drawn: Arrays, k: int) -> None:
    theirs = KNeighborsClassifier(k, metric="cosine", weights=lambda d: np.exp((1 - d) / 0.07))
    expected = theirs.fit(*drawn[:2]).score(*drawn[2:])
    result = package.probe(*drawn, probe=package.probes.KNN(k=k))
    assert value(result) == pytest.approx(expected, abs=1.01 / len(drawn[3]))
    assert value(result) > 0.4


def test_ridge_regression_is_that_of_scikit_learn(drawn: Arrays) -> None:
    result = package.probe(*drawn, probe="ridge")
    details = result.fits[0].details
    theirs = RidgeClassifier(alpha=details["penalty"]).fit(*drawn[:2])
    assert value(result) == pytest.approx(theirs.score(*drawn[2:]), abs=1e-9)
    place = package.probes.Ridge().penalties.index(details["penalty"])
    assert details["leave_one_out"][place] == max(details["leave_one_out"])


def test_the_linear_probe_reaches_the_optimum_of_scikit_learn(drawn: Arrays) -> None:
    protocol = ManyShotProtocol(weakest=1e-1, strongest=1e3, steps=5)
    result = package.probe(*drawn, probe=package.probes.Linear(protocol=protocol), seeds=1)
    details = result.fits[0].details
    assert details["converged"]
    theirs = LogisticRegression(C=1 / details["penalty"], tol=1e-8, max_iter=5000)
    expected = theirs.fit(drawn[0].astype(np.float64), drawn[1]).score(*drawn[2:])
    assert value(result) == pytest.approx(expected, abs=1.01 / len(drawn[3]))


def test_labels_may_be_words_or_integers(drawn: Arrays) -> None:
    names, y = np.unique(drawn[1], return_inverse=True)
    numbers = (drawn[0], 10 * y + 3, drawn[2], 10 * np.searchsorted(names, drawn[3]) + 3)
    lists = (drawn[0], drawn[1].tolist(), drawn[2], drawn[3].astype(object))
    options: dict[str, Any] = {"probe": package.probes.Logistic(QUICK), "seeds": 2, "shots": [4, "all"]}
    results = [package.probe(*arrays, **options) for arrays in (drawn, numbers, lists)]
    assert results[0].scores == results[1].scores == results[2].scores
    assert results[0].classes == tuple(names.tolist())
    assert results[1].classes == tuple(str(10 * number + 3) for number in range(8))


def test_shots_are_drawn_once_per_seed_and_all_samples_need_one_fit(blobs: Arrays) -> None:
    result = package.probe(*blobs, probe=package.probes.KNN(k=3), shots=[4, "all"], seeds=2)
    assert [(fit.shots, fit.seed) for fit in result.fits] == [(4, 0), (None, 0), (4, 1)]
    X, y, X_test, y_test = (torch.from_numpy(array) for array in blobs)
    for fit in result.fits[::2]:
        rows = draw_shots(y, 4, stream(fit.seed, 3))
        assert dict(fit.values)["top1"] == knn(X[rows], y[rows], X_test, y_test, [3]).top1[0]
    few = package.probe(*blobs, probe="knn", shots=1, seeds=1).fits[0]
    assert (few.variant, few.details["neighbours"]) == ("knn-20", 3)


@pytest.mark.parametrize("name", sorted(by_name.feature_probes()))
def test_every_probe_gives_the_same_kind_of_result(blobs: Arrays, name: str) -> None:
    result = package.probe(*blobs, probe=SMALL.get(name, name), seeds=2)
    assert result.probe == name
    assert all(METRICS[score.metric].lower <= score.value <= METRICS[score.metric].upper for score in result.scores)
    assert list(result.to_frame().columns) == ["probe", "protocol", "shots", "seed", "metric", "value"]
    assert len(result.to_frame()) == len(result.scores)
    assert len(result.summary()) == len(result.to_frame().drop_duplicates(["probe", "shots", "metric"]))
    assert len(repr(result)) < 1000
    assert result._repr_html_().count("<tr") == 1 + len(result.summary())
    figure = result.plot()
    assert {x for x, _ in figure.x_ticks} == {x for series in figure.series for x in series.x}
    again = package.probe(*blobs, probe=SMALL.get(name, name), seeds=2)
    assert again.scores == result.scores


def test_probes_are_known_by_name_and_class() -> None:
    expected = {"centroids", "geometry", "kmeans", "knn", "linear", "logistic", "mlp", "pca", "ridge"}
    assert set(by_name.feature_probes()) == expected
    assert set(by_name.all_probes()) >= expected | {"classifier", "fine-tuned"}
    assert {"KNN", "Ridge", "KMeans", "MLP"} <= set(dir(package.probes))
    with pytest.raises(AttributeError, match="Forest"):
        _ = package.probes.Forest


def test_what_callers_get_wrong(blobs: Arrays) -> None:
    X, y, X_test, y_test = blobs
    for arrays, options, message in (
        (blobs, {"probe": "knm"}, "did you mean knn"),
        (blobs, {"probe": 3}, "probe must be a name"),
        (blobs, {"probe": "fine-tuned"}, "for images: unseen concepts --finetune"),
        (blobs, {"probe": "knn", "protocol": "cog-v2"}, "has no protocols"),
        (blobs, {"protocol": "cog-v3"}, "no protocol 'cog-v3'"),
        (blobs, {"probe": "linear", "protocol": "cog-v2"}, "of the probe linear"),
        (blobs, {"probe": "centroids", "shots": "all"}, "shots=5"),
        (blobs, {"probe": "geometry", "shots": 3}, "leave out shots"),
        (blobs, {"probe": "linear", "shots": 1}, "single training sample"),
        ((X, y, X_test, y_test.astype(str)), {}, "strings in one of"),
        ((X, y + 0.5, X_test, y_test), {}, "integers or strings"),
        ((X, y, X_test, np.where(y_test == 1, 7, y_test)), {}, "class 1 has no test sample"),
        ((X[:20], y[:20], X_test[:10], y_test[:10]), {}, "two classes"),
        ((X, y[1:], X_test, y_test), {}, "do not match labels"),
        ((X, y, X_test[:, 1:], y_test), {"probe": "ridge"}, "6 dimensions, but test features have 5"),
        ((X.astype(str), y, X_test, y_test), {}, "numeric arrays"),
    ):
        with pytest.raises(UserError, match=message):
            package.probe(*arrays, **options)  # type: ignore[arg-type]


def test_the_command_gives_what_the_function_gives(blobs: Arrays, unseen: Callable[..., Any], tmp_path: Path) -> None:
    for name, (X, y) in {"train": blobs[:2], "test": blobs[2:]}.items():
        np.savez(tmp_path / f"{name}.npz", X=X, y=y)
    files, out = (tmp_path / "train.npz", tmp_path / "test.npz"), tmp_path / "out"
    said = unseen("probe", *files, "--probe", "ridge", "--shots", "2,all", "--seeds", 2, "--out", out, "--json")
    expected = package.probe(*blobs, probe="ridge", shots=[2, "all"], seeds=2)
    assert [score["value"] for score in json.loads(said.out)] == [score.value for score in expected.scores]
    assert len((out / "ridge-scores.csv").read_text().splitlines()) == 1 + len(expected.scores)
    assert unseen("probe", *files, "--probe", "knn", "--backbone", "mine", "--out", out).out.startswith("mine: ")
    for options in (["--probe", "forest"], ["--probe", "knn", "--workers", "1"], ["--probe", "knn", "--sequential"]):
        assert unseen("probe", *files, *options).code == 2
    short = unseen("probe", *files, "--probe", "knn", "--shots", "50", "--seeds", 1, "--out", out)
    assert (short.code, "20 training samples: with 50 shots" in short.err) == (0, True)
    same = unseen("probe", files[0], files[0], "--probe", "knn", "--out", out)
    assert (same.code, "are the same" in same.err) == (2, True)

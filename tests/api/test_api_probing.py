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
from unseen.probes.samples import SamplesPerClass
from unseen.probes.sampling import draw_shots, stream

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
QUICK = LogisticProtocol("quick", epochs=3, trials=2, round_size=2)
SMALL = {
    "mlp": package.probes.MLP(hidden=(8, 8), protocol=QUICK),
    "linear": package.probes.Linear(protocol=ManyShotProtocol(steps=3, weakest=1e-2)),
    "logistic": package.probes.Logistic(QUICK),
    "pca": package.probes.PCA(dimensions=(2, 3), protocol=QUICK),
    "centroids": package.probes.Centroids(ways=3, queries=5, episodes=20),
    "dinov2-linear": package.probes.DINOv2Linear(steps=20, inputs=("cls1=3:6", "cls4=0:6")),
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


def test_shots_that_classes_lack_are_said_or_skipped(blobs: Arrays) -> None:
    X, y, X_test, y_test = blobs
    kept = np.arange(len(y)) % 20 < np.array([6, 10, 20])[y]
    data = X[kept], y[kept], X_test, y_test
    result = package.probe(*data, probe="knn", shots=[3, 8, 21, 1000], seeds=1)
    assert [(each.code, dict(each.arguments)) for each in result.told] == [
        ("skipped-shots", {"shots": "21 and 1000", "most": 20, "on": ""}),
        ("fewer-samples", {"shots": "8", "fewest": 6, "on": ""}),
    ]
    assert {fit.shots: fit.samples for fit in result.fits} == {
        3: SamplesPerClass(3, 3, 3),
        8: SamplesPerClass(6, 8, 8),
    }
    assert all(sentence in repr(result) for sentence in result.notices)
    assert "(6 to 8 samples per class)" in repr(result)
    assert result.summary().set_index(["shots", "metric"]).loc[("8", "top1"), "fewest_samples"] == 6
    everything = package.probe(*data, probe="knn", seeds=1)
    assert (everything.told, everything.fits[0].samples) == ((), SamplesPerClass(6, 10, 20))
    for probe in by_name.feature_probes().keys() - {"geometry", "retrieval", "spectrum"}:
        with pytest.raises(UserError, match="shots are skipped|shot episodes are skipped"):
            package.probe(*data, probe=probe, shots=1000)


def test_episodes_name_the_classes_that_are_not_drawn(blobs: Arrays) -> None:
    """With the test samples, the classes have 16, 20 and 30 samples."""
    X, y, X_test, y_test = blobs
    kept = np.arange(len(y)) % 20 < np.array([6, 10, 20])[y]
    episodes = package.probes.Centroids(ways=2, queries=10, episodes=20)
    result = package.probe(X[kept], y[kept], X_test, y_test, probe=episodes, shots=[5, 10, 15], seeds=1)
    assert [(each.code, dict(each.arguments)) for each in result.told] == [
        ("skipped-episodes", {"shots": "15", "ways": 2, "needed": 25, "enough": 1, "classes": 3, "on": ""}),
        ("classes-not-drawn", {"shots": "10", "needed": 20, "enough": 2, "classes": 3, "on": ""}),
    ]
    assert [fit.details["classes_drawn"] for fit in result.fits] == [3, 2]


@pytest.mark.parametrize(("ways", "queries", "advice"), [(4, 5, "classes"), (3, 50, "samples"), (3, 10, "fewer shots")])
def test_episodes_without_enough_classes_are_refused_with_advice_that_helps(
    blobs: Arrays, ways: int, queries: int, advice: str
) -> None:
    episodes = package.probes.Centroids(ways=ways, queries=queries, episodes=20)
    with pytest.raises(UserError) as refused:
        package.probe(*blobs, probe=episodes, shots=[40])
    assert advice in str(refused.value).rpartition(";")[2]


@pytest.mark.parametrize("name", sorted(by_name.feature_probes()))
def test_every_probe_gives_the_same_kind_of_result(blobs: Arrays, name: str) -> None:
    result = package.probe(*blobs, probe=SMALL.get(name, name), seeds=2)
    assert result.probe == name
    assert all(METRICS[score.metric].allows(score.value) for score in result.scores)
    columns = ["probe", "protocol", "shots", "seed", "metric", "value"]
    assert list(result.to_frame().columns) == [*columns, "fewest_samples", "median_samples", "most_samples"]
    known = None if name in {"geometry", "retrieval", "spectrum"} else 5 if name == "centroids" else 20
    assert {(s.fewest_samples, s.median_samples, s.most_samples) for s in result.scores} == {(known,) * 3}
    assert len(result.to_frame()) == len(result.scores)
    assert len(result.summary()) == len(result.to_frame().drop_duplicates(["probe", "shots", "metric"]))
    assert len(repr(result)) < 1000
    assert result._repr_html_().count("<tr") == 1 + len(result.summary())
    figure = result.plot()
    assert {x for x, _ in figure.x_ticks} == {x for series in figure.series for x in series.x}
    again = package.probe(*blobs, probe=SMALL.get(name, name), seeds=2)
    assert again.scores == result.scores


def test_probes_are_known_by_name_and_class() -> None:
    expected = {
        "centroids", "dinov2-linear", "geometry", "kmeans", "knn", "linear", "logistic", "mlp", "pca", "retrieval",
        "ridge", "spectrum",
    }  # fmt: skip
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
        (blobs, {"probe": "fine-tuned"}, "fine-tuned needs images, not feature vectors"),
        (blobs, {"probe": "patch-linear"}, "patch-linear needs patches"),
        (blobs, {"probe": "knn", "protocol": "cog-v2"}, "has no protocols"),
        (blobs, {"protocol": "cog-v3"}, "no protocol 'cog-v3'"),
        (blobs, {"probe": "linear", "protocol": "cog-v2"}, "there are ericsson-2021, ericsson-2021-exact"),
        (blobs, {"probe": "centroids", "shots": "all"}, "shots=5"),
        (blobs, {"probe": "geometry", "shots": 3}, "leave out shots"),
        (blobs, {"probe": "spectrum", "shots": 3}, "leave out shots"),
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


@pytest.mark.parametrize("name", sorted(by_name.feature_probes()))
def test_rows_that_are_not_finite_are_those_of_the_array(
    blobs: Arrays, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And both arrays are looked at before anything is fitted."""
    monkeypatch.setattr(by_name.feature_probes()[name], "fit", lambda *_: pytest.fail("it was fitted"))
    for place, array in ((0, "X_train"), (2, "X_test")):
        for kind in (np.float64, np.float16, torch.from_numpy):
            arrays = [each.copy() for each in blobs]
            arrays[place][[7, 23], [0, 3]] = np.nan, -np.inf
            arrays[place] = kind(arrays[place]) if kind is torch.from_numpy else arrays[place].astype(kind)
            with pytest.raises(UserError, match=f"{array} has values that are not finite: rows 7 and 23"):
                package.probe(*arrays, probe=name)


def test_the_command_gives_what_the_function_gives(blobs: Arrays, unseen: Callable[..., Any], tmp_path: Path) -> None:
    for name, (X, y) in {"train": blobs[:2], "test": blobs[2:]}.items():
        np.savez(tmp_path / f"{name}.npz", X=X, y=y)
    files, out = (tmp_path / "train.npz", tmp_path / "test.npz"), tmp_path / "out"
    said = unseen("probe", *files, "--probes", "ridge", "--shots", "2,all", "--seeds", 2, "--out", out, "--json")
    expected = package.probe(*blobs, probe="ridge", shots=[2, "all"], seeds=2)
    found = {(each["shots"], each["seed"]): each["value"] for each in json.loads(said.out)["scores"]}
    assert found == {(score.shots, score.seed): score.value for score in expected.scores}
    assert len((out / "scores.csv").read_text().splitlines()) == 1 + len({score.shots for score in expected.scores})
    named = unseen("probe", *files, "--probes", "knn", "--backbone", "mine", "--out", tmp_path / "mine", "--json")
    assert {each["backbone"] for each in json.loads(named.out)["scores"]} == {"mine"}
    for options in (["--probes", "forest"], ["--probes", "knn", "--set", "knn.x=1"], ["--set", "logistic.protocol=x"]):
        assert unseen("probe", *files, *options).code == 2
    short = unseen("probe", *files, "--probes", "knn", "--shots", "2,50", "--seeds", 1, "--out", out)
    assert (short.code, "50 shots are skipped" in short.out) == (0, True)
    same = unseen("probe", files[0], files[0], "--probes", "knn", "--out", out)
    assert (same.code, "the same features" in same.err) == (2, True)

"""The probe `retrieval` against scikit-learn and a plain loop, on awkward data, in Python and on the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

import unseen as package
from unseen.errors import UserError
from unseen.probes.by_name.retrieval import Retrieval
from unseen.probes.job import Fit
from unseen.probes.probe import ProbeData
from unseen.probes.protocol import Setting

Command = Callable[..., Any]


def samples(n: int, classes: int, seed: int, d: int = 12) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).standard_normal((classes, d))
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    return centres[y] + 1.5 * rng.standard_normal((n, d)), y


def fit(X: Any, y: Any, X_test: Any, y_test: Any, **settings: Any) -> Fit:
    tensors = [torch.as_tensor(each) for each in (X, y, X_test, y_test)]
    [found] = Retrieval(**settings).fit(ProbeData(*tensors, int(max(y)) + 1), [Setting()])
    return found


def plain(
    queries: NDArray[Any], y: NDArray[Any], gallery: NDArray[Any], y_gallery: NDArray[Any], *, leave_one_out: bool
) -> dict[str, list[float]]:
    """One query after another, with scikit-learn's average precision."""
    units = [X / np.linalg.norm(X, axis=1, keepdims=True) for X in (queries, gallery)]
    found: dict[str, list[float]] = {"map-at-r": [], "recall-at-1": [], "map": []}
    for number, label in enumerate(y):
        there = np.arange(len(gallery)) != (number if leave_one_out else -1)
        similar, hits = (units[1] @ units[0][number])[there], (y_gallery == label)[there]
        if not hits.any():
            continue
        order = np.argsort(-similar)
        count, first = int(hits.sum()), hits[order]
        precision = np.cumsum(first) / np.arange(1, len(first) + 1)
        found["map"].append(float(average_precision_score(hits, similar)))
        found["map-at-r"].append(float((precision * first)[:count].sum() / count))
        found["recall-at-1"].append(float(first[0]))
    return found


@pytest.mark.parametrize("gallery", ["test", "train"])
@pytest.mark.parametrize(("n", "classes"), [(120, 4), (60, 25), (40, 2)], ids=["few", "rare", "two"])
def test_matches_scikit_learn(n: int, classes: int, gallery: Any) -> None:
    (X, y), (X_test, y_test) = samples(2 * n, classes, 0), samples(n, classes, 1)
    found = fit(X, y, X_test, y_test, gallery=gallery)
    within = gallery == "test"
    searched = (X_test, y_test) if within else (X, y)
    expected = plain(X_test, y_test, *searched, leave_one_out=within)
    assert dict(found.values) == pytest.approx({name: np.mean(each) for name, each in expected.items()}, abs=1e-6)
    assert found.units is not None
    for name, each in expected.items():
        kept = found.units.arrays[name]
        assert kept.shape == (n,)
        assert kept[~np.isnan(kept)].tolist() == pytest.approx(each, abs=1e-5)
    skipped = int((np.bincount(y_test)[y_test] == 1).sum()) if within else 0
    assert found.details == {
        "queries": n - skipped,
        "skipped": skipped,
        "searched": n - 1 if within else 2 * n,
        "zero_vectors": 0,
    }


DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1), (0, 0))


@examples(40)
@given(st.lists(st.tuples(st.sampled_from(DIRECTIONS), st.integers(0, 2)), min_size=2, max_size=25))
def test_of_equal_similarities_irrelevant_images_come_first(points: list[tuple[tuple[int, int], int]]) -> None:
    """Exact similarities of −1, 0 and 1; vectors of zeros have similarity 0 to all."""
    X, y = np.array([point[0] for point in points], dtype=float), np.array([point[1] for point in points])
    if np.bincount(y).max() < 2:
        return
    found = fit(3 * X, y, 3 * X, y)
    assert found.units is not None
    assert found.details["zero_vectors"] == int((X == 0).all(axis=1).sum())
    for query, label in enumerate(y):
        others = np.flatnonzero(np.arange(len(y)) != query)
        hits = np.array([hit for _, hit in sorted((-(X[row] @ X[query]), bool(y[row] == label)) for row in others)])
        values = {name: each[query] for name, each in found.units.arrays.items()}
        if not hits.any():
            assert all(np.isnan(each) for each in values.values())
            continue
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        assert values["map"] == pytest.approx((precision * hits).sum() / hits.sum())
        assert values["map-at-r"] == pytest.approx((precision * hits)[: hits.sum()].sum() / hits.sum())
        assert values["recall-at-1"] == hits[0]


def test_the_order_of_images_does_not_matter() -> None:
    X, y = samples(80, 5, 0)
    order = np.random.default_rng(0).permutation(80)
    one, other = fit(X, y, X, y), fit(X[order], y[order], X[order], y[order])
    assert dict(one.values) == pytest.approx(dict(other.values), abs=1e-9)
    assert one.units is not None
    assert other.units is not None
    assert one.units.arrays["map"][order] == pytest.approx(other.units.arrays["map"], abs=1e-5)


def test_data_without_anything_to_find_are_refused() -> None:
    X, y = samples(8, 8, 0)
    with pytest.raises(UserError, match="no class has two test images"):
        fit(X, y, X, y)
    assert dict(fit(X, y, X, y, gallery="train").values)["recall-at-1"] == 1
    with pytest.raises(UserError, match="not finite"):
        fit(X, y, np.where(X > 1, np.nan, X), y % 2)
    with pytest.raises(UserError, match="leave out shots"):
        list(Retrieval().fit(ProbeData(*map(torch.as_tensor, (X, y, X, y)), 8), [Setting(shots=1)]))


def test_in_python_classes_with_one_test_image_are_told(tmp_path: Path) -> None:
    (X, y), (X_test, y_test) = samples(60, 6, 0), samples(30, 5, 1)
    X_test, y_test = np.concatenate([X_test, X[:1] + 5]), np.append(y_test, 5)
    result = package.probe(X, y, X_test, y_test, probe="retrieval")
    assert [(each.code, dict(each.arguments)) for each in result.told] == [
        ("queries-skipped", {"shots": "None", "on": "", "skipped": 1, "queries": 31})
    ]
    assert [each.details["skipped"] for each in result.fits] == [1]
    alone = np.arange(6)
    with pytest.raises(UserError, match="none of its 6 classes has two test images"):
        package.probe(X, y, X_test[:6], alone, probe="retrieval")
    searched = package.probe(X, y, X_test[:6], alone, probe=package.probes.Retrieval(gallery="train"))
    assert not searched.told
    assert {score.metric for score in searched.scores} == {"map-at-r", "recall-at-1", "map"}


def test_on_the_command_line(unseen: Command, tmp_path: Path) -> None:
    (X, y), (X_test, y_test) = samples(60, 6, 0), samples(30, 6, 1)
    for split, rows, labels in (("train", X, y), ("test", X_test, y_test)):
        np.savez(tmp_path / f"{split}.npz", X=rows, y=labels)
    files = (tmp_path / "train.npz", tmp_path / "test.npz")
    answer = unseen("probe", *files, "--probes", "retrieval", "--out", tmp_path / "out", "--json")
    assert answer.code == 0, answer.err
    scores = {score["metric"]: score["value"] for score in json.loads(answer.out)["scores"]}
    expected = plain(X_test, y_test, X_test, y_test, leave_one_out=True)
    assert scores == pytest.approx({name: np.mean(each) for name, each in expected.items()}, abs=1e-6)
    assert "Recall@1" in (tmp_path / "out/report.html").read_text()
    wrong = unseen("probe", *files, "--probes", "retrieval", "--set", "retrieval.gallery=val", "--out", tmp_path / "no")
    assert wrong.code == 2

"""Held-out predictions of many targets, against scikit-learn's cross-validation, and the errors of means."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

from unseen.metrics import held_out_many as module
from unseen.metrics.grouped_means import Parts
from unseen.metrics.held_out_many import held_out_many


@pytest.mark.parametrize("columns", [0, 1, 3])
@pytest.mark.parametrize("entries", [2**23, 1], ids=["one batch", "batches"])
def test_leave_one_group_out(columns: int, entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTRIES", entries)
    rng = np.random.default_rng(0)
    folds = rng.integers(0, 6, 40)
    designs = rng.normal(5, 1, (4, 40, columns)) + 100
    targets = designs.sum(axis=2) + rng.normal(0, 1, (4, 40))
    used = rng.random((4, 40)) < 0.8
    designs[~used] = 1e9
    found = held_out_many(designs, np.where(used, targets, np.nan), used, folds)
    assert (np.isnan(found) == ~used).all()
    for target in range(4):
        rows = used[target]
        X = designs[target, rows] if columns else np.zeros((rows.sum(), 1))
        expected = cross_val_predict(
            LinearRegression(), X, targets[target, rows], groups=folds[rows], cv=LeaveOneGroupOut()
        )
        assert np.allclose(found[target, rows], expected)


def test_what_does_not_determine_a_plane_has_no_prediction() -> None:
    rng = np.random.default_rng(0)
    folds = np.arange(8) // 2
    plain = rng.normal(size=(8, 1))
    cases = {
        "constant": np.full((8, 1), 3.0),
        "constant without a fold": np.where(folds == 0, np.arange(8.0), 1.0)[:, None],
        "twice": np.hstack([plain, 2 * plain]),
        "more columns than rows": rng.normal(size=(8, 9)),
    }
    targets, every = rng.normal(size=(1, 8)), np.ones((1, 8), dtype=bool)
    for name, columns in cases.items():
        assert np.isnan(held_out_many(columns[None], targets, every, folds)).all(), name
    assert np.isfinite(held_out_many(plain[None], targets, every, folds)).all()
    assert np.isnan(held_out_many(plain[None], targets, every, np.zeros(8, dtype=np.intp))).all()


@pytest.mark.parametrize("sizes", [[12] * 4, [3] * 12, [20, 8, 4, 4, 2, 2]], ids=str)
def test_intervals_over_groups_cover(sizes: list[int]) -> None:
    """In 1000 simulations of models in groups that differ, 95% intervals contain the mean at least 92 times of 100."""
    rng = np.random.default_rng(0)
    folds = np.repeat(np.arange(len(sizes)), sizes)
    shared = rng.normal(0, 1, (1000, len(sizes)))[:, folds]
    values = shared + rng.normal(0, 1, (1000, len(folds)))
    found = Parts.of(np.ones((1000, len(folds)), dtype=bool), folds).means(values[None])
    within = [
        interval.low <= 0 <= interval.high for interval in (found.estimate(0, draw).interval() for draw in range(1000))
    ]
    assert 0.92 <= np.mean(within) <= 0.995


def test_averages_over_test_sets_have_groups_in_common() -> None:
    """The same values on every test set say no more than on one, and independent ones do."""
    rng = np.random.default_rng(0)
    folds = np.repeat(np.arange(10), 5)
    values = rng.normal(1, 1, (1, 4, 50))
    parts = Parts.of(np.ones((4, 50), dtype=bool), folds)
    same = parts.averages(np.repeat(values[:, :1], 4, axis=1))
    assert same.value[0, 0] == pytest.approx(values[0, 0].mean())
    assert same.error[0, 0] == pytest.approx(parts.means(values).error[0, 0])
    assert parts.averages(values).error[0, 0] < 0.75 * same.error[0, 0]

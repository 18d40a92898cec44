"""Held-out errors against refits in a loop, collinearity against regressions, choices of ID sets."""

import tracemalloc

import numpy as np
import pytest
from scipy import special, stats
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut, cross_val_predict

from unseen.errors import UserError
from unseen.metrics.held_out import held_out_targets
from unseen.metrics.robustness import METHODS, Method, fit_accuracies
from unseen.metrics.robustness_checks import (
    best_pairs,
    collinearity,
    compare_id_sets,
    held_out_predictions,
    usual_subsets,
)


def some_models(n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = special.expit(rng.normal(0, 1, (n, k)))
    return x, special.expit(special.logit(x) @ np.linspace(0.3, 0.9, k) - 0.5 + rng.normal(0, 0.2, n))


@pytest.mark.parametrize(("n", "k"), [(4, 1), (25, 2), (60, 4)])
def test_leave_one_out_matches_scikit_learn(n: int, k: int) -> None:
    x, y = some_models(n, k)
    reference = cross_val_predict(LinearRegression(), special.logit(x), special.logit(y), cv=LeaveOneOut())
    assert np.allclose(held_out_predictions(x, y), special.expit(reference), atol=1e-10)


def test_held_out_groups_match_scikit_learn() -> None:
    x, y = some_models(30, 2)
    groups = np.array(["a", "b", "c"])[np.arange(30) * 7 % 3]
    reference = cross_val_predict(
        LinearRegression(), special.logit(x), special.logit(y), groups=groups, cv=LeaveOneGroupOut()
    )
    assert np.allclose(held_out_predictions(x, y, groups), special.expit(reference), atol=1e-10)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_held_out_matches_the_loop(method: Method) -> None:
    """Each model by a refit without it, the corner of Huber's loss included."""
    x, y = some_models(80, 2)
    held_out = held_out_predictions(x, y, method=method)
    design, target = np.column_stack([method.scale.forward(x), np.ones(80)]), method.scale.forward(y)
    for row in range(0, 80, 9):
        rest = np.arange(80) != row
        assert held_out[row] == pytest.approx(fit_accuracies(x[rest], y[rest], method=method).predict(x[[row]])[0])
        found = np.linalg.lstsq(design[rest], target[rest], rcond=None)[0]
        corner = 1.345 * np.median(np.abs(target[rest] - design[rest] @ found)) / stats.norm.ppf(0.75)
        for _ in range(300 if method.robust else 0):
            root = np.sqrt(np.minimum(1, corner / np.abs(target[rest] - design[rest] @ found)))
            found = np.linalg.lstsq(root[:, None] * design[rest], root * target[rest], rcond=None)[0]
        assert held_out[row] == pytest.approx(float(method.scale.back(design[row] @ found)), abs=1e-8)


def test_nothing_of_a_held_out_model_is_used() -> None:
    """Neither its plane nor the corner of Huber's loss: another OOD accuracy changes only the predictions of others."""
    x, y = some_models(20, 1)
    other = y.copy()
    other[3] = 0.999 - y[3]
    for method in METHODS:
        first, second = (held_out_predictions(x, each, method=method) for each in (y, other))
        assert first[3] == pytest.approx(second[3], abs=1e-12)
        assert not np.allclose(first, second, rtol=0, atol=1e-6)


@pytest.mark.parametrize("folds", [60, 4], ids=["leave one out", "groups"])
@pytest.mark.parametrize("k", [1, 3])
def test_huber_without_a_fold_is_the_minimum_without_it(k: int, folds: int) -> None:
    """Every fold refitted by repeated weighted least squares until nothing moves; noise with heavy tails."""
    rng = np.random.default_rng(k)
    columns, labels = rng.normal(0, 1, (60, k)), np.arange(60) % folds
    target = columns.sum(axis=1) + 0.2 * rng.standard_t(2, 60)
    design = np.column_stack([columns, np.ones(60)])
    held_out = held_out_targets(columns, target, labels, robust=True)
    for fold in range(0, folds, max(1, folds // 10)):
        rest, weights = labels != fold, np.ones(60)
        whole = target[rest] - design[rest] @ np.linalg.lstsq(design[rest], target[rest], rcond=None)[0]
        corner = 1.345 * np.median(np.abs(whole)) / stats.norm.ppf(0.75)
        for _ in range(400):
            scaled = design[rest] * weights[rest, None]
            found = np.linalg.solve(scaled.T @ design[rest], scaled.T @ target[rest])
            weights = corner / np.maximum(np.abs(target - design @ found), corner)
        assert np.allclose(held_out[~rest], design[~rest] @ found, rtol=0, atol=1e-10)


def test_huber_where_newton_does_not_settle_is_refitted(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = some_models(30, 2)
    exact = held_out_predictions(x, y, method=METHODS[1])
    monkeypatch.setattr("unseen.metrics.held_out.STEPS", 1)
    assert np.allclose(held_out_predictions(x, y, method=METHODS[1]), exact, atol=1e-8)


@pytest.mark.parametrize("method", METHODS[:2], ids=lambda method: method.name)
def test_memory_of_held_out_errors_is_linear_in_the_models(method: Method) -> None:
    """A table of models × models would be 800 MB."""
    x, y = some_models(10_000, 2)
    groups = np.arange(10_000) % 2  # two folds of 5000: a hat matrix of one would be 200 MB
    tracemalloc.start()
    try:
        held_out_predictions(x, y, method=method)
        held_out_predictions(x, y, groups, method=method)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6


def test_held_out_refuses_what_cannot_be_refitted() -> None:
    x, y = some_models(3, 2)
    with pytest.raises(UserError, match="too few different models"):
        held_out_predictions(x, y)
    x, y = some_models(10, 1)
    with pytest.raises(UserError, match="too few different models"):
        held_out_predictions(x, y, ["a"] * 10)


def test_variance_inflation_is_that_of_the_regressions() -> None:
    x, _ = some_models(50, 3)
    x[:, 2] = special.expit(special.logit(x[:, 0]) + 0.3 * special.logit(x[:, 2]))
    found = collinearity(x)
    logits = special.logit(x)
    for place in range(3):
        rest = np.delete(logits, place, axis=1)
        r2 = LinearRegression().fit(rest, logits[:, place]).score(rest, logits[:, place])
        assert found.inflation[place] == pytest.approx(1 / (1 - r2))
    assert found.condition == pytest.approx(np.sqrt(np.linalg.cond(np.corrcoef(logits.T))))
    assert found.warning


def test_one_set_is_not_collinear_and_twins_are() -> None:
    x, _ = some_models(20, 1)
    alone = collinearity(x)
    assert (alone.condition, list(alone.inflation), alone.warning) == (pytest.approx(1), [pytest.approx(1)], False)
    twins = collinearity(np.column_stack([x, x]))
    assert twins.condition == np.inf
    assert twins.warning
    with pytest.raises(UserError, match="same accuracy"):
        collinearity(np.full((5, 2), 0.5))


def test_more_sets_do_not_win_by_overfitting() -> None:
    """OOD follows the first set alone; nine further sets of noise lower the fit's own error, not the held-out one."""
    rng = np.random.default_rng(0)
    x = special.expit(rng.normal(0, 1, (14, 10)))
    y = special.expit(0.8 * special.logit(x[:, 0]) + rng.normal(0, 0.1, 14))
    names = [f"set{i}" for i in range(10)]
    compared = compare_id_sets(x, y, names, [["set0"], names])
    assert [found.fit.names for found in compared] == [("set0",), tuple(names)]
    assert compared[1].fit.mae < compared[0].fit.mae
    assert compared[0].held_out < compared[1].held_out
    errors = 100 * np.abs(y - held_out_predictions(x[:, 0], y))
    assert compared[0].held_out == pytest.approx(errors.mean())
    assert compared[0].standard_error == pytest.approx(errors.std(ddof=1) / np.sqrt(14))


def test_the_best_pair_is_the_one_that_made_the_data() -> None:
    x, _ = some_models(40, 5)
    y = special.expit(special.logit(x[:, 1]) + 0.5 * special.logit(x[:, 3]))
    pairs, passed_over = best_pairs(x, y, list("abcde"))
    assert passed_over == {}
    assert len(pairs) == 10
    assert pairs[0].fit.names == ("b", "d")
    assert pairs[0].held_out == pytest.approx(0, abs=1e-8)


def test_usual_subsets() -> None:
    assert usual_subsets(["a"]) == [("a",)]
    assert usual_subsets(["a", "b"]) == [("a",), ("b",), ("a", "b")]
    assert usual_subsets(["a", "b", "c"])[3:] == [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]

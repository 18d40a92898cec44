"""The many-shot probe against a loop over scikit-learn's logistic regressions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from torch import Tensor

from unseen.errors import UserError
from unseen.probes import many_shot as module
from unseen.probes.many_shot import (
    ERICSSON_2021,
    ERICSSON_2021_EXACT,
    PROTOCOLS,
    Labels,
    ManyShotProtocol,
    Metric,
    equal_folds,
    many_shot,
    task_protocol,
)
from unseen.probes.newton.search import Choice, Converge, Stage
from unseen.probes.newton.walk import Solved

FEW = replace(ERICSSON_2021, weakest=1e-3, strongest=1e3, steps=7)
ALL = replace(FEW, converge="all")
SIZES = (120, 60, 150)
Floats = NDArray[np.float64]
Part = tuple[Floats, NDArray[np.int64]]


def data(classes: int = 4, overlap: float = 1.5, seed: int = 0, d: int = 6) -> list[Part]:
    """Three parts of features with a mean and classes of different sizes that overlap."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, d)) * 2
    shares = np.arange(1, classes + 1) / np.arange(1, classes + 1).sum()
    parts = []
    for size in SIZES:
        y = np.concatenate([np.arange(classes), rng.choice(classes, size - classes, p=shares)])
        parts.append((3 + centres[y] + overlap * rng.normal(size=(size, d)), y))
    return parts


def tensors(parts: Sequence[Part]) -> list[tuple[Tensor, Labels]]:
    return [(torch.from_numpy(X).float(), Labels(torch.from_numpy(y))) for X, y in parts]


def reference_fit(X: Floats, y: NDArray[Any], penalty: float) -> LogisticRegression:
    return LogisticRegression(C=1 / penalty, tol=1e-9, max_iter=10_000).fit(X.astype(np.float32).astype(float), y)


def together(train: Part, val: Part) -> Part:
    return np.concatenate([train[0], val[0]]), np.concatenate([train[1], val[1]])


def reference_ece(probabilities: Floats, y: NDArray[Any], bins: int = 15) -> float:
    """As Guo et al. define it, by a plain loop."""
    sure, guess = probabilities.max(axis=1), probabilities.argmax(axis=1)
    total = 0.0
    for number in range(bins):
        inside = (sure > number / bins) & (sure <= (number + 1) / bins)
        if inside.any():
            total += inside.mean() * abs((guess == y)[inside].mean() - sure[inside].mean())
    return total


def reference_temperature(logits: Floats, y: NDArray[Any]) -> float:
    def loss(log_t: float) -> float:
        return float(-log_softmax(logits / np.exp(log_t), axis=1)[np.arange(len(y)), y].mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10}).x))


def test_grid_is_the_papers() -> None:
    grid = ERICSSON_2021.penalties.numpy()
    np.testing.assert_allclose(grid, np.logspace(-6, 5, 45), rtol=1e-12)
    assert set(PROTOCOLS) == {"ericsson-2021", "ericsson-2021-exact"}
    assert (ERICSSON_2021_EXACT.max_iterations, ERICSSON_2021_EXACT.temperature) == (100, "test-folds")
    assert (ERICSSON_2021.converge, ERICSSON_2021_EXACT.converge) == ("chosen", "all")
    assert task_protocol("ericsson-2021") == ERICSSON_2021
    assert task_protocol("ericsson-2021", "all") == replace(ERICSSON_2021, converge="all")
    with pytest.raises(UserError, match="no value of converge 'some'"):
        task_protocol("ericsson-2021", "some")


@pytest.mark.parametrize("metric", ["top1", "mean-per-class"])
def test_matches_scikit_learns_loop(metric: Metric) -> None:
    train, val, test = parts = data()
    found = many_shot(tensors(parts), metric, ALL)

    def score(model: LogisticRegression, X: Floats, y: NDArray[Any]) -> float:
        guess = model.predict(X)
        return float(balanced_accuracy_score(y, guess) if metric == "mean-per-class" else (guess == y).mean())

    grid = np.logspace(-3, 3, 7)
    expected = [score(reference_fit(*train, penalty), *val) for penalty in grid]
    np.testing.assert_allclose(found.validation, expected, atol=1e-9)
    assert found.place == int(np.argmax(expected))
    assert found.penalty == pytest.approx(grid[found.place])
    refit = reference_fit(*together(train, val), found.penalty)
    assert found.score == pytest.approx(score(refit, *test), abs=1e-9)
    assert all(found.converged)
    assert found.refit_converged
    quick = many_shot(tensors(parts), metric, FEW)
    assert quick.place == found.place
    assert quick.score == found.score
    assert quick.converged[quick.place]
    assert None in quick.converged
    assert quick.refit_converged


def test_calibration_on_validation_data() -> None:
    train, val, test = parts = data(overlap=2.5)
    found = many_shot(tensors(parts), "top1", FEW)
    chosen = reference_fit(*train, found.penalty)
    temperature = reference_temperature(chosen.decision_function(val[0]), val[1])
    refit = reference_fit(*together(train, val), found.penalty)
    logits = refit.decision_function(test[0])
    assert found.calibration
    assert found.calibration.temperatures == pytest.approx((temperature,), rel=1e-4)
    assert found.calibration.error == pytest.approx(reference_ece(softmax(logits, axis=1), test[1]), abs=1e-4)
    scaled = reference_ece(softmax(logits / temperature, axis=1), test[1])
    assert found.calibration.scaled_error == pytest.approx(scaled, abs=1e-4)
    assert found.calibration.before.calibration_error == found.calibration.error
    assert sum(found.calibration.after.counts) == len(test[1])


def test_exact_protocol_takes_the_temperature_from_a_fifth_of_the_test_data() -> None:
    train, val, test = parts = data(overlap=2.5)
    found = many_shot(tensors(parts), "top1", replace(FEW, temperature="test-folds"))
    refit = reference_fit(*together(train, val), found.penalty)
    logits, y = refit.decision_function(test[0]), test[1]
    errors, temperatures = [], []
    folds = [fold.numpy() for fold in equal_folds(len(y), 5)]
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(y)), fold)
        temperatures.append(reference_temperature(logits[fold], y[fold]))
        errors.append(reference_ece(softmax(logits[rest] / temperatures[-1], axis=1), y[rest]))
    assert found.calibration
    assert found.calibration.temperatures == pytest.approx(tuple(temperatures), rel=1e-3)
    assert found.calibration.scaled_error == pytest.approx(np.mean(errors), abs=2e-3)


def test_folds_are_equal_and_disjoint() -> None:
    folds = equal_folds(23, 5)
    assert [len(fold) for fold in folds] == [4] * 5
    assert len(set(torch.cat(folds).tolist())) == 20
    with pytest.raises(UserError, match="3 test samples"):
        equal_folds(3, 5)


def average_precision(scores: Floats, shown: NDArray[Any], ignored: NDArray[Any]) -> float:
    """11-point average precision by the definition: the greatest precision at recalls from r on."""
    keep = ~ignored
    scores, shown = scores[keep], shown[keep]
    points = []
    for threshold in scores:
        admitted = scores >= threshold
        points.append((shown[admitted].sum() / shown.sum(), shown[admitted].mean()))
    return float(np.mean([max(p for r, p in points if r >= tenth / 10 - 1e-12) for tenth in range(11)]))


def test_several_classes_an_image() -> None:
    rng = np.random.default_rng(3)
    weights = rng.normal(size=(5, 3))
    parts = []
    for size in (100, 60, 80):
        X = rng.normal(size=(size, 5))
        parts.append((X, (X @ weights + rng.normal(size=(size, 3))) > 0.5, rng.random((size, 3)) < 0.1))
    given = [
        (torch.from_numpy(X).float(), Labels(torch.from_numpy(shown), torch.from_numpy(unsure)))
        for X, shown, unsure in parts
    ]
    found = many_shot(given, "map-11-point", FEW)

    def score(X: Floats, shown: NDArray[Any], test: Sequence[NDArray[Any]], penalty: float) -> float:
        models = [reference_fit(X, shown[:, column], penalty) for column in range(3)]
        scores = [model.decision_function(test[0].astype(np.float32)) for model in models]
        return float(np.mean([average_precision(scores[c], test[1][:, c], test[2][:, c]) for c in range(3)]))

    expected = [score(*parts[0][:2], parts[1], penalty) for penalty in np.logspace(-3, 3, 7)]
    np.testing.assert_allclose(found.validation, expected, atol=1e-9)
    X, shown = (np.concatenate([parts[0][i], parts[1][i]]) for i in (0, 1))
    assert found.score == pytest.approx(score(X, shown, parts[2], found.penalty), abs=1e-9)
    assert found.calibration is None
    with pytest.raises(UserError, match="top1 does not match labels of shape"):
        many_shot(given, "top1", FEW)


def test_edges_and_ties() -> None:
    # Classes so far apart that every penalty is right about all: the weakest of the equally good ones is taken.
    found = many_shot(tensors(data(overlap=0.01)), "top1", replace(FEW, strongest=1.0))
    assert (found.place, found.edge, found.score) == (0, "weakest", 1.0)
    assert replace(found, place=6).edge == "strongest"
    assert replace(found, place=3).edge is None


def test_what_does_not_converge_is_reported() -> None:
    found = many_shot(tensors(data(overlap=2.5)), "top1", replace(FEW, max_iterations=1))
    assert False in found.converged
    assert not found.refit_converged


def test_the_choice_does_not_depend_on_the_tolerance_where_classes_can_be_separated() -> None:
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.data))
    X, y = torch.tensor(digits.data[order]), torch.tensor(digits.target[order])
    parts = [(X[rows], Labels(y[rows])) for rows in (slice(1151), slice(1151, 1438), slice(1438, None))]
    few = replace(ERICSSON_2021, steps=12)
    found, strict = (many_shot(parts, "top1", replace(few, tol=tol)) for tol in (few.tol, few.tol / 1000))
    assert found.refit_converged
    assert (found.place, found.score) == (strict.place, strict.score)
    assert found.calibration is not None
    assert strict.calibration is not None
    assert found.calibration.temperatures == pytest.approx(strict.calibration.temperatures, rel=1e-2)


def test_a_temperature_without_an_optimum_is_said() -> None:
    sure = many_shot(tensors(data(overlap=0.01)), "top1", FEW)
    assert sure.calibration is not None
    assert max(sure.validation) == 1
    assert sure.calibration.unbounded
    unsure = many_shot(tensors(data()), "top1", FEW)
    assert unsure.calibration is not None
    assert not unsure.calibration.unbounded


@pytest.mark.gpu
@pytest.mark.parametrize("protocol", [FEW, replace(FEW, temperature="test-folds")])
def test_a_gpu_gives_the_same_with_labels_that_are_not_on_it(protocol: ManyShotProtocol) -> None:
    parts = tensors(data())
    here = many_shot(parts, "top1", protocol)
    there = many_shot([(X.cuda(), labels) for X, labels in parts], "top1", protocol)
    assert there.validation == pytest.approx(here.validation, abs=0.02)
    assert there.score == pytest.approx(here.score, abs=0.02)


@pytest.mark.parametrize("converge", ["chosen", "all"])
def test_a_probe_that_was_stopped_goes_on_to_the_same_result(converge: Converge) -> None:
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(4).repeat(12)
    parts = [(torch.eye(4)[y] + torch.randn(48, 4, generator=generator), Labels(y)) for _ in range(3)]
    protocol = replace(ERICSSON_2021, steps=23, converge=converge)

    def run(solved: Sequence[tuple[Stage, Solved]]) -> tuple[str, list[tuple[Stage, Solved]]]:
        kept: dict[Stage, list[Solved]] = {"grid": [], "chosen": [], "refit": []}
        for stage, stretch in solved:
            kept[stage].append(stretch)
        seen: list[tuple[Stage, Solved]] = []
        found = many_shot(
            parts, "top1", protocol, solved=kept, watch=lambda stage, stretch, of: seen.append((stage, stretch))
        )
        return repr(found), seen  # to the last bit; empty bins have no mean, which equals nothing

    expected, whole = run([])
    grid = [stretch for stage, stretch in whole if stage == "grid"]
    assert len(grid) == 23 or converge == "chosen"
    for count in (7, len(grid), len(whole) - 1):
        found, again = run(whole[:count])
        assert found == expected
        assert [(stage, each.start) for stage, each in again] == [(stage, each.start) for stage, each in whole[count:]]
    # What was solved on other features, or in another basis of the same, is not taken.
    found, again = run([("grid", replace(stretch, basis="another")) for stretch in grid])
    assert found == expected
    assert again[0][1].start == 0


def test_rows_that_are_not_finite_are_named_by_part_before_anything_is_fitted() -> None:
    for number, name in enumerate(("training", "validation", "test")):
        parts = tensors(data())
        parts[number][0][11, 2] = torch.nan
        with pytest.raises(UserError, match=f"the {name} features contain values that are not finite: row 11"):
            many_shot(parts, "top1", FEW, watch=lambda *_: pytest.fail("it was fitted"))


def test_scores_that_are_not_finite_lose_the_search_and_are_refused_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, judged, choose = tensors(data()), list[float](), module.choose_penalty

    def spoilt(*arguments: Any, **options: Any) -> Choice:
        found, judge = choose(*arguments, **options), arguments[4]
        scores = torch.zeros(len(parts[1][0]), 4)
        scores[0, 0] = torch.inf
        judged.append(judge(scores))
        return replace(found, refit=replace(found.refit, bias=found.refit.bias + torch.inf))

    monkeypatch.setattr(module, "choose_penalty", spoilt)
    with pytest.raises(UserError, match="not finite"):
        many_shot(parts, "top1", FEW)
    assert judged == [0.0]

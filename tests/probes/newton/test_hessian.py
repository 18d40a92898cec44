"""Newton steps: against the Hessian of automatic differentiation, and on classes of any scale against the optimum."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.autograd.functional import hessian
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from unseen.probes.many_shot import ERICSSON_2021, Labels, many_shot
from unseen.probes.newton.hessian import newton_after, newton_direction
from unseen.probes.newton.objective import Problems, centred_eigenbasis, loss_and_residual
from unseen.probes.newton.path import LogisticPath, logistic_path
from unseen.probes.newton.walk import Solved, approach, prepare

PENALTIES = torch.tensor([1e5, 10.0, 1e-2, 1e-6], dtype=torch.float64)


def classes(apart: float, scale: float, *, along_axes: bool = False, seed: int = 0) -> tuple[Tensor, Tensor]:
    """240 samples of 6 classes in 12 dimensions, with class means `apart` deviations from each other."""
    generator = np.random.default_rng(seed)
    means = apart * (np.eye(6, 12) if along_axes else generator.normal(size=(6, 12)))
    y = np.repeat(np.arange(6), 40)
    return torch.from_numpy(scale * (means[y] + generator.normal(size=(240, 12)))), torch.from_numpy(y)


def excess(found: LogisticPath, X: Tensor, y: Tensor) -> list[float]:
    """An upper bound of each objective's relative distance from its optimum, from the definitions in NumPy.

    The objective is λ-strongly convex in the weights, so that it is at most |∂W|²/2λ above its minimum for its biases.
    Losses and residuals are those of the margins, which are exact however small they are.
    """
    x, labels, one_hot = X.numpy(), y.numpy(), np.eye(int(y.max()) + 1, dtype=bool)[y.numpy()]
    bounds = []
    for W, b, penalty in zip(found.weights.numpy(), found.bias.numpy(), found.penalties.tolist(), strict=True):
        scores = (x - x.mean(0)) @ W + (b + x.mean(0) @ W)
        odds = np.where(one_hot, 0, np.exp(np.minimum(scores - scores[range(len(x)), labels, None], 700)))
        missed = odds.sum(1)
        residual = np.where(one_hot, -missed[:, None], odds) / (1 + missed)[:, None]
        value = np.log1p(missed).sum() + penalty / 2 * (W**2).sum()
        slope = (x - x.mean(0)).T @ residual + penalty * W
        bounds.append(float((slope**2).sum() / (2 * penalty) / value))
    return bounds


@pytest.mark.parametrize("several", [False, True])
def test_the_direction_is_that_of_the_whole_hessian(several: bool) -> None:
    draw = torch.Generator().manual_seed(0)
    n, r, k, p = 40, 5, 1 if several else 4, 2
    features = torch.cat([torch.randn(n, r - 1, generator=draw), torch.ones(n, 1)], dim=1).double()
    shown = (torch.rand(n, p, 1, generator=draw) < 0.4).double()
    labels = shown if several else torch.arange(n) % k
    penalties = torch.tensor([0.1, 5.0]).double()[:, None, None].repeat(1, r, 1)
    problems = Problems(features, features.square().sum(0), labels, penalties)
    coefs = problems.without_common_part(torch.randn(p, r, k, generator=draw).double())

    def objective(flat: Tensor) -> Tensor:
        scores = problems.scores(flat.view(p, r, k))
        losses = (
            binary_cross_entropy_with_logits(scores, labels, reduction="sum")
            if several
            else cross_entropy(scores.transpose(1, 2), labels[:, None].expand(-1, p), reduction="sum")
        )
        return losses + problems.penalty(flat.view(p, r, k)).sum()

    scores = problems.scores(coefs)
    gradient = problems.gradient(coefs, loss_and_residual(scores, labels)[1])
    direction, good = newton_direction(problems, scores, gradient)
    whole = hessian(objective, coefs.flatten())  # type: ignore[no-untyped-call]
    expected = -torch.linalg.solve(whole, gradient.flatten()).view(p, r, k)
    assert good.all()
    torch.testing.assert_close(direction, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 20.0])
@pytest.mark.parametrize(
    "scale", [1e-6, *(pytest.param(each, marks=pytest.mark.long_suite) for each in (1e-3, 1.0, 1e3)), 1e6]
)
@pytest.mark.parametrize("apart", [1.0, 10.0], ids=["just separable", "well separated"])
def test_classes_of_any_scale_are_solved_to_their_optimum(apart: float, scale: float, offset: float) -> None:
    X, y = classes(apart, scale)
    X += offset * scale
    found = logistic_path(X, y, PENALTIES)
    assert found.converged.all()
    assert int(found.iterations.sum()) < 250
    for penalty, value in zip(PENALTIES.tolist(), excess(found, X, y), strict=True):
        if penalty / scale**2 < 1e10:  # beyond, weights nearly vanish and the bound is one of rounding
            assert value < 1e-3


@pytest.mark.parametrize("offset", [0.0, 20.0])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_optimum_is_that_of_scikit_learn_at_every_scale(scale: float, offset: float) -> None:
    X, y = classes(1.0, scale)
    unit, ratios = (X / scale).numpy(), torch.tensor([100.0, 1.0, 1e-3], dtype=torch.float64)
    found = logistic_path(X + offset * scale, y, ratios * scale**2, tol=1e-9)
    for place, ratio in enumerate(ratios.tolist()):
        # Dividing features and multiplying weights by the scale divides the penalty by its square.
        model = LogisticRegression(C=1 / ratio, solver="newton-cholesky", tol=1e-12, max_iter=500).fit(unit, y.numpy())
        np.testing.assert_allclose(found.weights[place].T * scale, model.coef_, rtol=1e-5, atol=1e-6)
        given = ((X + offset * scale) @ found.weights[place] + found.bias[place]).softmax(1)
        np.testing.assert_allclose(given, model.predict_proba(unit), rtol=0, atol=1e-6)


@pytest.mark.parametrize("apart", [3.0, 10.0])
def test_the_probe_takes_few_iterations_at_every_scale(apart: float) -> None:
    for scale in (1.0, 1e6 / apart):
        X, y = classes(apart, scale, along_axes=apart == 3)
        held = torch.arange(240) % 5 == 0
        parts = [(X[~held], Labels(y[~held])), (X[held], Labels(y[held])), (X, Labels(y))]
        result = many_shot(parts, "top1", ERICSSON_2021)
        assert result.refit_converged
        assert False not in result.converged
        assert sum(result.iterations) < 400


def test_only_problems_with_few_coefficients_take_newton_steps() -> None:
    def after(n: int, r: int, k: int) -> int | None:
        problems = Problems(torch.empty(n, r), torch.ones(r), torch.zeros(n), torch.zeros(1, r, 1))
        return newton_after(problems, k)

    assert after(240, 13, 6) == 22
    assert after(5000, 65, 10) is not None
    assert after(3000, 65, 40) == 838  # before the 1000 iterations that are allowed
    assert after(5000, 2049, 10) is None


def many_coefficients(scale: float, n: int, d: int, c: int, seed: int = 2) -> tuple[Tensor, Tensor]:
    """Classes whose means differ by about half a deviation in every dimension."""
    generator = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = 0.35 * generator.normal(size=(c, d))[y] + generator.normal(size=(n, d))
    return torch.from_numpy(scale * X), torch.from_numpy(y)


@pytest.mark.parametrize(
    "scale", [1.0, *(pytest.param(each, marks=pytest.mark.long_suite) for each in (1e3, 1e6)), 1e8]
)
def test_many_coefficients_of_any_scale_are_solved_to_their_optimum(scale: float) -> None:
    """Large features make the strongest penalty so weak that it is approached from stronger ones."""
    X, y = many_coefficients(scale, 1500, 100, 10)
    penalties = torch.logspace(-6, 5, 45, dtype=torch.float64)[::6]
    found = logistic_path(X, y, penalties)
    assert found.converged.all()
    assert int(found.iterations.sum()) < 700
    assert max(excess(found, X, y)) < 1e-3


@pytest.mark.parametrize("scale", [pytest.param(1.0, marks=pytest.mark.long_suite), 1e6])
def test_classes_that_are_nearly_separable_are_solved_with_many_coefficients(scale: float) -> None:
    X, y = many_coefficients(scale, 900, 40, 25)
    penalties = scale**2 * torch.tensor([1.0, 1e-3, 1e-6], dtype=torch.float64)
    found = logistic_path(X, y, penalties)
    assert found.converged.all()
    assert float(found.objective[-1]) == pytest.approx(579.1, abs=0.1)  # without Newton steps, 581.4 at the end
    assert max(excess(found, X, y)[:2]) < 1e-3


def test_penalties_are_approached_only_if_they_are_weak_for_the_features() -> None:
    X, y = many_coefficients(1.0, 1500, 100, 10)
    for scale, decades in ((1e-6, 0), (1.0, 0), (100.0, 0), (1e6, 9)):
        task = prepare(centred_eigenbasis(scale * X), y, 1e5, 1e-6, 1000, torch.float64)
        assert len(approach(task, 1e5)) == decades


def test_a_path_that_was_approached_is_continued_with_the_same_result() -> None:
    X, y = many_coefficients(1e6, 300, 20, 5)
    parts = list[Solved]()
    whole = logistic_path(X, y, PENALTIES, watch=parts.append)
    for kept in range(len(parts)):
        again = logistic_path(X, y, PENALTIES, solved=parts[:kept])
        assert torch.equal(again.weights, whole.weights)

"""The path of logistic regressions: against scikit-learn and SciPy in double precision, and on awkward input."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimise
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.probes.newton.lbfgs import MEMORY, Curvature
from unseen.probes.newton.objective import centred_eigenbasis
from unseen.probes.newton.path import LogisticPath, logistic_path
from unseen.probes.newton.walk import extrapolation_weights

WHOLE = torch.logspace(-6, 5, 12, dtype=torch.float64)
MIDDLE = torch.tensor([30.0, 3.0, 0.3, 0.03], dtype=torch.float64)


def problem(n: int, d: int, c: int, noise: float = 1.0, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Non-negative features with a decaying spectrum, some classes rarer than others."""
    generator = Generator().manual_seed(seed + n + d)
    y = (c * torch.rand(n, generator=generator) ** 1.5).long()
    y[:c] = torch.arange(c)
    scale = torch.arange(1, d + 1) ** -0.5
    latent = (torch.randn(c, d, generator=generator)[y] + noise * torch.randn(n, d, generator=generator)) * scale
    return torch.relu(latent @ torch.randn(d, d, generator=generator) / math.sqrt(d) + 0.3).double(), y


def loss_and_residual(z: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Summed loss of (n, c) scores and its derivative, from the definitions."""
    if y.ndim == 1:
        target = np.eye(z.shape[1])[y]
        top = z.max(1, keepdims=True)
        log_sum = top[:, 0] + np.log(np.exp(z - top).sum(1))
        return float((log_sum - (z * target).sum(1)).sum()), np.exp(z - log_sum[:, None]) - target
    return float((np.logaddexp(0, z) - y * z).sum()), np.exp(-np.logaddexp(0, -z)) - y


def objective(X: Tensor, y: Tensor, W: Tensor, b: Tensor, penalty: float) -> float:
    """The objective as documented, in NumPy."""
    x, w = X.double().numpy(), W.double().numpy()
    return loss_and_residual(x @ w + b.double().numpy(), y.numpy())[0] + 0.5 * penalty * float((w**2).sum())


def gradient_norm(X: Tensor, y: Tensor, W: Tensor, b: Tensor, penalty: float) -> float:
    """The relative gradient norm as documented, in NumPy: by the weights and biases for (x − μ)/σ."""
    x, labels, w = X.double().numpy(), y.numpy(), W.double().numpy()
    mean = x.mean(0)
    sigma = np.sqrt(((x - mean) ** 2).sum(1).mean())
    unit = (x - mean) / sigma

    def norms(weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
        residual = loss_and_residual(unit @ weights + bias, labels)[1]
        gradient = np.concatenate([unit.T @ residual + penalty / sigma**2 * weights, residual.sum(0)[None]])
        return np.linalg.norm(gradient) if labels.ndim == 1 else np.linalg.norm(gradient, axis=0)

    share = np.bincount(labels) / len(x) if labels.ndim == 1 else labels.mean(0)
    best_bias = np.log(share) if labels.ndim == 1 else np.log(share / (1 - share))
    return float(np.max(norms(sigma * w, b.double().numpy() + mean @ w) / norms(np.zeros_like(w), best_bias)))


def by_scikit_learn(X: Tensor, y: Tensor, penalties: Tensor, solver: str = "lbfgs") -> tuple[Tensor, Tensor]:
    """(p, d, c) weights and (p, c) biases by a warm-started loop from the strongest penalty on."""
    model = LogisticRegression(solver=solver, tol=1e-9, max_iter=20000, warm_start=True)
    found = {}
    for penalty in sorted(penalties.tolist(), reverse=True):
        model.set_params(C=1 / penalty).fit(X.double().numpy(), y.numpy())
        found[penalty] = model.coef_.T.copy(), model.intercept_.copy()
    weights, biases = zip(*(found[penalty] for penalty in penalties.tolist()), strict=True)
    return torch.tensor(np.stack(weights)), torch.tensor(np.stack(biases))


def by_scipy(X: Tensor, y: Tensor, columns: int, penalty: float) -> float:
    """The lowest value of the documented objective that SciPy finds from zero."""
    x, d = X.double().numpy(), X.shape[1]

    def value_and_slope(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = flat[: d * columns].reshape(d, columns), flat[d * columns :]
        loss, residual = loss_and_residual(x @ w + b, y.numpy())
        slope = np.concatenate([(x.T @ residual + penalty * w).ravel(), residual.sum(0)])
        return loss + 0.5 * penalty * float((w**2).sum()), slope

    start = np.zeros((d + 1) * columns)
    options = {"maxiter": 50000, "maxfun": 100000, "ftol": 1e-16, "gtol": 1e-9}
    return float(scipy_minimise(value_and_slope, start, jac=True, method="L-BFGS-B", options=options).fun)


def assert_honest(found: LogisticPath, X: Tensor, y: Tensor, tol: float = 1e-6) -> None:
    """What the result says of itself is so: objective, gradient norm, convergence."""
    assert found.converged.all()
    for i, penalty in enumerate(found.penalties.tolist()):
        fit = found.weights[i], found.bias[i], penalty
        norm = gradient_norm(X, y, *fit)
        assert float(found.objective[i]) == pytest.approx(objective(X, y, *fit), rel=1e-9, abs=1e-9)
        assert float(found.gradient_norm[i]) == pytest.approx(norm, rel=1e-3, abs=1e-12)
        assert norm <= 1.001 * tol


def assert_no_higher(ours: Tensor | float, theirs: float) -> None:
    """An objective is as low as another optimiser's, to a part in 100,000 of itself, however small it is."""
    assert 0 < float(ours) <= theirs * (1 + 1e-5)


@pytest.mark.parametrize(
    ("n", "d", "c", "noise"),
    [(60, 8, 3, 2.0), (40, 120, 5, 1.0), (200, 30, 10, 1.5), (500, 5, 4, 3.0), (130, 64, 10, 0.2)],
    ids=["small", "fewer rows than dimensions", "ten classes", "overlapping", "separable"],
)
def test_the_same_objective_as_scikit_learn(n: int, d: int, c: int, noise: float) -> None:
    X, y = problem(n, d, c, noise)
    found = logistic_path(X, y, WHOLE)
    assert_honest(found, X, y)
    weights, biases = by_scikit_learn(X, y, WHOLE)
    for i, penalty in enumerate(WHOLE.tolist()):
        theirs = objective(X, y, weights[i], biases[i], penalty)
        assert_no_higher(found.objective[i], theirs)


def test_the_same_weights_as_scikit_learn_where_they_are_well_determined() -> None:
    X, y = problem(200, 20, 6, 1.5)
    found = logistic_path(X, y, MIDDLE, tol=1e-9)
    weights, biases = by_scikit_learn(X, y, MIDDLE, "newton-cholesky")
    torch.testing.assert_close(found.weights, weights, rtol=1e-5, atol=1e-6)
    # Biases are determined up to a constant.
    torch.testing.assert_close(
        found.bias - found.bias.mean(1, keepdim=True), biases - biases.mean(1, keepdim=True), rtol=1e-5, atol=1e-6
    )


def test_real_features_on_their_own_scale() -> None:
    digits = load_digits()
    X, y = torch.tensor(digits.data), torch.tensor(digits.target)
    found = logistic_path(X, y, WHOLE)
    assert_honest(found, X, y)
    some = slice(7, None, 2)
    weights, biases = by_scikit_learn(X, y, WHOLE[some], "newton-cholesky")
    for i, penalty in enumerate(WHOLE[some].tolist()):
        theirs = objective(X, y, weights[i], biases[i], penalty)
        assert_no_higher(found.objective[some][i], theirs)


@pytest.mark.parametrize("penalty", [1e-6, 1e-2, 1.0, 1e3])
@pytest.mark.parametrize("noise", [0.2, 3.0], ids=["separable", "overlapping"])
def test_two_classes_have_two_columns(penalty: float, noise: float) -> None:
    X, y = problem(80, 6, 2, noise)
    found = logistic_path(X, y, torch.tensor([penalty]))
    assert_honest(found, X, y)
    assert_no_higher(found.objective[0], by_scipy(X, y, 2, float(found.penalties[0])))
    torch.testing.assert_close(found.weights[0, :, 0], -found.weights[0, :, 1], rtol=1e-4, atol=1e-6)
    # scikit-learn's one vector is the difference of ours, at half the penalty.
    single = LogisticRegression(C=2 / penalty, tol=1e-10, max_iter=20000).fit(X.numpy(), y.numpy())
    half = torch.tensor(single.coef_[0] / 2)
    theirs = objective(X, y, torch.stack([-half, half], 1), torch.tensor([0.0, single.intercept_[0]]), penalty)
    assert_no_higher(found.objective[0], theirs)


@pytest.mark.parametrize(("n", "d", "c"), [(90, 10, 4), (30, 50, 3)])
def test_several_labels_a_sample_are_a_problem_a_class(n: int, d: int, c: int) -> None:
    X, first = problem(n, d, c, 1.5)
    y = torch.nn.functional.one_hot(first) | (torch.rand(n, c, generator=Generator().manual_seed(1)) < 0.2)
    found = logistic_path(X, y, WHOLE)
    assert found.weights.shape == (len(WHOLE), d, c)
    assert_honest(found, X, y)
    for label in range(c):
        alone = logistic_path(X, y[:, label : label + 1], WHOLE)
        for i, penalty in enumerate(WHOLE.tolist()):
            model = LogisticRegression(C=1 / penalty, tol=1e-9, max_iter=20000).fit(X.numpy(), y[:, label].numpy())
            w, b = torch.tensor(model.coef_.T), torch.tensor(model.intercept_)
            column = y[:, label : label + 1]
            theirs = objective(X, column, w, b, penalty)
            ours = objective(
                X, column, found.weights[i, :, label : label + 1], found.bias[i, label : label + 1], penalty
            )
            assert_no_higher(ours, theirs)
            assert_no_higher(alone.objective[i], theirs)


@pytest.mark.parametrize("block", [2, 100])
@pytest.mark.parametrize("several", [False, True])
def test_blocks_do_not_change_the_optimum(block: int, several: bool) -> None:
    X, y = problem(120, 15, 5, 2.0)
    labels = torch.nn.functional.one_hot(y) if several else y
    plain = logistic_path(X, labels, MIDDLE, tol=1e-9)
    found = logistic_path(X, labels, MIDDLE, tol=1e-9, block=block)
    assert_honest(found, X, labels, tol=1e-9)
    torch.testing.assert_close(found.weights, plain.weights, rtol=1e-5, atol=1e-6)


def test_penalties_come_back_in_their_order_and_may_repeat() -> None:
    X, y = problem(100, 12, 4, 2.0)
    order = torch.tensor([2, 0, 2, 3, 1])
    plain, found = logistic_path(X, y, MIDDLE), logistic_path(X, y, MIDDLE[order])
    assert torch.equal(found.penalties, MIDDLE[order])
    for name in ("weights", "bias", "objective", "gradient_norm", "iterations", "converged"):
        assert torch.equal(getattr(found, name), getattr(plain, name)[order])
    alone = logistic_path(X, y, MIDDLE[3:])
    assert float(alone.objective[0]) == pytest.approx(float(plain.objective[3]), rel=1e-9)


def test_separable_classes_under_a_tiny_penalty() -> None:
    X, y = problem(200, 40, 4, 0.05)
    found = logistic_path(X, y, WHOLE)
    assert_honest(found, X, y)
    assert ((X @ found.weights[0] + found.bias[0]).argmax(1) == y).all()
    assert float(found.objective[0]) < 1e-4 * 200 * math.log(4)
    assert (found.objective.diff() > 0).all()  # the optimum rises with the penalty
    # Balance: the loss pulls as much as the penalty, whose pull is 1e-11 of the loss's at zero weights.
    for i, penalty in enumerate(WHOLE.tolist()):
        residual = loss_and_residual((X @ found.weights[i] + found.bias[i]).numpy(), y.numpy())[1]
        loss_pull = X.T.numpy() @ residual
        penalty_pull = penalty * found.weights[i].numpy()
        assert np.linalg.norm(loss_pull + penalty_pull) < 0.01 * np.linalg.norm(penalty_pull)


@examples(5)
@given(st.integers(0, 1000), st.sampled_from([0.01, 0.3, 7.0, 200.0]), st.sampled_from([-3.0, 0.0, 50.0]))
def test_shifted_rotated_and_scaled_features_give_the_same_classifier(seed: int, scale: float, shift: float) -> None:
    X, y = problem(60, 7, 3, 2.0)
    generator = Generator().manual_seed(seed)
    rotation = torch.linalg.qr(torch.randn(7, 7, generator=generator, dtype=torch.float64)).Q
    other = scale * (X @ rotation + shift * torch.randn(7, generator=generator, dtype=torch.float64))
    plain = logistic_path(X, y, MIDDLE, tol=1e-9)
    found = logistic_path(other, y, MIDDLE * scale**2, tol=1e-9)
    torch.testing.assert_close(found.objective, plain.objective, rtol=1e-9, atol=0)
    scores, expected = (x @ f.weights + f.bias[:, None] for x, f in ((other, found), (X, plain)))
    torch.testing.assert_close(scores.softmax(2), expected.softmax(2), rtol=0, atol=1e-4)


def test_duplicated_rows_count_twice() -> None:
    X, y = problem(50, 6, 3, 2.0)
    plain = logistic_path(X, y, MIDDLE, tol=1e-9)
    doubled = logistic_path(X.repeat(2, 1), y.repeat(2), 2 * MIDDLE, tol=1e-9)
    torch.testing.assert_close(doubled.weights, plain.weights, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("several", [False, pytest.param(True, marks=pytest.mark.long_suite)])
def test_features_of_any_size(several: bool) -> None:
    X, y = problem(60, 7, 3, 2.0)
    labels = torch.nn.functional.one_hot(y) if several else y
    plain = logistic_path(X, labels, MIDDLE, tol=1e-8)
    for scale in (1e-30, 1e-8, 1e8, 1e30, 1e90):
        same = logistic_path(X * scale, labels, MIDDLE * scale**2, tol=1e-8)
        torch.testing.assert_close(same.objective, plain.objective, rtol=1e-9, atol=0)
        torch.testing.assert_close(same.weights * scale, plain.weights, rtol=1e-4, atol=1e-6)
        # With ordinary penalties, weights are nearly nothing or as if there were no penalty.
        found = logistic_path(X * scale, labels, WHOLE, max_iterations=3000)
        assert found.converged.all()
        assert found.weights.isfinite().all()
        assert (found.gradient_norm <= 1e-6).all()
    nothing = logistic_path(X * 1e-30, labels, WHOLE)
    assert ((X * 1e-30) @ nothing.weights).abs().max() < 1e-40
    assert nothing.weights[-1].abs().max() > 0


def test_constant_features_leave_the_class_frequencies() -> None:
    y = torch.tensor([0] * 5 + [1] * 3 + [2] * 2)
    for value in (0.0, 1.0, 1e20):
        found = logistic_path(torch.full((10, 4), value, dtype=torch.float64), y, WHOLE)
        assert found.converged.all()
        assert found.weights.abs().max() * max(value, 1.0) < 1e-6
        scores = found.weights.sum(1) * value + found.bias
        torch.testing.assert_close(scores.softmax(1), torch.tensor([0.5, 0.3, 0.2]).double().expand(12, 3))
    for dtype in (torch.float32, torch.float64):
        balanced = logistic_path(torch.ones(6, 2), torch.arange(3).repeat(2), WHOLE, dtype=dtype)
        assert balanced.converged.all()
        assert (balanced.gradient_norm == 0).all()


def test_one_dimension_and_one_sample_a_class() -> None:
    X, y = torch.tensor([[0.0], [1.0], [2.0], [5.0]], dtype=torch.float64), torch.arange(4)
    found = logistic_path(X, y, WHOLE)
    assert_honest(found, X, y)
    for i in (0, 6, 11):
        assert_no_higher(found.objective[i], by_scipy(X, y, 4, float(WHOLE[i])))


def test_types_and_layout_do_not_matter() -> None:
    X, y = problem(80, 9, 4, 2.0)
    X = (X * 8).round().clamp(max=100)
    plain = logistic_path(X, y, MIDDLE[:2], tol=1e-9)
    wide = torch.stack([X, X], dim=2)[:, :, 0]
    assert not wide.is_contiguous()
    kept = wide.clone()
    for features in (wide, X.half(), X.float(), X.int(), X.to(torch.uint8)):
        found = logistic_path(features, y.to(torch.uint8), MIDDLE[:2].float(), tol=1e-9)
        torch.testing.assert_close(found.weights, plain.weights, rtol=1e-4, atol=1e-6)
    assert torch.equal(wide, kept)
    several = torch.nn.functional.one_hot(y)
    whole = logistic_path(X, several, MIDDLE[:2])
    for labels in (several.bool(), several.float()):
        assert torch.equal(logistic_path(X, labels, MIDDLE[:2]).weights, whole.weights)


def test_single_precision_is_close_and_says_what_it_reached() -> None:
    X, y = problem(300, 30, 8, 1.5)
    double, single = logistic_path(X, y, WHOLE), logistic_path(X, y, WHOLE, dtype=torch.float32, tol=1e-5)
    assert single.weights.dtype == single.bias.dtype == single.objective.dtype == torch.float32
    assert single.converged.all()
    assert (single.objective - double.objective).abs().max() <= 1e-5 * 300 * math.log(8)
    for i, penalty in enumerate(WHOLE.tolist()):
        norm = gradient_norm(X, y, single.weights[i], single.bias[i], penalty)
        assert norm <= 1.2e-5
    separable = logistic_path(*problem(200, 40, 4, 0.05), WHOLE, dtype=torch.float32)
    assert separable.converged[-1]
    assert not separable.converged[0]  # its gradient is below rounding, and too large beside its loss
    too_much = logistic_path(X, y, MIDDLE, dtype=torch.float32, tol=1e-12)
    assert not too_much.converged.any()
    assert (too_much.iterations < 1000).all()


@pytest.mark.parametrize("block", [1, 5])
def test_single_precision_goes_on_while_the_objective_falls(block: int) -> None:
    """With weak penalties the gradient norm rises for dozens of iterations, which is not rounding."""
    X, y = problem(400, 40, 6, 1.5)
    labels = torch.nn.functional.one_hot(y)
    double = logistic_path(X, labels, WHOLE)
    single = logistic_path(X, labels, WHOLE, tol=1e-5, dtype=torch.float32, block=block)
    assert single.converged[1:].all()  # under the weakest penalty a class is separated, which 32 bits may not resolve
    torch.testing.assert_close(single.objective.double(), double.objective, rtol=1e-4, atol=0)


def test_what_did_not_converge_is_said() -> None:
    X, y = problem(300, 30, 8, 1.5)
    short = logistic_path(X, y, MIDDLE, max_iterations=3)
    assert not short.converged.any()
    assert short.iterations.tolist() == [3] * 4
    for i, penalty in enumerate(MIDDLE.tolist()):
        norm = gradient_norm(X, y, short.weights[i], short.bias[i], penalty)
        assert float(short.gradient_norm[i]) == pytest.approx(norm, rel=1e-6)
        assert norm > 1e-6
    assert logistic_path(X, y, MIDDLE).converged.all()
    beyond_rounding = logistic_path(X, y, MIDDLE, tol=1e-18)
    assert float(beyond_rounding.gradient_norm.max()) < 1e-12


def test_the_same_input_gives_the_same_numbers() -> None:
    X, y = problem(100, 12, 4, 2.0)
    first, same = logistic_path(X, y, WHOLE), logistic_path(X, y, WHOLE)
    assert torch.equal(first.weights, same.weights)
    assert torch.equal(first.iterations, same.iterations)


def test_bad_input_is_refused_by_name() -> None:
    X, y = problem(30, 4, 3)
    broken = X.clone()
    broken[3, 1] = math.nan
    several = torch.nn.functional.one_hot(y)
    cases = [
        ((broken, y, MIDDLE), {}, "not finite: row 3"),
        ((X + 0j, y, MIDDLE), {}, "give real ones"),
        ((X, y[:-1], MIDDLE), {}, "do not match labels"),
        ((X, several[:-1], MIDDLE), {}, "do not match labels"),
        ((X, several[:, :0], MIDDLE), {}, "do not match labels"),
        ((X, several[:, :, None], MIDDLE), {}, "do not match labels"),
        ((X[:0], y[:0], MIDDLE), {}, "a matrix of samples by dimensions"),
        ((X[:, :0], y, MIDDLE), {}, "a matrix of samples by dimensions"),
        ((X, y.float(), MIDDLE), {}, "class indices from 0"),
        ((X, y - 1, MIDDLE), {}, "class indices from 0"),
        ((X, y * 2, MIDDLE), {}, "from 0 to 2 without gaps"),
        ((X, y * 0, MIDDLE), {}, "at least two classes"),
        ((X, several * 2, MIDDLE), {}, "must be 0 or 1"),
        ((X, several * torch.tensor([1, 0, 1]), MIDDLE), {}, "all samples have the same label in class 1"),
        ((X, y, torch.tensor([1.0, 0.0])), {}, "a list of positive numbers"),
        ((X, y, torch.tensor([])), {}, "a list of positive numbers"),
        ((X, y, torch.tensor([1.0, math.inf])), {}, "a list of positive numbers"),
        ((X, y, MIDDLE), {"tol": 0.0}, "tol must be positive"),
        ((X, y, MIDDLE), {"max_iterations": 0}, "at least 1"),
        ((X, y, MIDDLE), {"block": 0}, "at least 1"),
        ((X, y, MIDDLE), {"dtype": torch.float16}, "float64 or torch.float32"),
        ((X * 1e-200, y, MIDDLE), {}, "multiply them by a constant"),
    ]
    for data, options, message in cases:
        with pytest.raises(UserError, match=message):
            logistic_path(*data, **options)


def test_the_memory_is_the_bfgs_formula() -> None:
    """Two problems, more pairs than are kept, one of them without curvature: H by the textbook's recursion."""
    generator = Generator().manual_seed(0)
    size, pairs = 12, MEMORY + 3
    root = torch.randn(2, size, size, generator=generator, dtype=torch.float64)
    hessian = root @ root.mT + torch.eye(size)
    steps = torch.randn(pairs, 2, size, generator=generator, dtype=torch.float64)
    changes = torch.einsum("pij,mpj->mpi", hessian, steps)
    changes[5, 0] *= -1
    gradient = torch.randn(2, size, 1, generator=generator, dtype=torch.float64)
    memory = Curvature(gradient)
    for s, y in zip(steps, changes, strict=True):
        memory.push(s[:, :, None] * 1e-100, y[:, :, None] * 1e-100)
    found = memory.apply(gradient)
    for p in range(2):
        kept = [(s, y) for s, y in zip(steps[-MEMORY:, p], changes[-MEMORY:, p], strict=True) if s @ y > 0]
        s, y = kept[-1]
        inverse = (s @ y / (y @ y)) * torch.eye(size, dtype=torch.float64)
        for s, y in kept:
            project = torch.eye(size) - torch.outer(s, y) / (s @ y)
            inverse = project @ inverse @ project.T + torch.outer(s, s) / (s @ y)
        torch.testing.assert_close(found[p], inverse @ gradient[p], rtol=1e-6, atol=1e-8)


def test_the_basis_is_an_exact_change_of_variables() -> None:
    for n, d in ((30, 5), (6, 20)):
        X, _ = problem(n, d, 3)
        basis = centred_eigenbasis(X)
        r = min(n, d)
        torch.testing.assert_close(basis.directions.T @ basis.directions, torch.eye(r).double())
        coefs = torch.randn(2, r + 1, 3, generator=Generator().manual_seed(0), dtype=torch.float64)
        weights, bias = basis.to_weights(coefs)
        torch.testing.assert_close(X @ weights + bias[:, None], basis.features @ coefs)
        torch.testing.assert_close(basis.features.square().sum(0), basis.curvature)


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=4), st.floats(-3, 3))
def test_extrapolation_is_exact_for_polynomials(coefficients: list[float], at: float) -> None:
    def value(x: float) -> float:
        return sum(c * x**i for i, c in enumerate(coefficients))

    positions = [1.0, 0.4, -0.3, -1.0][: len(coefficients)]
    weights = extrapolation_weights(positions, at)
    assert sum(w * value(x) for w, x in zip(weights, positions, strict=True)) == pytest.approx(value(at), abs=1e-9)


@pytest.mark.gpu
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_gpu_finds_the_same_optimum(several: bool, dtype: torch.dtype) -> None:
    X, y = problem(400, 40, 6, 1.5)
    labels = torch.nn.functional.one_hot(y) if several else y
    tol = 1e-6 if dtype == torch.float64 else 1e-5
    here = logistic_path(X, labels, WHOLE)  # in 64 bits
    there = logistic_path(X.cuda(), labels, WHOLE, tol=tol, dtype=dtype)
    assert there.weights.is_cuda
    back = replace(there, **{name: v.cpu() for name, v in vars(there).items() if isinstance(v, Tensor)})
    first = 1 if several and dtype == torch.float32 else 0  # 32 bits may not resolve a class that is separated
    assert back.converged[first:].all()
    assert (back.objective - here.objective).abs().max() <= tol * 400 * math.log(6)
    if dtype == torch.float64:
        assert_honest(back, X, labels)

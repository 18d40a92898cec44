"""Ridge regression against scikit-learn's, one penalty at a time, and against fits that leave samples out."""

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge as Reference
from sklearn.linear_model import RidgeCV
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from unseen.errors import UserError
from unseen.probes.ridge import leave_one_out, ridge

PENALTIES = np.logspace(-3, 5, 9).tolist()
SHAPES = pytest.mark.parametrize(
    ("n", "d", "c"),
    [(120, 10, 3), (20, 90, 4), (30, 30, 2), (40, 1, 3), (6, 40, 6), (20_000, 70, 5)],
    ids=["primal", "dual", "square", "one dimension", "one sample a class", "several blocks"],
)


def samples(n: int, d: int, classes: int) -> tuple[Tensor, Tensor]:
    """Overlapping classes far from the origin, in no order."""
    generator = Generator().manual_seed(n + d)
    y = (torch.arange(n) % classes)[torch.randperm(n, generator=generator)]
    centres = torch.randn(classes, d, generator=generator, dtype=torch.float64)
    return centres[y] + torch.randn(n, d, generator=generator, dtype=torch.float64) + 5, y


@SHAPES
@pytest.mark.parametrize("real", [False, True], ids=["classes", "real targets"])
def test_weights_equal_scikit_learn(n: int, d: int, c: int, real: bool) -> None:
    X, y = samples(n, d, c)
    targets = torch.sin(X @ torch.randn(d, c, generator=Generator().manual_seed(1), dtype=torch.float64))
    model = ridge(X, targets if real else y, PENALTIES)
    wanted = targets if real else one_hot(y, c).double()
    for index, penalty in enumerate(PENALTIES):
        theirs = Reference(alpha=penalty, solver="cholesky" if n > d else "svd").fit(X.numpy(), wanted.numpy())
        weights, intercepts = model.weights(index)
        np.testing.assert_allclose(weights, theirs.coef_, rtol=0, atol=1e-9)
        np.testing.assert_allclose(intercepts, theirs.intercept_, rtol=0, atol=1e-7)
        np.testing.assert_allclose(model.predict(X[:50], index), theirs.predict(X[:50].numpy()), rtol=0, atol=1e-8)


@SHAPES
def test_accuracies_are_those_of_the_predictions(n: int, d: int, c: int) -> None:
    X, y = samples(n, d, c)
    test, y_test = samples(n + 1, d, c)
    found = ridge(X, y, PENALTIES).accuracies(test, y_test)
    for index, penalty in enumerate(PENALTIES):
        theirs = Reference(alpha=penalty).fit(X.numpy(), 2 * one_hot(y, c).numpy() - 1)  # −1 and 1 rank the same
        predicted = torch.from_numpy(theirs.predict(test.numpy())).argmax(dim=1)
        assert float(found[index]) == pytest.approx(float((predicted == y_test).double().mean()), abs=1.5 / len(test))


@pytest.mark.parametrize(("n", "d", "c"), [(60, 8, 3), (15, 40, 3)], ids=["primal", "dual"])
def test_leaving_one_out_equals_fits_without_each_sample(n: int, d: int, c: int) -> None:
    X, y = samples(n, d, c)
    found = leave_one_out(ridge(X, y, PENALTIES), X, y)
    assert found.accuracies is not None
    predictions = np.zeros((len(PENALTIES), n, c))
    wanted = one_hot(y, c).numpy()
    for i in range(n):
        kept = np.arange(n) != i
        for index, penalty in enumerate(PENALTIES):
            fit = Reference(alpha=penalty, solver="svd").fit(X.numpy()[kept], wanted[kept])
            predictions[index, i] = fit.predict(X.numpy()[[i]])
    np.testing.assert_allclose(found.errors, ((predictions - wanted) ** 2).mean(axis=(1, 2)), rtol=1e-6)
    np.testing.assert_allclose(found.accuracies, (predictions.argmax(2) == y.numpy()).mean(axis=1), rtol=0, atol=1e-12)


@SHAPES
def test_leaving_one_out_equals_scikit_learn(n: int, d: int, c: int) -> None:
    X, y = samples(n, d, c)
    targets = one_hot(y, c).double()
    theirs = RidgeCV(PENALTIES, store_cv_results=True).fit(X.numpy(), targets.numpy())
    found = leave_one_out(ridge(X, targets, PENALTIES), X, targets)
    assert found.accuracies is None
    np.testing.assert_allclose(found.errors, theirs.cv_results_.mean(axis=(0, 1)), rtol=1e-5)


def test_tiny_penalties_on_few_samples() -> None:
    """Where the fit passes through all samples, 1 − h is some 1e-9 and must not be lost."""
    X, y = samples(20, 60, 2)
    wanted = one_hot(y, 2).double()
    small, smaller = leave_one_out(ridge(X, wanted, [1e-6, 1e-7]), X, wanted).errors.tolist()
    assert small == pytest.approx(smaller, rel=1e-4)
    rest = Reference(alpha=1e-6, solver="svd").fit(X[1:].numpy(), wanted[1:].numpy())
    weights, _ = ridge(X[1:], wanted[1:], [1e-6]).weights(0)
    np.testing.assert_allclose(weights, rest.coef_, rtol=0, atol=1e-8)


@examples(20)
@given(st.integers(2, 10), st.integers(1, 10), st.integers(1, 3), st.floats(1e-3, 1e3))
def test_the_gradient_is_zero(n: int, d: int, distinct: int, penalty: float) -> None:
    """−Xᵀ(Y − XW) + λW = 0, of repeated rows too."""
    X, y = samples(n, d, 2)
    X, y = X[torch.arange(n) % distinct], y[torch.arange(n) % distinct]
    Y = one_hot(y).double()
    weights, intercepts = ridge(X, y, [penalty]).weights(0)
    residual = Y - X @ weights.T - intercepts
    assert torch.allclose(X.T @ residual, penalty * weights.T, atol=1e-8)
    assert torch.allclose(residual.sum(dim=0), torch.zeros(Y.shape[1], dtype=torch.float64), atol=1e-9)


@pytest.mark.parametrize("n", [40, 8], ids=["primal", "dual"])
def test_directions_without_spread_take_no_part(n: int) -> None:
    """Of dimensions given three times, with hardly a penalty: rounding divided by it would be great.

    Each copy gets a third of the weight that the dimension has alone with a third of the penalty.
    """
    X, y = samples(n, 6, 3)
    weights, _ = ridge(torch.cat([X, X, X], dim=1), y, [3e-13]).weights(0)
    alone = Reference(alpha=1e-13, solver="svd").fit(X.numpy(), one_hot(y, 3).numpy())
    np.testing.assert_allclose(weights, np.tile(alone.coef_ / 3, 3), rtol=0, atol=1e-9)


def test_features_that_do_not_differ_predict_the_mean() -> None:
    model = ridge(torch.full((6, 3), 2.0), torch.tensor([0, 0, 0, 1, 1, 2]), [1.0])
    assert model.predict(torch.zeros(1, 3), 0)[0].tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 6])


def test_one_class_and_classes_that_were_not_trained_on() -> None:
    X, y = samples(12, 4, 3)
    assert ridge(X, torch.zeros_like(y), [1.0]).accuracies(X, torch.zeros_like(y)).tolist() == [1]
    assert ridge(X, y, [1.0]).accuracies(X, y + 3).tolist() == [0]
    right = ridge(X, y, [1.0]).predict(X, 0).argmax(dim=1) == y
    alone = ridge(X, y, [1.0]).accuracies(X[y == 1], y[y == 1])
    assert float(alone) == pytest.approx(float(right[y == 1].double().mean()))


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_huge_and_tiny_numbers(scale: float) -> None:
    X, y = samples(60, 8, 3)
    usual, scaled = ridge(X, y, [10.0]), ridge((X * scale).float(), y, [10.0 * scale**2])
    assert torch.allclose(usual.weights(0)[0], scaled.weights(0)[0] * scale, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.int32, torch.float16, torch.float32])
def test_other_types_count_as_their_values(dtype: torch.dtype) -> None:
    X, y = samples(60, 8, 3)
    X = (X * 10).to(dtype)
    assert torch.equal(ridge(X, y.int(), [1.0]).weights(0)[0], ridge(X.double(), y, [1.0]).weights(0)[0])


def test_views_give_what_copies_give() -> None:
    X, y = samples(60, 8, 3)
    assert torch.allclose(
        ridge(X[::2, ::2], y[::2], [1.0]).weights(0)[0], ridge(X[::2, ::2].clone(), y[::2].clone(), [1.0]).weights(0)[0]
    )


def test_predictions_that_are_not_finite_are_refused() -> None:
    X, y = samples(20, 4, 2)
    model = ridge(X, y, [1.0])
    model.moments[0, 1] = torch.nan
    with pytest.raises(UserError, match="not finite"):
        model.accuracies(X, y)


def test_mistakes_are_told() -> None:
    X, y = samples(10, 4, 2)
    for penalties in ([], [0.0], [1.0, -1.0], [float("nan")], [float("inf")]):
        with pytest.raises(UserError, match="positive and finite"):
            ridge(X, y, penalties)
    with pytest.raises(UserError, match="do not match labels of shape"):
        ridge(X, y[:-1], [1.0])
    with pytest.raises(UserError, match="10 samples do not match 9 rows of targets"):
        ridge(X, X[:-1], [1.0])
    with pytest.raises(UserError, match="class indices from 0"):
        ridge(X, y.double(), [1.0])
    with pytest.raises(UserError, match="not finite"):
        ridge(X / 0, y, [1.0])
    with pytest.raises(UserError, match="samples of 3 dimensions do not match a regression on 4"):
        ridge(X, y, [1.0]).predict(X[:, :3], 0)


@pytest.mark.gpu
@pytest.mark.parametrize(("n", "d"), [(3000, 50), (40, 200)], ids=["primal", "dual"])
def test_a_gpu_gives_the_same(n: int, d: int) -> None:
    X, y = samples(n, d, 7)
    here, there = ridge(X, y, PENALTIES), ridge(X.cuda(), y.cuda(), PENALTIES)
    for index in range(len(PENALTIES)):
        assert torch.allclose(here.weights(index)[0], there.weights(index)[0].cpu(), atol=1e-8)
    again = ridge(X.cuda(), y.cuda(), PENALTIES)
    assert torch.equal(there.moments, again.moments)
    assert torch.allclose(here.accuracies(X, y), there.accuracies(X.cuda(), y.cuda()).cpu(), atol=1.5 / n)

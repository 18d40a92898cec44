"""Preconditioners against the Hessian they stand for, and for what they are worth on real data."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from torch import Tensor

from unseen.probes.newton import lbfgs
from unseen.probes.newton.objective import Problems, loss_and_residual
from unseen.probes.newton.path import logistic_path
from unseen.probes.newton.preconditioner import MOST_BYTES, ROWS, Blocks, Diagonal, _sample, affordable, worth


def problem(n: int, r: int, k: int, *, several: bool = False) -> tuple[Problems, Tensor]:
    """Two penalties, and the residuals of some coefficients."""
    draw = torch.Generator().manual_seed(0)
    features = torch.cat([torch.randn(n, r, generator=draw), torch.ones(n, 1)], dim=1).double()
    labels = torch.arange(n) % k
    p = 2 * k if several else 2
    targets = (labels[:, None] == torch.arange(k)).double().repeat(1, 2)[:, :, None] if several else labels
    penalties = torch.tensor([0.1, 5.0]).double().repeat_interleave(p // 2)[:, None, None].repeat(1, r + 1, 1)
    penalties[:, -1] = 0
    problems = Problems(features, features.square().sum(0), targets, penalties)
    coefs = torch.randn(p, r + 1, 1 if several else k, generator=draw).double()
    return problems, loss_and_residual(problems.scores(coefs), targets)[1]


@pytest.mark.parametrize("several", [False, True])
def test_blocks_are_the_hessian_column_by_column(several: bool) -> None:
    problems, residual = problem(50, 12, 3, several=several)
    blocks = Blocks.of(problems, residual)
    assert blocks is not None
    size = residual.abs()
    for p in range(len(problems.penalties)):
        for k in range(residual.shape[2]):
            weights = size[:, p, k] * (1 - size[:, p, k])
            expected = problems.features.T @ (weights[:, None] * problems.features)
            expected += torch.diag(problems.penalties[p, :, 0])
            factor = blocks.factor[p, k]
            torch.testing.assert_close(factor @ factor.T, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [Diagonal, Blocks])
def test_gradients_directions_and_steps_go_together(kind: type[Diagonal] | type[Blocks]) -> None:
    problems, residual = problem(50, 12, 3)
    units = kind.of(problems, residual)
    assert units is not None
    gradient, unit = (torch.randn(2, 13, 3, dtype=torch.float64) for _ in range(2))
    direction = units.direction(unit)
    assert direction.shape == unit.shape
    along, again = (units.unit_gradient(gradient) * unit).sum(), (gradient * direction).sum()
    assert float(along) == pytest.approx(float(again))
    torch.testing.assert_close(units.unit_step(direction), unit)
    second = units.select(torch.tensor([False, True]))
    torch.testing.assert_close(second.direction(unit[1:]), direction[1:])


@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=60), st.integers(1, 40))
def test_a_sample_stands_for_all(weights: list[float], count: int) -> None:
    given_ = torch.tensor(weights, dtype=torch.float64)
    rows, factors = _sample(given_, count)
    assert len(rows) <= count
    assert float((factors * given_[rows]).sum()) == pytest.approx(float(given_.sum()), rel=1e-9)
    large = torch.where(given_ > given_.sum() / count)[0]
    assert set(large.tolist()) <= set(rows.tolist())


def test_there_are_no_blocks_without_curvature() -> None:
    problems, residual = problem(50, 12, 3)
    assert Blocks.of(problems, torch.zeros_like(residual)) is None


def test_blocks_are_made_only_where_they_fit_and_late_enough() -> None:
    problems, _ = problem(50, 12, 3)
    assert affordable(problems, 3)
    assert not affordable(problems, MOST_BYTES // (2 * 32 * 13 * 13) + 1)
    assert worth(problems) == 20
    many = Problems(torch.zeros(100_000, 1281), torch.zeros(1281), torch.zeros(1), torch.zeros(1, 1281, 1))
    assert worth(many) == ROWS * 1281 * 1281 // 200_000


def test_on_real_images_there_are_fewer_iterations_to_the_same_optima(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = (torch.from_numpy(array) for array in load_digits(return_X_y=True))
    X = torch.cat([X, X.square() / 16], dim=1)
    penalties = torch.logspace(-2, 4, 13)
    with_blocks = logistic_path(X, y, penalties)
    monkeypatch.setattr(lbfgs, "affordable", lambda *_: False)
    without = logistic_path(X, y, penalties)
    assert with_blocks.converged.all()
    assert without.converged.all()
    assert (with_blocks.objective - without.objective).abs().max() <= 2e-6 * len(y) * math.log(10)
    assert int(with_blocks.iterations.sum()) < 0.6 * int(without.iterations.sum())

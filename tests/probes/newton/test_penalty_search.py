"""Choosing a penalty with rough fits against solving every one of them, and against scikit-learn."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from unseen.probes.newton import search
from unseen.probes.newton.path import logistic_path
from unseen.probes.newton.search import Choice, Classifier, Stage, choose_penalty
from unseen.probes.newton.walk import Solved

PENALTIES = torch.logspace(-6, 5, 45, dtype=torch.float64)
REAL = {"digits": (load_digits, 500, 200), "wine": (load_wine, 100, 78), "cancer": (load_breast_cancer, 300, 269)}
"""Loader, training and validation samples."""


@cache
def real(name: str) -> tuple[Tensor, Tensor, int]:
    load, training, held = REAL[name]
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[: training + held]
    X, y = X[order], y[order]
    return torch.tensor(X - X.mean(0)), torch.tensor(y), training


def accuracy(y: Tensor) -> Callable[[Tensor], float]:
    return lambda scores: float((scores.argmax(1) == y).double().mean())


def objective(fit: Classifier, X: Tensor, y: Tensor, penalty: float) -> float:
    loss = torch.nn.functional.cross_entropy(fit.scores(X), y, reduction="sum")
    return float(loss + 0.5 * penalty * fit.weights.square().sum())


@pytest.mark.parametrize("name", REAL)
def test_the_choice_is_that_of_all_fits_at_their_optima(name: str) -> None:
    X, y, n = real(name)
    judge = accuracy(y[n:])
    quick = choose_penalty(X, y, n, PENALTIES, judge)
    whole = choose_penalty(X, y, n, PENALTIES, judge, converge="all")
    assert all(whole.converged)
    assert None not in whole.scores
    best = max(score for score in whole.scores if score is not None)
    assert whole.scores[quick.place] == best
    assert quick.scores[quick.place] == best
    assert quick.converged[quick.place]
    assert quick.refit_converged
    assert sum(quick.iterations) < sum(whole.iterations) / 2


@pytest.mark.parametrize("name", ["digits", "wine"])
def test_the_chosen_fits_are_scikit_learns(name: str) -> None:
    X, y, n = real(name)
    found = choose_penalty(X, y, n, PENALTIES[16:], accuracy(y[n:]))
    penalty = float(PENALTIES[16:][found.place])
    for fit, rows in ((found.chosen, slice(n)), (found.refit, slice(None))):
        model = LogisticRegression(C=1 / penalty, tol=1e-9, max_iter=20_000).fit(X[rows].numpy(), y[rows].numpy())
        theirs = Classifier(torch.tensor(model.coef_.T), torch.tensor(model.intercept_))
        ours, reference = (objective(each, X[rows], y[rows], penalty) for each in (fit, theirs))
        assert ours <= reference * (1 + 1e-6)


def drawn(seed: int = 0, *, classes: int = 3, n: int = 60, d: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % classes
    centres = torch.randn(classes, d, generator=generator)
    return centres[y] + torch.randn(n, d, generator=generator, dtype=torch.float64), y


def spread(scores: Tensor) -> float:
    """Rises as penalties get weaker."""
    return float(scores.std())


@pytest.mark.parametrize(
    ("judge", "place", "tried"),
    [
        (lambda scores: 0.5, 0, 12),  # all equal: the weakest
        (spread, 0, 12),
        (lambda scores: -spread(scores), 11, 1 + search.HOPELESS),
        (lambda scores: float(spread(scores) > 0.3), 0, 12),  # equal from some penalty on
    ],
)
def test_ends_of_the_grid(judge: Callable[[Tensor], float], place: int, tried: int) -> None:
    X, y = drawn()
    found = choose_penalty(X, y, 40, PENALTIES[::4], judge)
    assert found.place == place
    assert [score is not None for score in found.scores] == [False] * (12 - tried) + [True] * tried
    assert not any(found.iterations[: 12 - tried])
    assert found.converged[place]


def test_a_fit_that_is_worse_at_its_optimum_gives_way_to_the_next() -> None:
    X, y = drawn()

    def run(values: list[float]) -> tuple[Choice, list[tuple[Stage, int]]]:
        seen: list[tuple[Stage, int]] = []
        left = iter(values)

        def watch(stage: Stage, stretch: Solved, of: int) -> None:
            seen.append((stage, stretch.start))

        return choose_penalty(X, y, 40, PENALTIES[:40:10], lambda scores: next(left), block=1, watch=watch), seen

    found, seen = run([0.1, 0.9, 0.8, 0.7, 0.85])  # four rough fits, then the second at its optimum
    assert (found.place, found.scores) == (2, (0.7, 0.8, 0.85, 0.1))
    assert [stage for stage, _ in seen] == ["grid"] * 4 + ["chosen", "refit"]
    found, seen = run([0.1, 0.9, 0.8, 0.7, 0.75, 0.79])
    assert (found.place, found.scores) == (1, (0.7, 0.79, 0.75, 0.1))
    assert found.converged == (None, True, True, None)
    assert seen[4:] == [("chosen", 0), ("chosen", 1), ("refit", 0)]


def test_a_class_that_one_part_lacks() -> None:
    X, y = drawn()
    held = y[40:] != 2
    rows, labels = torch.cat([X[:40], X[40:][held]]), torch.cat([y[:40], y[40:][held]])
    found = choose_penalty(rows, labels, 40, PENALTIES[::4], accuracy(labels[40:]))
    assert found.refit.bias.shape == (3,)
    more = torch.cat([y[:59], torch.tensor([3])])
    found = choose_penalty(X, more, 40, PENALTIES[::4], lambda scores: float(scores[:, 0].mean()))
    assert (found.chosen.bias.shape, found.refit.bias.shape) == ((3,), (4,))
    path = logistic_path(X, more, PENALTIES[::4][found.place : found.place + 1])
    assert torch.allclose(found.refit.weights, path.weights[0], atol=1e-4)


def test_penalties_that_leave_nothing_to_learn_do_not_end_the_search() -> None:
    # Features so small that nearly all of the grid predicts the largest class for every sample.
    X, y = drawn(n=120)
    y = torch.where(torch.arange(120) % 2 == 0, 0, y)
    found = choose_penalty(1e-3 * X, y, 80, PENALTIES[::2], accuracy(y[80:]))
    scores = [score for score in found.scores if score is not None]
    assert scores[-1] == scores[-1 - search.HOPELESS] < max(scores)


@examples(8)
@given(
    seed=st.integers(0, 1000),
    classes=st.integers(2, 4),
    d=st.integers(1, 70),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    several=st.booleans(),
)
def test_what_holds_of_every_choice(seed: int, classes: int, d: int, scale: float, several: bool) -> None:
    X, y = drawn(seed, classes=classes, d=d)
    X = scale * X
    labels = torch.nn.functional.one_hot(y).bool() if several else y
    found = choose_penalty(X, labels, 40, PENALTIES[::5], accuracy(y[40:]))
    tried = [score for score in found.scores if score is not None]
    assert found.scores[found.place] == max(tried)
    assert all(score is None or score < max(tried) for score in found.scores[: found.place])
    assert found.converged[found.place]
    assert found.refit_converged
    assert accuracy(y[40:])(found.chosen.scores(X[40:])) == pytest.approx(found.scores[found.place])
    # At the optimum the gradient is zero: by the weights of the refit, penalty included.
    scores = found.refit.scores(X)
    target = torch.nn.functional.one_hot(y).double()
    residual = (scores.sigmoid() if several else scores.softmax(1)) - target
    gradient = X.T @ residual + PENALTIES[::5][found.place] * found.refit.weights
    first = torch.linalg.vector_norm((X - X.mean(0)).T @ (target - target.mean(0)))
    assert torch.linalg.vector_norm(gradient) <= 1e-4 * first

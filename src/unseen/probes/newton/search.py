"""The penalty that is best on validation data, and the fit with it, without solving every other to its optimum.

The best penalty is known long before its weights. Going from the strongest to the weakest, each start is extrapolated
from the last fits, and on real features the predictions of validation samples settle within a few iterations, while the
optimum takes tens to thousands; beyond the best, weaker penalties only get worse. Therefore

1. fits along the path end when validation predictions hardly change any more, and the path ends after `HOPELESS`
   penalties in a row that are worse than the best so far;
2. those within `CLOSE` of the best are fitted further, since rough scores may be off by as much;
3. the best is solved to its optimum; if its score then falls below that of another, that one too, until the best of all
   is at its optimum;
4. from there, the fit to training and validation samples together is solved to its optimum.

All share one eigenbasis, that of training and validation samples; it is only a choice of coordinates, which no optimum
depends on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Literal

import torch
from torch import Tensor

from unseen.probes.arrays import checked_features
from unseen.probes.newton.arguments import check_options, checked_classes, checked_targets
from unseen.probes.newton.lbfgs import Minimum
from unseen.probes.newton.objective import Eigenbasis, centred_eigenbasis, linear_scores
from unseen.probes.newton.walk import Settled, Solved, Task, prepare, solve, usable, walk
from unseen.probes.sgd.stacked import tiny_numbers_as_zero

Stage = Literal["grid", "chosen", "refit"]
"""The stages: all penalties on training data, the best of them to their optima, and the chosen one on all data."""
Converge = Literal["chosen", "all"]
"""Which fits are solved to their optimum: the chosen one, or all of the grid."""

CHECKED = 2
"""Iterations between checks of the validation predictions."""
CHANGED = 0.002
"""Share of predictions that may change between two checks once they have settled."""
FURTHER_CHANGED = 0.0005
"""The same share, for penalties among which the choice is close."""
CLOSE = 0.002
"""Maximum distance of such a penalty's score from the best score."""
SCORES_CHANGED = 0.01
"""The same for binary problems, where ranks count: how far scores may move, relative to their standard deviation."""
MOST_ITERATIONS = 30
"""Maximum iterations of a fit that is not solved to its optimum."""
HOPELESS = 8
"""Number of penalties in a row, worse than the best, after which no weaker one is tried: two decades of the paper's
grid.
"""
DIRECT = 300
"""Iterations to an optimum from a nearby fit, after which the start is considered too far."""
STRIDE = 4
"""Penalties per step when an optimum is approached along the path: a decade of the paper's grid."""


@dataclass(frozen=True)
class Classifier:
    """(d, c) weights and (c,) biases for the given features."""

    weights: Tensor
    bias: Tensor

    def scores(self, X: Tensor) -> Tensor:
        """(n, c) scores, in the dtype of the weights."""
        return X.to(self.weights.dtype) @ self.weights + self.bias


@dataclass(frozen=True)
class Choice:
    """The result of a search; tuples are in the order of the penalties.

    Attributes:
        place: index of the chosen penalty.
        scores: on validation data; None for penalties that were not tried.
        iterations: of L-BFGS on training data.
        converged: whether fits reached their optimum; None for those not solved to it.
        chosen: the fit to training data.
        refit: the fit to training and validation data; `refit_converged` tells whether it reached its optimum.
    """

    place: int
    scores: tuple[float | None, ...]
    iterations: tuple[int, ...]
    converged: tuple[bool | None, ...]
    chosen: Classifier
    refit: Classifier
    refit_converged: bool


@tiny_numbers_as_zero()
@torch.no_grad()
def choose_penalty(
    X: Tensor,
    y: Tensor,
    training: int,
    penalties: Tensor,
    judge: Callable[[Tensor], float],
    *,
    converge: Converge = "chosen",
    tol: float = 1e-6,
    max_iterations: int = 1000,
    block: int | None = None,
    solved: Mapping[Stage, Sequence[Solved]] = MappingProxyType({}),
    watch: Callable[[Stage, Solved, int], None] = lambda stage, solved, of: None,
) -> Choice:
    """Choose a penalty on validation data, and fit it to all data.

    Objective, optimum and the meaning of labels are those of `logistic_path`. Among equally good penalties the weakest
    one tried is chosen. An iteration of a fit costs 4·n·d·c flops; the eigendecomposition of the features, once, about
    4·n·d² + 10·d³. Memory: the features in float64 and float32, at most 24·n·d bytes.

    Args:
        X: (n, d) features of training samples, then of validation samples.
        y: their labels. Classes without training samples are the last; their columns are only in the refit.
        training: number of training samples.
        penalties: (p,) positive, increasing.
        judge: the validation score of (n − training, c) scores; larger is better.
        converge: "all" to solve every penalty of the grid to its optimum, and skip none.
        tol, max_iterations, block: as in `logistic_path`.
        solved: the parts that `watch` received in an earlier call with the same arguments: they are not solved again.
        watch: called with each part when it is solved, and the maximum number of penalties of its stage.
    """
    check_options(penalties, tol, max_iterations, block, torch.float64)
    X = checked_features(X, "training and validation")
    labels = checked_targets(y, X) if y.ndim == 2 else checked_classes(y, X)
    of_training = y[:training]
    train = checked_targets(of_training, X[:training]) if y.ndim == 2 else checked_classes(of_training, X[:training])
    path = penalties.to(X.device, torch.float64).flip(0)
    basis = centred_eigenbasis(X)
    task = prepare(basis, train, float(path[0]), tol, max_iterations, torch.float64)
    held = _Held(task, judge)
    fits = _fit_grid(held, path, converge, block, solved.get("grid", ()), lambda each: watch("grid", each, len(path)))
    if converge == "chosen":
        _fit_further(held, path, fits)
        _finish(held, path, fits, solved.get("chosen", ()), lambda each: watch("chosen", each, each.stop))
    place = _best(fits)
    both = prepare(basis, labels, float(path[0]), tol, max_iterations, torch.float64)
    way = path[: place + 1]
    more = int(labels.max()) - int(train.max()) if y.ndim == 1 else 0
    refit = _optimum(
        both, 0, way, _with_classes(fits[place], more), solved.get("refit", ()), lambda each: watch("refit", each, 1)
    )
    untried = len(path) - len(fits)
    return Choice(
        place=len(path) - 1 - place,
        scores=(None,) * untried + tuple(fit.score for fit in reversed(fits)),
        iterations=(0,) * untried + tuple(fit.iterations for fit in reversed(fits)),
        converged=(None,) * untried + tuple(fit.converged for fit in reversed(fits)),
        chosen=_classifier(basis, fits[place].coefs),
        refit=_classifier(basis, refit.coefs),
        refit_converged=bool(both.reached(refit).all()),
    )


@dataclass(frozen=True)
class _Fit:
    """A penalty's fit to training data, at its optimum or on the way to it; `coefs` are (q, r + 1, k)."""

    score: float
    iterations: int
    converged: bool | None
    coefs: Tensor
    hard: bool


@dataclass(frozen=True)
class _Held:
    """The problem of training samples, and the validation data that its solutions are judged by."""

    task: Task
    judge: Callable[[Tensor], float]

    def rows(self, dtype: torch.dtype) -> Tensor:
        """(m, r + 1) validation samples in the eigenbasis."""
        basis = self.task.basis
        return (basis.features if dtype == torch.float64 else basis.single)[len(self.task.labels) :]

    def fits(self, found: Minimum, penalties: int, *, optimal: bool) -> list[_Fit]:
        """The fits of some penalties, with their scores."""
        scores = linear_scores(self.rows(found.coefs.dtype), found.coefs)
        parts = zip(
            scores.chunk(penalties, dim=1),
            found.iterations.chunk(penalties),
            self.task.reached(found).chunk(penalties),
            found.coefs.chunk(penalties),
            strict=True,
        )
        return [
            _Fit(
                self.judge(part.flatten(1)), int(count.max()), bool(good.all()) if optimal else None, coefs, found.hard
            )
            for part, count, good, coefs in parts
        ]


class _Settled:
    """Detects when predictions of validation samples hardly change any more, for problems that are solved together."""

    def __init__(self, rows: Tensor, problems: int, changed: float = CHANGED) -> None:
        """Start before any check.

        Args:
            rows: (m, r + 1) validation samples.
            changed: the share of predictions that may change.
        """
        self._rows, self._changed = rows, changed
        self._before = rows.new_zeros(len(rows), problems)

    def __call__(self, iteration: int, index: Tensor, coefs: Tensor) -> Tensor:
        """(p,) which of the problems `index` have settled."""
        if iteration % CHECKED:
            return torch.zeros_like(index, dtype=torch.bool)
        scores = linear_scores(self._rows, coefs)
        before, several = self._before[:, index], scores.shape[2] > 1
        now = scores.argmax(2).to(before) if several else scores[:, :, 0]
        self._before[:, index] = now
        if iteration == 0:
            return torch.zeros_like(index, dtype=torch.bool)
        if several:
            return (now != before).to(now).mean(0) <= self._changed
        return (now - before).square().mean(0) <= SCORES_CHANGED**2 * now.var(0, correction=0)


def _fit_grid(
    held: _Held,
    path: Tensor,
    converge: Converge,
    block: int | None,
    solved: Sequence[Solved],
    watch: Callable[[Solved], None],
) -> list[_Fit]:
    """Fits from the strongest penalty on: to their optima, or far enough to choose among them."""
    task = held.task if converge == "all" else held.task.coarse(MOST_ITERATIONS)
    rows = held.rows(task.features[0].dtype)
    done, fits = usable(solved, path, task), list[_Fit]()
    rule: Callable[[int], Settled] | None = None if converge == "all" else lambda problems: _Settled(rows, problems)
    for stretch in chain(done, walk(task, path, block, done=done, settled=rule)):
        fits += held.fits(stretch.found, len(stretch.penalties), optimal=converge == "all")
        if stretch not in done:
            watch(stretch)
        if converge == "chosen" and len(fits) - 1 - _best(fits) >= HOPELESS:
            break
    return fits


def _fit_further(held: _Held, path: Tensor, fits: list[_Fit]) -> None:
    """Continue the fits that are nearly as good as the best, if any, until fewer of their predictions change."""
    task = held.task.coarse(MOST_ITERATIONS)
    rows = held.rows(task.features[0].dtype)
    least = fits[_best(fits)].score - CLOSE
    close = [place for place, fit in enumerate(fits) if fit.score >= least]
    for place in close if len(close) > 1 else ():
        fit = fits[place]
        settled = _Settled(rows, len(fit.coefs), FURTHER_CHANGED)
        solution = solve(task, path[place : place + 1], fit.coefs, hard=fit.hard, settled=settled)
        more = fit.iterations + int(solution.iterations.max())
        fits[place] = replace(*held.fits(solution, 1, optimal=False), iterations=more)


def _finish(
    held: _Held, path: Tensor, fits: list[_Fit], solved: Sequence[Solved], watch: Callable[[Solved], None]
) -> None:
    """Solve the best of the fits to its optimum, replacing it, and repeat until the best one is at its optimum."""
    count = 0
    while fits[place := _best(fits)].converged is None:
        solution = _optimum(held.task, count, path[: place + 1], fits[place], solved, watch)
        fits[place] = replace(
            *held.fits(solution, 1, optimal=True), iterations=fits[place].iterations + int(solution.iterations.max())
        )
        count += 1


def _optimum(
    task: Task, number: int, path: Tensor, fit: _Fit, solved: Sequence[Solved], watch: Callable[[Solved], None]
) -> Minimum:
    """The optimum of the last penalty of a path, from a nearby fit; or the stored one, by its number in its stage.

    If classes are nearly separable and the penalty is weak, a nearby fit may be a bad start: then the path is followed
    down to it, in steps of about a decade, each from the previous optimum.
    """
    one = path[-1:]
    kept = usable([replace(each, start=0) for each in solved if each.start == number], one, task)
    if kept:
        return kept[0].found
    solution = solve(replace(task, max_iterations=min(DIRECT, task.max_iterations)), one, fit.coefs, hard=fit.hard)
    if not task.reached(solution).all():
        *_, last = walk(task, path[(len(path) - 1) % STRIDE :: STRIDE], 1)
        solution = replace(last.found, iterations=solution.iterations + last.found.iterations)
    watch(Solved(number, one, solution, task.basis_name))
    return solution


def _with_classes(fit: _Fit, more: int) -> _Fit:
    """The fit as a start for one with more classes, which are as unlikely as the least likely one."""
    if not more:
        return fit
    columns = torch.zeros_like(fit.coefs[:, :, :1])
    columns[:, -1] = fit.coefs[:, -1].amin(1, keepdim=True)
    return replace(fit, coefs=torch.cat([fit.coefs, columns.expand(-1, -1, more)], dim=2))


def _best(fits: Sequence[_Fit]) -> int:
    """The index of the best fit, with ties broken in favour of the weakest penalty: the last."""
    return max(range(len(fits)), key=lambda place: (fits[place].score, place))


def _classifier(basis: Eigenbasis, coefs: Tensor) -> Classifier:
    """From (q, r + 1, k) coefficients, where q or k is 1."""
    weights, bias = basis.to_weights(coefs.double())
    return Classifier(weights.movedim(0, 1).flatten(1), bias.flatten())

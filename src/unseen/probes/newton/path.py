"""Logistic regression for a whole path of ℓ2 penalties, each to its optimum.

The linear probe of `ericsson-2021` (Ericsson, Gouk & Hospedales 2021, "How well do self-supervised models transfer?"):
45 penalties, log-spaced in [1e-6, 1e5], on raw features.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.probes.arrays import checked_features
from unseen.probes.newton.arguments import check_options, checked_classes, checked_targets
from unseen.probes.newton.lbfgs import Minimum, StopRule, minimise
from unseen.probes.newton.objective import (
    Eigenbasis,
    Problems,
    centred_eigenbasis,
    loss_and_residual,
    loss_gradient,
)
from unseen.probes.sgd.stacked import tiny_numbers_as_zero

BLOCK_ON_GPU = 5
"""Penalties solved together on a GPU, where wide products are cheap; on a CPU fewer flops win, so one at a time."""

HISTORY = 4
"""Neighbours on the path that a start is extrapolated from: up to a cubic in log λ."""

BASIS_ROWS = 256
"""Samples that a basis is told by."""

SINGLE_TOL = 3e-7
"""The relative gradient norm that single precision is trusted to reach; double takes over from there."""

ROUNDING = {torch.float32: 1e-8, torch.float64: 1e-15}
"""Gradient norms of the mean loss, over features of unit variance, that are as good as 0."""

SMALL_LOSS = 0.001
"""The share of the loss at zero weights below which the gradient must be small beside the loss itself."""

PATIENCE = {torch.float32: 30, torch.float64: 200}
"""Iterations without progress after which rounding is taken to be the reason."""


@dataclass(frozen=True)
class LogisticPath:
    """Optima of p penalties, in the order they were given.

    Attributes:
        weights, bias: (p, d, c) and (p, c), on the device of the features.
        penalties: (p,).
        objective: (p,) summed loss and penalty; of multi-label problems the sum over classes.
        gradient_norm: (p,) relative to that at zero weights, as `tol` is; of multi-label problems the greatest.
        iterations: (p,) of L-BFGS; of multi-label problems the most of any class.
        converged: (p,) whether the stopping rule was met; where False, the weights are not at the optimum.
    """

    weights: Tensor
    bias: Tensor
    penalties: Tensor
    objective: Tensor
    gradient_norm: Tensor
    iterations: Tensor
    converged: Tensor


@dataclass(frozen=True)
class Solved:
    """The next stretch of a path, as far as it takes to go on from its end.

    Attributes:
        start: how many penalties of the path are before it.
        penalties: (b,) from the strongest on.
        found: their optima, in the eigenbasis of the features.
        basis: identifies that basis; on another machine it may have other signs.
    """

    start: int
    penalties: Tensor
    found: Minimum
    basis: str

    @property
    def stop(self) -> int:
        """How many penalties of the path are solved with it."""
        return self.start + len(self.penalties)


@tiny_numbers_as_zero()
@torch.no_grad()
def logistic_path(
    X: Tensor,
    y: Tensor,
    penalties: Tensor,
    *,
    tol: float = 1e-6,
    max_iterations: int = 1000,
    block: int | None = None,
    dtype: torch.dtype = torch.float64,
    solved: Sequence[Solved] = (),
    watch: Callable[[Solved], None] = lambda solved: None,
) -> LogisticPath:
    """Multinomial logistic regression for every ℓ2 penalty of a path.

    Minimises, for each λ in `penalties`,  Σᵢ −log softmax(Wᵀxᵢ + b)[yᵢ] + ½ λ‖W‖²,  the bias not penalised:
    scikit-learn's `LogisticRegression(C=1/λ)` for three classes and more. With two there are still two columns, w and
    −w; scikit-learn has one weight vector 2w instead, and its C = 2/λ is the same classifier. With `y` of shape (n, c)
    each class is a problem of its own,  Σᵢ [log(1 + exp zᵢ) − yᵢ zᵢ] + ½ λ‖w‖²,  zᵢ = wᵀxᵢ + b.

    A problem has converged when the 2-norm of its gradient is at most `tol` times that at zero weights and the biases
    that are best there (or is at rounding error). Where the loss L has fallen below a thousandth of the loss L₀ there,
    it is at most `tol`·1000·L/L₀ times that: classes that can be separated have next to no gradient long before the
    weights are at their optimum. The gradient is that by the weights and biases for (x − μ)/σ, with μ the mean of the
    features and σ the root mean square of ‖x − μ‖, so that the rule does not depend on their origin and unit.

    The path is walked from the strongest penalty to the weakest. Each optimum starts from an extrapolation of its
    neighbours' in log λ (of the orders 0 to 3, the one of lowest objective) and is found by L-BFGS, preconditioned in
    the eigenbasis of the features (`logistic_objective`): first in float32, at twice the speed, then from there in
    float64, where most problems only have their gradient confirmed. A penalty that takes long, and those after it, get
    a closer preconditioner, if 32·d²·c bytes are not too many (`preconditioner`). An iteration is 4·n·d·c flops a
    penalty; the eigendecomposition about 4·n·d² + 10·d³ once (the smaller of n and d in place of one d). Memory: the
    features in float64 and float32, at most 28·n·d bytes, 10 pairs of weights and 36·n·c bytes a penalty of the block,
    and at most 2 GiB for that preconditioner.

    Args:
        X: (n, d) features of any real type; not modified.
        y: (n,) class indices, every one of [0, c) present; or (n, c) of 0 and 1, both present in every column.
        penalties: (p,) positive, in any order.
        tol: see above; with `dtype` float32 rounding is at about 3e-7, so that separable classes do not converge.
        max_iterations: for one penalty; where they do not suffice, `converged` says so.
        block: how many penalties are solved together; 1 on a CPU and 5 on a GPU unless given. Optima do not depend on
            it beyond `tol`.
        dtype: float64, or float32 to leave out the second stage.
        solved: what `watch` was given by an earlier call with the same arguments, from its first on: the path goes on
            behind it, to the same result. Stretches of another path, or in another basis, are not used.
        watch: called with each stretch of the path when it is solved.
    """
    check_options(penalties, tol, max_iterations, block, dtype)
    X = checked_features(X, "training")
    labels = checked_targets(y, X) if y.ndim == 2 else checked_classes(y, X)
    path, place = torch.unique(-penalties.to(X.device, torch.float64), return_inverse=True)
    path = -path  # strongest first
    task = _prepare(X, labels, float(path[0]), tol, max_iterations, dtype)
    done = _usable(solved, path, task)
    parts = [each.found for each in done]
    neighbours = [each for last in done[-HISTORY:] for each in _neighbours(task, last.found, last.penalties)][-HISTORY:]
    start, step = done[-1].stop if done else 0, block or (BLOCK_ON_GPU if X.is_cuda else 1)
    while start < len(path):
        some = path[start : start + step]
        coefs = torch.cat([_start(task, penalty, neighbours) for penalty in some.tolist()])
        parts.append(_solve(task, some, coefs, hard=bool(parts) and parts[-1].hard))
        neighbours = (neighbours + _neighbours(task, parts[-1], some))[-HISTORY:]
        watch(Solved(start, some, parts[-1], task.basis_name))
        start += len(some)
    return _collect(task, parts, path, place, dtype)


def _usable(solved: Sequence[Solved], path: Tensor, task: "_Task") -> list[Solved]:
    """The first stretches of a path that were solved before, on the device of its features."""
    usable: list[Solved] = []
    for each in solved:
        here = path[each.start : each.stop]
        follows = each.start == (usable[-1].stop if usable else 0)
        if not follows or each.basis != task.basis_name or not torch.equal(each.penalties.to(path), here):
            break
        tensors = {name: value.to(path.device) for name, value in vars(each.found).items() if name != "hard"}
        usable.append(replace(each, penalties=here, found=replace(each.found, **tensors)))
    return usable


@dataclass(frozen=True)
class _Task:
    """What stays the same along the path.

    A penalty has q problems of k columns: one of c columns or, with several labels a sample, c of one.

    Attributes:
        features: of the basis, in each precision to be used, in that order.
        labels: (n,) indices or (n, q, 1) of 0 and 1.
        zero: (q, r + 1, k) coefficients: no weights, and the biases that are best then.
        zero_losses: (q,) summed losses there.
        zero_norms: (q,) norms of the gradient of the summed loss there.
    """

    basis: Eigenbasis
    features: tuple[Tensor, ...]
    labels: Tensor
    zero: Tensor
    zero_losses: Tensor
    zero_norms: Tensor
    tol: float
    max_iterations: int

    @cached_property
    def basis_name(self) -> str:
        """Tells this basis from others of the same features, by what the first samples are in it."""
        rows = self.basis.features[:BASIS_ROWS].cpu().contiguous().numpy()
        return hashlib.sha256(self.basis.curvature.cpu().numpy().tobytes() + rows.tobytes()).hexdigest()

    def floor(self, precision: torch.dtype) -> float:
        """The norm of the summed gradient that rounding leaves."""
        return ROUNDING[precision] * len(self.labels)

    def rules(self, penalties: int) -> list[StopRule]:
        """When the problems of some penalties are solved, for each precision to be used.

        Single precision is left where double can take over: it cannot tell how a small loss falls further.
        """
        norms, losses = self.zero_norms.repeat(penalties), SMALL_LOSS * self.zero_losses.repeat(penalties)
        handover = StopRule(max(self.tol, SINGLE_TOL) * norms, torch.zeros_like(losses), self.floor(torch.float32))
        last = StopRule(self.tol * norms, losses, self.floor(torch.float64))
        return [*[handover] * (len(self.features) - 1), last]

    def problems(self, features: Tensor, penalties: Tensor) -> Problems:
        """All problems of some penalties, in the precision of `features`."""
        q, r, _ = self.zero.shape
        rows = (penalties / self.basis.scale**2).repeat_interleave(q)[:, None, None].repeat(1, r, 1)
        rows[:, -1] = 0
        labels = self.labels if self.labels.ndim == 1 else self.labels.to(features).repeat(1, len(penalties), 1)
        return Problems(features, self.basis.curvature, labels, rows.to(features))


def _prepare(X: Tensor, labels: Tensor, strongest: float, tol: float, max_iterations: int, dtype: torch.dtype) -> _Task:
    basis = centred_eigenbasis(X)
    strongest = strongest / basis.scale / basis.scale
    if not math.isfinite(strongest):
        raise UserError(f"the features differ by no more than {basis.scale:.1g}; multiply them by a constant")
    if labels.ndim == 1:
        bias = torch.bincount(labels).double().log()[None, None]
        bias -= bias.mean()
    else:
        bias = labels.mean(0).logit()[:, None]
    # Under penalties so strong that weights nearly vanish, they would vanish altogether in single precision.
    single = strongest < 1e12 * len(X)
    double = dtype == torch.float64 or not single
    losses, residual = loss_and_residual(bias[:, 0].expand(len(X), -1, -1), labels)
    return _Task(
        basis=basis,
        features=(basis.features.float(),) * single + (basis.features,) * double,
        labels=labels,
        zero=torch.cat([bias.new_zeros(len(bias), len(basis.curvature) - 1, bias.shape[2]), bias], dim=1),
        zero_losses=losses,
        zero_norms=basis.gradient_norm(loss_gradient(basis.features, residual)),
        tol=tol,
        max_iterations=max_iterations,
    )


@dataclass(frozen=True)
class _Neighbour:
    """A point of the path: log λ, (q, r + 1, k) coefficients and (n, q, k) scores, in the last precision used."""

    position: float
    coefs: Tensor
    scores: Tensor


def _neighbours(task: _Task, found: Minimum, penalties: Tensor) -> list[_Neighbour]:
    """Points of the path; scores are computed from coefficients, so that they do not depend on the way to these."""
    coefs = found.coefs.chunk(len(penalties))
    scores = task.problems(task.features[-1], penalties).scores(found.coefs).chunk(len(penalties), dim=1)
    return [_Neighbour(*each) for each in zip(penalties.log().tolist(), coefs, scores, strict=True)]


def _start(task: _Task, penalty: float, neighbours: Sequence[_Neighbour]) -> Tensor:
    """(q, r + 1, k) coefficients: for each problem, of the extrapolations from 1, 2, … neighbours the best.

    Scores are extrapolated with the coefficients, so that comparing objectives needs no product with the features.
    """
    best, lowest = task.zero.to(task.features[-1]), torch.full_like(task.zero_norms, torch.inf)
    labels = task.labels if task.labels.ndim == 1 else task.labels.to(best)
    half = penalty / task.basis.scale**2 / 2
    for order in range(1, len(neighbours) + 1):
        last = neighbours[-order:]
        shares = extrapolation_weights([each.position for each in last], math.log(penalty))
        coefs, scores = torch.zeros_like(best), torch.zeros_like(last[0].scores)
        for share, each in zip(shares, last, strict=True):
            coefs.add_(each.coefs, alpha=share)
            scores.add_(each.scores, alpha=share)
        value = loss_and_residual(scores, labels)[0] + half * coefs[:, :-1].square().sum((1, 2))
        best = torch.where((value < lowest)[:, None, None], coefs, best)
        lowest = torch.minimum(value, lowest)
    return best


def extrapolation_weights(positions: Sequence[float], at: float) -> list[float]:
    """Lagrange's weights: the polynomial through values at distinct positions is Σ weightᵢ·valueᵢ there."""
    return [math.prod((at - other) / (here - other) for other in positions if other != here) for here in positions]


def _solve(task: _Task, penalties: Tensor, coefs: Tensor, *, hard: bool) -> Minimum:
    """The optima of some penalties, one precision after the other; `hard` is whether their neighbours were."""
    iterations = torch.zeros(len(coefs), dtype=torch.long, device=coefs.device)
    for features, rule in zip(task.features, task.rules(len(penalties)), strict=True):
        found = minimise(
            task.problems(features, penalties),
            coefs.to(features),
            norm=task.basis.gradient_norm,
            rule=rule,
            limits=task.max_iterations - iterations,
            patience=PATIENCE[features.dtype],
            hard=hard,
        )
        coefs, iterations, hard = found.coefs, iterations + found.iterations, hard or found.hard
    return replace(found, iterations=iterations, hard=hard)


def _collect(task: _Task, parts: Sequence[Minimum], path: Tensor, place: Tensor, dtype: torch.dtype) -> LogisticPath:
    """The result, in the order of the penalties as they were given: `place` is where on the path each is."""
    q = len(task.zero)

    def ordered(pieces: Sequence[Tensor]) -> Tensor:
        """(p, q, …)"""
        joined = torch.cat(list(pieces))
        return joined.view(len(path), q, *joined.shape[1:])[place]

    weights, bias = task.basis.to_weights(ordered([part.coefs for part in parts]).double())
    norms = ordered([part.gradient_norm for part in parts])
    nothing_to_learn = task.zero_norms <= task.floor(torch.float64)
    return LogisticPath(
        weights=weights.movedim(1, 2).flatten(2).to(dtype),  # either q or k is 1
        bias=bias.flatten(1).to(dtype),
        penalties=path[place],
        objective=ordered([part.objective for part in parts]).sum(1).to(dtype),
        gradient_norm=torch.where(nothing_to_learn, 0, norms / task.zero_norms).amax(1),
        iterations=ordered([part.iterations for part in parts]).amax(1),
        converged=(nothing_to_learn | ordered([part.converged for part in parts])).all(1),
    )

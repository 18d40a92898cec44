"""One logistic problem for a sequence of penalties, from the strongest on, each started from the previous ones."""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.probes.newton.hessian import newton_after
from unseen.probes.newton.lbfgs import Minimum, StopRule, minimise
from unseen.probes.newton.objective import Eigenbasis, Problems, loss_and_residual, loss_gradient

BLOCK_ON_GPU = 5
"""Penalties solved together on a GPU, where wide products are cheap; on a CPU fewer flops win, so one at a time."""

HISTORY = 4
"""Neighbours on the path that a start is extrapolated from: up to a cubic in log λ."""

TOO_WEAK = 1e-5
"""The share of the squared length of the longest column of features below which a penalty is too weak to start from
zero weights.
"""

APPROACHED_FROM = 1e-2
"""The share from which such a penalty is approached: there, the weights are still small."""

ON_THE_WAY = 100
"""Iterations for a penalty on that way, most of which take 10 to 40."""

BASIS_ROWS = 256
"""Number of samples by which a basis is identified."""

SINGLE_TOL = 3e-7
"""The relative gradient norm that single precision can reliably reach; double precision continues from there."""

ROUNDING = {torch.float32: 1e-8, torch.float64: 1e-15}
"""Gradient norms of the mean loss, over features of unit variance, that count as 0."""

SMALL_LOSS = 0.001
"""The share of the loss at zero weights below which the gradient must be small relative to the loss itself."""

PATIENCE = {torch.float32: 30, torch.float64: 200}
"""Iterations without progress after which rounding is assumed to be the reason."""

Settled = Callable[[int, Tensor, Tensor], Tensor]
"""Decides which problems are solved well enough: see `minimise`."""


@dataclass(frozen=True)
class Solved:
    """The next part of a path, with everything needed to continue after it.

    Attributes:
        start: number of penalties of the path before it.
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
        """Number of penalties of the path solved up to its end."""
        return self.start + len(self.penalties)


@dataclass(frozen=True)
class Task:
    """Everything that is constant along the path.

    A penalty has q problems of k columns: one of c columns or, with several labels per sample, c of one.

    Attributes:
        features: of the first samples of the basis, in each precision to be used, in that order.
        curvature: (r + 1,) squared lengths of their columns, approximately.
        labels: (n,) indices or (n, q, 1) of 0 and 1.
        zero: (q, r + 1, k) coefficients: zero weights with the best biases.
        zero_losses: (q,) summed losses there.
        zero_norms: (q,) norms of the gradient of the summed loss there.
    """

    basis: Eigenbasis
    features: tuple[Tensor, ...]
    curvature: Tensor
    labels: Tensor
    zero: Tensor
    zero_losses: Tensor
    zero_norms: Tensor
    tol: float
    max_iterations: int

    @cached_property
    def basis_name(self) -> str:
        """Distinguishes this basis from others of the same features, by the coordinates of the first samples."""
        rows = self.basis.features[:BASIS_ROWS].cpu().contiguous().numpy()
        return hashlib.sha256(self.basis.curvature.cpu().numpy().tobytes() + rows.tobytes()).hexdigest()

    def coarse(self, max_iterations: int) -> "Task":
        """The same in its first precision only, with fewer iterations: for rough solutions."""
        most = min(max_iterations, self.max_iterations)
        return replace(self, features=self.features[:1], max_iterations=most)

    def reached(self, found: Minimum) -> Tensor:
        """Which of some penalties' problems are at their optimum; all, if nothing can be learned."""
        nothing_to_learn = self.zero_norms <= self.floor(torch.float64)
        return found.converged | nothing_to_learn.repeat(len(found.converged) // len(nothing_to_learn))

    def floor(self, precision: torch.dtype) -> float:
        """The norm of the summed gradient that is due to rounding."""
        return ROUNDING[precision] * len(self.labels)

    def rules(self, penalties: int) -> list[StopRule]:
        """When the problems of some penalties are solved, for each precision to be used.

        Single precision ends where double can continue: it cannot resolve how a small loss decreases further.
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
        return Problems(features, self.curvature, labels, rows.to(features))


def prepare(
    basis: Eigenbasis, labels: Tensor, strongest: float, tol: float, max_iterations: int, dtype: torch.dtype
) -> Task:
    """The problem of the first samples of a basis, as many as there are labels."""
    n = len(labels)
    strongest = strongest / basis.scale / basis.scale
    if not math.isfinite(strongest):
        raise UserError(f"the features differ by no more than {basis.scale:.1g}; multiply them by a constant")
    if labels.ndim == 1:
        bias = torch.bincount(labels).double().log()[None, None]
        bias -= bias.mean()
    else:
        bias = labels.mean(0).logit()[:, None]
    # Under penalties so strong that weights nearly vanish, they would underflow in single precision.
    single = strongest < 1e12 * n
    double = dtype == torch.float64 or not single
    losses, residual = loss_and_residual(bias[:, 0].expand(n, -1, -1), labels)
    return Task(
        basis=basis,
        features=(basis.single[:n],) * single + (basis.features[:n],) * double,
        curvature=basis.curvature * (n / len(basis.features)),
        labels=labels,
        zero=torch.cat([bias.new_zeros(len(bias), len(basis.curvature) - 1, bias.shape[2]), bias], dim=1),
        zero_losses=losses,
        zero_norms=basis.gradient_norm(loss_gradient(basis.features[:n], residual)),
        tol=tol,
        max_iterations=max_iterations,
    )


@dataclass(frozen=True)
class _Neighbour:
    """A point of the path: log λ, (q, r + 1, k) coefficients and (n, q, k) scores, in the last precision used."""

    position: float
    coefs: Tensor
    scores: Tensor


def _neighbours(task: Task, solution: Minimum, penalties: Tensor) -> list[_Neighbour]:
    """Points of the path; scores are recomputed from coefficients, so that they do not depend on how these were
    reached.
    """
    coefs = solution.coefs.chunk(len(penalties))
    scores = task.problems(task.features[-1], penalties).scores(solution.coefs).chunk(len(penalties), dim=1)
    return [_Neighbour(*each) for each in zip(penalties.log().tolist(), coefs, scores, strict=True)]


def _start(task: Task, penalty: float, neighbours: Sequence[_Neighbour]) -> Tensor:
    """(q, r + 1, k) coefficients: for each problem, the best of the extrapolations from 1, 2, … neighbours.

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
    """Lagrange weights: the polynomial through values at distinct positions is Σ weightᵢ·valueᵢ there."""
    return [math.prod((at - other) / (here - other) for other in positions if other != here) for here in positions]


def solve(
    task: Task, penalties: Tensor, coefs: Tensor, *, hard: bool = False, settled: Settled | None = None
) -> Minimum:
    """The optima of some penalties, one precision after the other; `hard` tells whether their neighbours were hard.

    Newton steps need double precision: if they are worth their cost, single precision is left when they are due.
    """
    iterations = torch.zeros(len(coefs), dtype=torch.long, device=coefs.device)
    after: int | None = None
    for features, rule in zip(task.features, task.rules(len(penalties)), strict=True):
        problems, limits = task.problems(features, penalties), task.max_iterations - iterations
        double, last = features.dtype == torch.float64, features is task.features[-1]
        if after is None:
            after = newton_after(problems, coefs.shape[2])
        if after is not None and not last:
            limits = limits.clamp(max=after)
        minimum = minimise(
            problems,
            coefs.to(features),
            norm=task.basis.gradient_norm,
            rule=rule,
            limits=limits,
            patience=PATIENCE[features.dtype],
            hard=hard,
            newton=after if double else None,
            settled=settled,
        )
        if after is not None and not minimum.converged.all():
            after = 0
        coefs, iterations, hard = minimum.coefs, iterations + minimum.iterations, hard or minimum.hard
    return replace(minimum, iterations=iterations, hard=hard)


def usable(solved: Sequence[Solved], path: Tensor, task: Task) -> list[Solved]:
    """The usable leading parts of a path that were solved before, on the device of its features."""
    parts: list[Solved] = []
    for each in solved:
        here = path[each.start : each.stop]
        follows = each.start == (parts[-1].stop if parts else 0)
        if not follows or each.basis != task.basis_name or not torch.equal(each.penalties.to(path), here):
            break
        tensors = {name: value.to(path.device) for name, value in vars(each.found).items() if name != "hard"}
        parts.append(replace(each, penalties=here, found=replace(each.found, **tensors)))
    return parts


def approach(task: Task, strongest: float) -> list[float]:
    """Penalties on the way to the strongest one of a path, if that is too weak to start from zero weights; else none.

    Only the ratio of a penalty to the squared scale of the features matters: features that are a million times as large
    make every penalty of a path 10¹² times as weak. Without neighbours L-BFGS may then take hundreds of iterations, or
    more than allowed. From a penalty that hardly lets the weights grow, in steps of a decade, it takes some 30 for
    each. The optima are the same.
    """
    largest = float(task.curvature[:-1].max()) if len(task.curvature) > 1 else 0.0
    ratio = strongest / task.basis.scale / task.basis.scale / largest if largest else math.inf
    if ratio >= TOO_WEAK or not ratio:
        return []
    decades = math.ceil(math.log10(APPROACHED_FROM / ratio))
    return [strongest * 10.0**number for number in range(decades, 0, -1)]


def walk(
    task: Task,
    path: Tensor,
    block: int | None = None,
    *,
    done: Sequence[Solved] = (),
    settled: Callable[[int], Settled] | None = None,
) -> Iterator[Solved]:
    """Solve the penalties of a path, (p,) from the strongest on, and yield each part when it is solved.

    Args:
        block: number of penalties solved together; by default 1 on a CPU and `BLOCK_ON_GPU` on a GPU.
        done: the earlier parts, which are not yielded.
        settled: creates the rule by which fits of this many problems end before their optimum.
    """
    before = list(done[-HISTORY:])
    few = sum(len(each.penalties) for each in before) < HISTORY
    if few and (stronger := approach(task, float(path[0]))):
        rough = replace(task, max_iterations=min(ON_THE_WAY, task.max_iterations))
        before = [*walk(rough, path.new_tensor(stronger), 1, settled=settled), *before]
    neighbours = [each for last in before for each in _neighbours(task, last.found, last.penalties)][-HISTORY:]
    hard = bool(before) and before[-1].found.hard
    start, step = done[-1].stop if done else 0, block or (BLOCK_ON_GPU if path.is_cuda else 1)
    while start < len(path):
        some = path[start : start + step]
        coefs = torch.cat([_start(task, penalty, neighbours) for penalty in some.tolist()])
        solution = solve(task, some, coefs, hard=hard, settled=settled and settled(len(coefs)))
        neighbours, hard = (neighbours + _neighbours(task, solution, some))[-HISTORY:], solution.hard
        yield Solved(start, some, solution, task.basis_name)
        start += len(some)

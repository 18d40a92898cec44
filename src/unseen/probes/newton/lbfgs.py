"""L-BFGS for many logistic problems at once: shared products, with a separate memory and line search for each problem.

An iteration is two products with the features (2·n·r·p·k flops each): the change of the scores along the direction, and
the gradient. Scores are linear in the coefficients, so trial steps of the line search need no product.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.linalg import vector_norm

from unseen.probes.newton.hessian import newton_direction
from unseen.probes.newton.objective import Problems, loss_and_residual
from unseen.probes.newton.preconditioner import Blocks, Diagonal, affordable, worth

MEMORY = 10
"""Number of pairs kept; on wide features, 5 or 40 change the number of iterations by a few per cent."""

TRIALS = 20
SHALLOW = 0.9
STEEP = 0.8
"""A step is accepted if the slope has risen to SHALLOW of the first one, and is not beyond STEEP of its opposite."""


@dataclass(frozen=True)
class Minimum:
    """The end state of the optimiser.

    Attributes:
        coefs: (p, r + 1, k).
        objective: (p,) summed loss and penalty.
        gradient_norm: (p,), float64, by the given norm.
        iterations: (p,).
        converged: (p,) whether the norm was small enough.
        hard: whether the diagonal preconditioner did not suffice for some problem.
    """

    coefs: Tensor
    objective: Tensor
    gradient_norm: Tensor
    iterations: Tensor
    converged: Tensor
    hard: bool


@dataclass(frozen=True)
class StopRule:
    """When a gradient is small enough: its norm is at most  (floor + targetₚ) · min(1, lossₚ / small_lossₚ).

    If classes are separable, loss and gradient both tend to 0 as the weights grow: a norm that is small relative to the
    initial one then says little, and has to be small relative to the loss. So does rounding, which is relative to the
    terms of the gradient.

    Attributes:
        targets: (p,) norms.
        small_losses: (p,) summed losses below which targets decrease in proportion.
        floor: the norm due to rounding.
    """

    targets: Tensor
    small_losses: Tensor
    floor: float

    def limits(self, losses: Tensor) -> Tensor:
        """(p,) norms to stop at, for the current summed losses of the problems."""
        losses = losses.double()
        share = torch.where(losses < self.small_losses, losses / self.small_losses, 1.0)
        return (self.floor + self.targets) * share

    def select(self, chosen: Tensor) -> "StopRule":
        """The rule for some of the problems."""
        return StopRule(self.targets[chosen], self.small_losses[chosen], self.floor)


@dataclass(frozen=True)
class _Point:
    """Coefficients of p problems and the results of one evaluation; shapes as in `Problems`."""

    coefs: Tensor
    scores: Tensor
    loss: Tensor
    residual: Tensor
    gradient: Tensor

    def select(self, chosen: Tensor) -> "_Point":
        return _Point(
            self.coefs[chosen],
            self.scores[:, chosen],
            self.loss[chosen],
            self.residual[:, chosen],
            self.gradient[chosen],
        )


class Curvature:
    """The last m steps s and gradient changes y of p problems, as an approximation H of the inverse Hessian.

    Compact form of Byrd, Nocedal & Schnabel 1994 (Theorem 2.2): with the pairs as columns of S and Y, oldest first, R
    the upper triangle of SᵀY, D its diagonal and γ = s·y / y·y of the newest pair,

        H g = γ g + S R⁻ᵀ((D + γ YᵀY) a − γ Yᵀg) − γ Y a,    a = R⁻¹ Sᵀg.

    The two inner products SᵀY and YᵀY are stored, so that a direction reads S and Y twice and nothing else is long.
    Pairs are divided by |s|, which does not change H and keeps their squares in range. A pair without positive
    curvature is left out: its slot is zero, with 1 on the diagonal of R.
    """

    def __init__(self, like: Tensor) -> None:
        """Start with no curvature information about problems with (p, r + 1, k) coefficients."""
        p, size = len(like), like[0].numel()
        self._steps = like.new_zeros(p, MEMORY, size)
        self._changes = like.new_zeros(p, MEMORY, size)
        self._products = like.new_zeros(p, MEMORY, MEMORY, dtype=torch.float64)
        self._squares = like.new_zeros(p, MEMORY, MEMORY, dtype=torch.float64)
        self._gamma = like.new_ones(p, 1, 1, dtype=torch.float64)
        self._count = 0

    def push(self, step: Tensor, change: Tensor) -> None:
        """Replace the oldest pair by a new one, each (p, r + 1, k)."""
        s, y = step.flatten(1), change.flatten(1)
        length = vector_norm(s, dim=1, keepdim=True)
        s, y = s / length, y / length
        good = (s * y).sum(1, keepdim=True) > 1e-7 * vector_norm(y, dim=1, keepdim=True)
        s, y = torch.where(good, s, 0), torch.where(good, y, 0)
        slot = self._count % MEMORY
        self._steps[:, slot], self._changes[:, slot] = s, y
        by_change = _inner(self._changes, torch.stack([s, y], dim=2))
        self._products[:, :, slot] = _inner(self._steps, y[:, :, None])[:, :, 0]
        self._products[:, slot] = by_change[:, :, 0]
        self._squares[:, :, slot] = self._squares[:, slot] = by_change[:, :, 1]
        ratio = by_change[:, slot, 0] / by_change[:, slot, 1]
        self._gamma = torch.where(good[:, :, None], ratio[:, None, None], self._gamma)
        self._count += 1

    def apply(self, gradient: Tensor) -> Tensor:
        """H times a (p, r + 1, k) gradient."""
        if self._count == 0:
            return gradient
        oldest = self._count % MEMORY
        length: Tensor = vector_norm(gradient, dim=(1, 2), keepdim=True)
        g = (gradient / length).view(len(gradient), -1, 1)  # the squares of a tiny gradient would underflow
        products, squares = (kept.roll((-oldest, -oldest), (1, 2)) for kept in (self._products, self._squares))
        along, against = (_inner(kept, g).roll(-oldest, 1) for kept in (self._steps, self._changes))
        diagonal = products.diagonal(dim1=1, dim2=2)
        triangle = products.triu() + torch.diag_embed((diagonal == 0).double())
        a = torch.linalg.solve_triangular(triangle, along, upper=True)
        right = diagonal[:, :, None] * a + self._gamma * (squares @ a - against)
        by_steps = torch.linalg.solve_triangular(triangle.mT, right, upper=False)
        out = self._gamma.to(g) * g
        for share, kept in ((by_steps, self._steps), (-self._gamma * a, self._changes)):
            out = torch.baddbmm(out, kept.mT, share.roll(oldest, 1).to(g))
        return out.view_as(gradient) * length

    def forget(self, chosen: Tensor) -> None:
        """Reset some of the problems."""
        for kept in (self._steps, self._changes, self._products, self._squares):
            kept[chosen] = 0
        self._gamma[chosen] = 1

    def select(self, chosen: Tensor) -> None:
        """Keep some of the problems."""
        self._steps, self._changes = self._steps[chosen], self._changes[chosen]
        self._products, self._squares = self._products[chosen], self._squares[chosen]
        self._gamma = self._gamma[chosen]


def _inner(rows: Tensor, columns: Tensor) -> Tensor:
    """(p, m, j) products of the (p, m, size) rows and (p, size, j) columns of each problem, in float64."""
    return (rows @ columns).double()


def minimise(
    problems: Problems,
    coefs: Tensor,
    *,
    norm: Callable[[Tensor], Tensor],
    rule: StopRule,
    limits: Tensor,
    patience: int,
    hard: bool = False,
    newton: int | None = None,
    settled: Callable[[int, Tensor, Tensor], Tensor] | None = None,
) -> Minimum:
    """Run L-BFGS from `coefs` until each problem's gradient is small enough by the rule.

    Solved problems leave the batch and cost nothing more. A problem also ends at its iteration limit, and when rounding
    prevents progress: if no step descends, or after `patience` iterations that brought neither a new smallest norm nor
    an objective lower by more than its rounding error. The norm alone is not sufficient: for weak penalties it can rise
    for 40 iterations in a row while the objective decreases.

    Args:
        coefs: (p, r + 1, k) in the dtype of the problems' features.
        norm: norm of (p, r + 1, k) gradients, as (p,), in float64.
        limits: (p,) maximum numbers of iterations.
        hard: whether to start with a block preconditioner, because similar problems took long without.
        newton: the iteration from which steps are Newton steps (`hessian`); None for never.
        settled: called in every iteration with its number, the indices of unfinished problems and their coefficients;
            returns, (p,), which are solved well enough for the caller.
    """
    coefs = problems.without_common_part(coefs)
    point = _evaluate(problems, coefs, problems.scores(coefs))
    minimum = Minimum(
        coefs=torch.empty_like(point.coefs),
        objective=torch.empty_like(point.loss),
        gradient_norm=torch.empty_like(rule.targets),
        iterations=torch.zeros_like(limits),
        converged=torch.zeros_like(limits, dtype=torch.bool),
        hard=False,
    )
    preconditioner: Diagonal | Blocks = Diagonal.of(problems, point.residual)
    memory, unit = Curvature(coefs), preconditioner.unit_gradient(point.gradient)
    switch = (0 if hard else worth(problems)) if affordable(problems, coefs.shape[2]) else None
    index = torch.arange(len(coefs), device=coefs.device)
    stuck = torch.zeros_like(index, dtype=torch.bool)
    smallest, since = torch.full_like(rule.targets, torch.inf), torch.zeros_like(index)
    lowest = torch.full_like(point.loss, torch.inf)
    rounding = 10 * torch.finfo(lowest.dtype).eps
    iteration = 0
    while True:
        norms, objective = norm(point.gradient), point.loss + problems.penalty(point.coefs)
        lower = lowest - objective > rounding * objective
        since = torch.where((norms < smallest) | lower, 0, since + 1)
        smallest, lowest = torch.minimum(norms, smallest), torch.where(lower, objective, lowest)
        met = norms <= rule.limits(point.loss)
        done = met | (iteration >= limits[index]) | (since >= patience) | stuck
        if settled is not None:
            done |= settled(iteration, index, point.coefs)
        if done.any():
            where, last = index[done], point.select(done)
            minimum.coefs[where] = last.coefs
            minimum.objective[where] = objective[done]
            minimum.gradient_norm[where], minimum.iterations[where] = norms[done], iteration
            minimum.converged[where] = met[done]
            if done.all():
                return replace(minimum, hard=isinstance(preconditioner, Blocks))
            index, since, smallest, lowest = index[~done], since[~done], smallest[~done], lowest[~done]
            point, problems, preconditioner = point.select(~done), problems.select(~done), preconditioner.select(~done)
            rule, unit = rule.select(~done), unit[~done]
            memory.select(~done)
        if iteration == switch:
            preconditioner = Blocks.of(problems, point.residual) or preconditioner
            memory, unit = Curvature(point.coefs), preconditioner.unit_gradient(point.gradient)
        direction = preconditioner.direction(_downhill(unit, memory))
        if newton is not None and iteration >= newton:
            exact, good = newton_direction(problems, point.scores, point.gradient)
            direction = torch.where(good[:, None, None], exact, direction)
        new, stuck = _search_line(problems, point, problems.without_common_part(direction))
        after = preconditioner.unit_gradient(new.gradient)
        memory.push(preconditioner.unit_step(new.coefs - point.coefs), after - unit)
        point, unit = new, after
        iteration += 1


def _downhill(unit: Tensor, memory: Curvature) -> Tensor:
    """A descent direction from the stored curvature; if rounding has spoilt it, steepest descent, memory reset."""
    direction = memory.apply(unit)
    spoilt = ~((direction * unit).sum((1, 2)) > 0)
    if spoilt.any():
        memory.forget(spoilt)
        direction = torch.where(spoilt[:, None, None], unit, direction)
    return -direction


def _evaluate(problems: Problems, coefs: Tensor, scores: Tensor) -> _Point:
    loss, residual = loss_and_residual(scores, problems.labels)
    return _Point(coefs, scores, loss, residual, problems.gradient(coefs, residual))


def _search_line(problems: Problems, point: _Point, direction: Tensor) -> tuple[_Point, Tensor]:
    """The point one step along the direction, and (p,) whether no descending step was found.

    The objective is convex, so its slope increases along the line: a step is too short while the slope is nearly the
    first one, and too long if it is steeply positive, or positive at all with the objective above its start by more
    than rounding (the approximate Wolfe conditions of Hager & Zhang 2005, which do not compare values that agree in all
    digits). Steps are tried from 1 by the secant of the slopes, within the current bracket.
    """
    change = problems.scores(direction)
    bend = problems.penalties * direction
    pull, stiffness = (bend * point.coefs).sum((1, 2)), (bend * direction).sum((1, 2))
    first = (point.residual * change).sum((0, 2)) + pull
    rounding = 10 * torch.finfo(change.dtype).eps * point.loss
    step, low, high = torch.ones_like(first), torch.zeros_like(first), torch.full_like(first, torch.inf)
    low_slope, high_slope = first, torch.zeros_like(first)
    for _ in range(TRIALS):
        scores = torch.addcmul(point.scores, change, step[:, None])
        loss, residual = loss_and_residual(scores, problems.labels)
        slope = (residual * change).sum((0, 2)) + pull + step * stiffness
        rise = loss - point.loss + step * (pull + 0.5 * step * stiffness)
        short = slope < SHALLOW * first
        long = ~((slope <= 0) | ((slope <= -STEEP * first) & (rise <= rounding)))  # also true for NaN
        if not (short | long).any():
            break
        low, low_slope = torch.where(short, step, low), torch.where(short, slope, low_slope)
        high, high_slope = torch.where(long, step, high), torch.where(long, slope, high_slope)
        further = step * (first / (first - slope)).nan_to_num().clamp(2, 10)
        between = low + (high - low) * (low_slope / (low_slope - high_slope)).nan_to_num().clamp(0.1, 0.9)
        step = torch.where(short | long, torch.where(high.isinf(), further, between), step)
    else:
        step = torch.where(short | long, low, step)
        scores = torch.addcmul(point.scores, change, step[:, None])
        loss, residual = loss_and_residual(scores, problems.labels)
    coefs = torch.addcmul(point.coefs, direction, step[:, None, None])
    return _Point(coefs, scores, loss, residual, problems.gradient(coefs, residual)), step == 0

"""Newton steps with the exact Hessian, for problems with few coefficients.

If classes are just separable, or nearly so, and the penalty is weak relative to the square of the features' scale, all
curvature comes from a few samples, it changes by orders of magnitude on the way to the optimum, and the columns of a
softmax are strongly coupled. L-BFGS may then take thousands of iterations with any fixed preconditioner, while Newton's
method takes about as many as log(1/loss), typically 5 to 30. The Hessian of k columns has k² blocks of r × r:

    H_ab = Xᵀ diag(π_a (δ_ab − π_b)) X + δ_ab λ.

Building it takes n·(k·r)² flops (half of it is computed) and solving with it (k·r)³/3.
"""

import torch
from torch import Tensor

from unseen.probes.newton.objective import Problems

MOST_BYTES = 1 << 29
"""Maximum memory for the Hessians of all problems and their factors."""

SPEED = 4.0
"""How much faster its large products are than those of an iteration of L-BFGS, per flop."""

COST = 240.0
"""The most that a Hessian may cost, in iterations of L-BFGS: the first one is then due before 1000 of them."""

JITTER = 1e-14
"""Added to the diagonal of a Hessian with diagonal 1, so that rounding does not make it singular."""


def newton_after(problems: Problems, columns: int) -> int | None:
    """The iteration from which Newton steps are worth their cost, for problems of this many columns; None for never.

    Most problems are solved before; the others have then taken as long as four steps.
    """
    n, r = problems.features.shape
    size = r * columns
    cost = (size / 4 + size**2 / (12 * n)) / SPEED
    if cost > COST or 3 * 8 * len(problems.penalties) * size**2 > MOST_BYTES:
        return None
    return max(20, round(4 * cost))


def newton_direction(problems: Problems, scores: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """−H⁻¹g of p problems, (p, r + 1, k), and (p,) whether rounding left each Hessian positive definite.

    Args:
        scores: (n, p, k).
        gradient: (p, r + 1, k), including the penalty.
    """
    p, r, k = gradient.shape
    features = problems.features.double()
    hessians = features.new_empty(p, k * r, k * r)
    for number in range(p):
        _fill(hessians[number].view(k, r, k, r), features, scores[:, number].double())
    diagonal = hessians.diagonal(dim1=1, dim2=2)
    diagonal += problems.penalties[:, :, 0].double().repeat(1, k)
    if k > 1:
        # Adding the same to all columns changes no probability. A penalty on it does not change the solution, as the
        # gradient has no such part, and makes the Hessian regular.
        common = diagonal.view(p, k, r).mean(1) / k
        hessians.view(p, k, r, k, r).diagonal(dim1=2, dim2=4).add_(common[:, None, None])
    unit = diagonal.clamp(min=torch.finfo(diagonal.dtype).tiny).rsqrt()
    scaled = hessians.mul_(unit[:, :, None]).mul_(unit[:, None])
    scaled.diagonal(dim1=1, dim2=2).add_(JITTER)
    factor, failed = torch.linalg.cholesky_ex(scaled)
    right = unit * gradient.double().mT.reshape(p, k * r)
    solution = unit * torch.cholesky_solve(right[:, :, None], factor)[:, :, 0]
    direction = -solution.view(p, k, r).mT
    return direction.to(gradient.dtype), (failed == 0) & direction.isfinite().all((1, 2))


def _fill(hessian: Tensor, features: Tensor, scores: Tensor) -> None:
    """Fill a (k, r, k, r) Hessian of the loss at (n, k) scores."""
    k = scores.shape[1]
    if k == 1:
        shown = scores.sigmoid()
        hessian[0, :, 0] = features.T @ (features * (shown * (-scores).sigmoid()))
        return
    chances = scores.softmax(1)
    # 1 − π would lose all digits of the largest π if it is near 1.
    best = chances.argmax(1, keepdim=True)
    others = (1 - chances).scatter_(1, best, chances.scatter(1, best, 0.0).sum(1, keepdim=True))
    weighted = (features[:, None] * chances[:, :, None]).flatten(1)
    r = features.shape[1]
    for column in range(k):
        hessian[column, :, column] = features.T @ (features * (chances[:, column] * others[:, column])[:, None])
        if column + 1 < k:
            beyond = -(weighted[:, column * r : (column + 1) * r].T @ weighted[:, (column + 1) * r :])
            hessian[column, :, column + 1 :] = beyond.view(r, k - column - 1, r)
            hessian[column + 1 :, :, column] = beyond.view(r, k - column - 1, r).permute(1, 2, 0)

"""Units for the coefficients of logistic problems in which their Hessian is near the identity.

A preconditioner M approximates the Hessian of p problems of k columns, column by column, neglecting couplings of
columns. An optimiser works with u = Lᵀw, where M = L Lᵀ: there gradients are L⁻¹g, a direction u is L⁻ᵀu in w, and a
step s in w is Lᵀs.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from unseen.probes.newton.objective import Problems

ROWS = 4
"""Samples per direction from which blocks are computed: their Hessian is then known to within about a half."""

MOST_BYTES = 1 << 31
"""Maximum memory for blocks; beyond it, they are not used."""

JITTER = 1e-13
"""Added to a block, relative to its largest diagonal element, so that rounding does not make it singular."""


@dataclass(frozen=True)
class Diagonal:
    """M = h·s + λ, diagonal in the eigenbasis of the features.

    Attributes:
        root: (p, r + 1, k) M^-½.
    """

    root: Tensor

    @staticmethod
    def of(problems: Problems, residual: Tensor) -> "Diagonal":
        """The preconditioner at (n, p, k) residuals."""
        return Diagonal(problems.scaling(residual))

    def unit_gradient(self, gradient: Tensor) -> Tensor:
        return self.root * gradient

    def direction(self, unit: Tensor) -> Tensor:
        return self.root * unit

    def unit_step(self, step: Tensor) -> Tensor:
        return step / self.root

    def select(self, chosen: Tensor) -> "Diagonal":
        """The preconditioner of some of the problems."""
        return Diagonal(self.root[chosen])


@dataclass(frozen=True)
class Blocks:
    """M = Xᵀ diag(π(1 − π)) X + λ for each column, from a sample of the rows.

    For weak penalties, few samples are uncertain and all curvature comes from them: directions that are equivalent over
    all samples are not for those, and the diagonal is a poor approximation. On features of Fashion-MNIST (48,000 ×
    1280, λ = 30) blocks need a fifth of the iterations.

    Attributes:
        factor: (p, k, r + 1, r + 1) L, lower triangles.
        inverse: L⁻¹.
    """

    factor: Tensor
    inverse: Tensor

    @staticmethod
    def of(problems: Problems, residual: Tensor) -> "Blocks | None":
        """The preconditioner at (n, p, k) residuals; None if rounding left no curvature, or made a block singular."""
        _, p, k = residual.shape
        r = problems.features.shape[1]
        size = residual.abs()
        weights = (size - size.square()).sum((1, 2))
        if not bool((weights > 0).any()):
            return None
        rows, factors = _sample(weights, ROWS * r)
        features, size = problems.features[rows].double(), size[rows].double()
        curvature = (size - size.square()) * factors[:, None, None]
        blocks = features.new_empty(p, k, r, r)
        for problem in range(p):
            for column in range(k):
                weighted = features * curvature[:, problem, column, None]
                torch.mm(features.T, weighted, out=blocks[problem, column])
        diagonal = blocks.diagonal(dim1=2, dim2=3)
        diagonal += problems.penalties[:, None, :, 0]
        diagonal += JITTER * diagonal.amax(2, keepdim=True)
        factor, failed = torch.linalg.cholesky_ex(blocks)
        if failed.any():
            return None
        unit = torch.eye(r, dtype=factor.dtype, device=factor.device).expand_as(factor)
        inverse = torch.linalg.solve_triangular(factor, unit, upper=False)
        return Blocks(factor.to(residual), inverse.to(residual))

    def unit_gradient(self, gradient: Tensor) -> Tensor:
        return _times(self.inverse, gradient)

    def direction(self, unit: Tensor) -> Tensor:
        return _times(self.inverse.mT, unit)

    def unit_step(self, step: Tensor) -> Tensor:
        return _times(self.factor.mT, step)

    def select(self, chosen: Tensor) -> "Blocks":
        """The preconditioner of some of the problems."""
        if bool(chosen.all()):
            return self
        return replace(self, factor=self.factor[chosen], inverse=self.inverse[chosen])


def affordable(problems: Problems, columns: int) -> bool:
    """Whether blocks for all problems, with this many columns each, are within bounds, including the work of computing
    them.
    """
    r = problems.features.shape[1]
    return 4 * 8 * len(problems.penalties) * columns * r * r <= MOST_BYTES


def worth(problems: Problems) -> int:
    """Number of iterations that cost about as much as computing blocks.

    Blocks are computed for a problem that has taken as many: at worst it then takes twice as long.
    """
    n, r = problems.features.shape
    return max(min(n, ROWS * r) * r // (2 * n), 20)


def _sample(weights: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """A sample of rows for estimating sums of terms proportional to (n,) weights, and the factor of each row.

    Systematic sampling: rows are selected at equal distances along the cumulative weights. A row of large weight is
    certainly selected, possibly several times.
    """
    if len(weights) <= count:
        return torch.arange(len(weights), device=weights.device), torch.ones_like(weights, dtype=torch.float64)
    along = weights.double().cumsum(0)
    places = (torch.arange(count, device=weights.device) + 0.5) / count * along[-1]
    rows, met = torch.unique_consecutive(torch.searchsorted(along, places), return_counts=True)
    return rows, met * along[-1] / (count * weights[rows].double())


def _times(matrices: Tensor, vectors: Tensor) -> Tensor:
    """(p, r, k) products of (p, k, r, r) matrices with the columns of (p, r, k) vectors."""
    rows = vectors.mT[:, :, None] @ matrices.mT  # from the left, which takes a CPU half the time
    return rows[:, :, 0].mT.contiguous()

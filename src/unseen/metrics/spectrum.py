"""Measures of the spectrum of features that need no labels: RankMe, α-ReQ and the participation ratio.

None of them says how good features are. They grow with the number of samples and with the width, so values are
comparable for equal numbers of samples only.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.metrics.geometry import check_features

EPSILON = 1e-7
"""The constant of RankMe, of the order of the rounding of float32."""
FIRST, LAST = 11, 100
"""Indices, from 1, of the eigenvalues that the exponent of α-ReQ is fitted to."""
LEAST_INDICES = 10
"""A power law is not fitted to fewer eigenvalues."""


@dataclass(frozen=True)
class Exponent:
    """The exponent of a power law, and the first and the last index of the eigenvalues that it is fitted to."""

    value: float
    first: int
    last: int


def eigenvalues(X: Tensor, *, centred: bool) -> Tensor:
    """(min(n, d),) eigenvalues of XᵀX, or of (X − x̄)ᵀ(X − x̄), the largest first, in float64.

    They are those of the smaller of the two Gram matrices, XᵀX and XXᵀ: 2·n·d·min(n, d) flops, and min(n, d)³ for the
    eigenvalues. X is divided by its largest magnitude first, so only their ratios have a meaning. A Gram matrix in
    float64 resolves singular values down to about 1e-8 of the largest one, which is the rounding of features in
    float32; smaller ones are noise of that size, or 0.

    Args:
        X: (n, d) features of any real dtype; not modified.
    """
    check_features(X)
    largest = float(X.detach().abs().max())
    if largest == 0:
        raise UserError("all features are 0, so they have no spectrum")
    rows = X.detach().double() / largest
    if centred:
        rows = rows - rows.mean(dim=0)
    gram = rows.T @ rows if rows.shape[0] >= rows.shape[1] else rows @ rows.T
    found: Tensor = torch.linalg.eigvalsh(gram).flip(0).clamp(min=0).cpu()
    return found


def rankme(squares: Tensor, epsilon: float = EPSILON) -> float:
    """exp(−Σₖ pₖ log pₖ) with pₖ = σₖ / Σσ + ε (Garrido et al. 2023): a smooth rank of the features.

    At most the smaller of the numbers of samples and dimensions, up to ε. Its authors compare runs of one method with
    it, and not different methods.

    Args:
        squares: squares of all singular values of the features, which are not centred: `eigenvalues(X, centred=False)`.
    """
    singular = squares.sqrt()
    shares = singular / singular.sum() + epsilon
    return float(torch.exp(-(shares * shares.log()).sum()))


def participation_ratio(spectrum: Tensor) -> float:
    """(Σλ)² / Σλ² of the eigenvalues of the covariance: d if all are equal, 1 if there is one direction.

    Args:
        spectrum: eigenvalues of the covariance, up to a factor: `eigenvalues(X, centred=True)`.
    """
    if float(spectrum.sum()) == 0:
        raise UserError("the features of all samples are equal, so they have no covariance")
    return float(spectrum.sum() ** 2 / spectrum.square().sum())


def alpha_req(spectrum: Tensor, samples: int, first: int = FIRST, last: int = LAST) -> Exponent | None:
    """α of λⱼ ∝ j^(−α), by least squares of log λⱼ on log j (α-ReQ; Agrawal et al. 2022).

    The fit ends at the numerical rank if it is smaller than `last`; with fewer than ten eigenvalues from `first` on
    there is no exponent.

    Args:
        spectrum: as for `participation_ratio`, the largest first.
        samples: number of samples, which decides what counts as 0 beside rounding.
        first, last: indices from 1.
    """
    nothing = float(spectrum[0]) * max(samples, len(spectrum)) * torch.finfo(torch.float64).eps
    end = min(last, int((spectrum > nothing).sum()))
    if end - first + 1 < LEAST_INDICES:
        return None
    x = torch.arange(first, end + 1, dtype=torch.float64).log()
    y = spectrum[first - 1 : end].log()
    x = x - x.mean()
    return Exponent(-float((x * y).sum() / x.square().sum()), first, end)

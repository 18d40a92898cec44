"""The intrinsic dimension of features by their two nearest neighbours, TwoNN.

Facco, d'Errico, Rodriguez & Laio 2017, "Estimating the intrinsic dimension of datasets by a minimal neighborhood
information". Where the density is constant over the distance to the second neighbour, μ = r₂/r₁ has the distribution
function 1 − μ^(−d), whatever the density is.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unseen.metrics.geometry import check_features

DISCARDED = 0.1
"""Share of the largest ratios that the fit leaves out, as the paper advises."""
CANDIDATES = 4
"""Neighbours whose distances are computed again from differences, as those from products are rounded."""
BLOCK = 1024
"""Rows whose distances to all others are in memory at a time."""


@dataclass(frozen=True)
class TwoNN:
    """The result.

    Attributes:
        dimension: None if it is not defined: of fewer than three different samples, or if all ratios are 1.
        duplicates: samples that were removed because an earlier one has the same features.
        ratios: number of ratios r₂/r₁ that the line was fitted to.
    """

    dimension: float | None
    duplicates: int
    ratios: int


def two_nn(X: Tensor, discarded: float = DISCARDED) -> TwoNN:
    """The slope of −log(1 − i/N) on log μᵢ through the origin, for the ratios μ₁ ≤ … ≤ μ_N without the largest ones.

    Samples with the same features as another, whose r₁ is 0, are removed first and counted. 2·n²·d flops in float64
    for the distances, by blocks of rows.

    Args:
        X: (n, d) features of any real dtype, compared by Euclidean distance; not modified.
    """
    check_features(X)
    rows = _different(X)
    duplicates, N = len(X) - len(rows), len(rows)
    kept = int(N * (1 - discarded))
    if N < 3 or kept < 1:
        return TwoNN(None, duplicates, 0)
    nearest = _two_nearest(rows)
    logs = (nearest[:, 1] / nearest[:, 0]).log().sort().values[:kept].cpu().numpy()
    heights = -np.log1p(-np.arange(1, kept + 1) / N)
    squares = float(logs @ logs)
    return TwoNN(float(logs @ heights) / squares if squares > 0 else None, duplicates, kept)


def _different(X: Tensor) -> Tensor:
    """The rows in float64 without those that are equal to an earlier one, about their mean and of magnitude 1."""
    rows = np.ascontiguousarray(X.detach().double().cpu().numpy() + 0.0)  # −0 becomes 0
    whole = rows.view(np.dtype((np.void, rows.strides[0]))).ravel()  # each row as one value, compared byte by byte
    first = torch.from_numpy(np.sort(np.unique(whole, return_index=True)[1]))
    unique = X.detach()[first.to(X.device)].double()
    unique = unique - unique.mean(dim=0)
    largest = unique.abs().max()
    return unique / largest if largest > 0 else unique


def _two_nearest(rows: Tensor) -> Tensor:
    """(n, 2) distances to the two nearest other rows; all rows are different."""
    squares, found = rows.square().sum(dim=1), []
    candidates = min(CANDIDATES, len(rows) - 1)
    for start in range(0, len(rows), BLOCK):
        own = rows[start : start + BLOCK]
        distances = squares - 2 * (own @ rows.T)  # and the square of the own row, which changes no order
        each = torch.arange(len(own), device=rows.device)
        distances[each, each + start] = torch.inf
        near = distances.topk(candidates, dim=1, largest=False).indices
        exact = (rows[near] - own[:, None]).norm(dim=2)
        found.append(exact.sort(dim=1).values[:, :2])
    return torch.cat(found)

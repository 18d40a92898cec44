"""Geometry of features on the unit sphere: alignment of each concept's samples, uniformity of all samples.

Wang & Isola 2020, "Understanding contrastive representation learning through alignment and uniformity on the
hypersphere". Rows are ℓ2-normalised first; a row of zeros, which has no direction, stays at the centre of the sphere,
as in the ImageNet-CoG code. Computed in float64 if the features are, in float32 otherwise; sums over samples, and over
the rows of a block of pairs, are in float64.
"""

from collections.abc import Iterator
from math import log

import torch
from torch import Tensor

from unseen.errors import UserError, row_numbers


def alignment(X: Tensor, y: Tensor, alpha: float = 2.0) -> float:
    """Mean of ‖u − v‖^α over all pairs of different samples of the same concept; smaller is tighter.

    Every pair has the same weight, so a concept of m samples has weight m(m−1)/2. For α = 2 no pairs are formed: a
    concept's sum over pairs is m·Σ‖u − ū‖² about its mean ū, which costs 3·n·d flops and, unlike m² − ‖Σu‖², loses no
    digits if samples are close. For other α the pairs of one concept at a time are formed, with 3·m²/2·d flops each.

    Args:
        X: (n, d) features of any real dtype; not modified.
        y: (n,) class indices, or any integers.
    """
    check_features(X)
    if y.ndim != 1 or len(y) != len(X) or y.is_floating_point() or y.is_complex():
        raise UserError(f"{len(X)} rows of features need as many integer labels, not shape {tuple(y.shape)}")
    if alpha <= 0:
        raise UserError(f"the exponent of alignment must be positive, not {alpha}")
    _, labels, counts = torch.unique(y.to(X.device), return_inverse=True, return_counts=True)
    pairs = int((counts * (counts - 1) // 2).sum())
    if pairs == 0:
        raise UserError("every class has a single sample, so there is no pair to measure alignment on")
    total = _squares(X, labels, counts) if alpha == 2 else _powers(X, labels, counts, alpha)
    return total / pairs


def uniformity(X: Tensor, t: float = 2.0, *, block: int = 4096) -> float:
    """−log of the mean of exp(−t‖u − v‖²) over all n(n−1)/2 pairs of different samples; larger is more uniform.

    The sign is flipped as in ImageNet-CoG's first version, whose models have 1.8 to 3.1. Exact: pairs are not sampled.
    On the sphere ‖u − v‖² = 2 − 2u·v, and one less for each of the two that is a row of zeros, so pairs are computed as
    products of blocks of rows, each pair of blocks once: n²·d flops in total, and 8·block² bytes besides the rows for
    any n. Potentials are summed relative to the largest of their block, so none underflow at large t.

    Args:
        X: (n, d) features of any real dtype; not modified.
        block: rows per block; affects the memory and, beyond rounding, nothing else.
    """
    check_features(X)
    if t <= 0:
        raise UserError(f"the temperature of uniformity must be positive, not {t}")
    n = len(X)
    if n < 2:
        raise UserError("uniformity needs pairs, but there is a single sample")
    rows = unit_rows(X)
    logs = torch.stack(list(_block_potentials(rows, t, block)))
    return log(n * (n - 1) / 2) - float(logs.logsumexp(dim=0))


def unit_rows(X: Tensor) -> Tensor:
    """Rows of length 1, in float64 if X is and in float32 otherwise; rows of any scale are first scaled to magnitude 1.

    A row of zeros stays zero.
    """
    X = X if X.dtype == torch.float64 else X.float()
    rows: Tensor = X / _or_one(torch.linalg.vector_norm(X, ord=float("inf"), dim=1, keepdim=True))
    rows /= _or_one(torch.linalg.vector_norm(rows, dim=1, keepdim=True))
    return rows


def row_lengths(X: Tensor) -> tuple[Tensor, Tensor]:
    """The divisors of `unit_rows`: (n, 1) largest magnitudes, then (n, 1) lengths of the rows divided by these."""
    X = X if X.dtype == torch.float64 else X.float()
    largest = _or_one(torch.linalg.vector_norm(X, ord=float("inf"), dim=1, keepdim=True))
    return largest, _or_one(torch.linalg.vector_norm(X / largest, dim=1, keepdim=True))


def _or_one(lengths: Tensor) -> Tensor:
    """Lengths to divide by, with 0 replaced by 1."""
    return torch.where(lengths == 0, 1, lengths)


def _block_potentials(rows: Tensor, t: float, block: int) -> Iterator[Tensor]:
    """For each pair of blocks, the log of the sum of exp(−t‖u − v‖²), in float64; each pair of rows occurs once."""
    parts = torch.split(rows, block)
    zeros = [torch.where((part == 0).all(dim=1))[0] for part in parts]
    for i, left in enumerate(parts):
        for j, right in enumerate(parts[i:]):
            if j == 0 and len(left) == 1:
                continue  # a block of one row contains no pair
            exponents = (left @ right.T).sub_(1)
            # −½‖u − v‖², which is ½ more for a row of zeros.
            exponents.index_add_(0, zeros[i], exponents.new_full((len(zeros[i]), len(right)), 0.5))
            exponents.index_add_(1, zeros[i + j], exponents.new_full((len(left), len(zeros[i + j])), 0.5))
            exponents.mul_(2 * t)
            # Rounding can make the product of equal rows exceed 1, i.e. their squared distance negative.
            exponents.clamp_(max=0)
            if j == 0:
                exponents.masked_fill_(torch.ones_like(exponents, dtype=torch.bool).tril_(), float("-inf"))
            peak = exponents.max()
            yield peak.double() + exponents.sub_(peak).exp_().sum(dim=1).sum(dtype=torch.float64).log()


def _squares(X: Tensor, labels: Tensor, counts: Tensor, block: int = 4096) -> float:
    """Sum of squared distances over pairs of the same class: m·Σ‖u − ū‖², in two passes over blocks of rows."""
    parts = list(zip(torch.split(X, block), torch.split(labels, block), strict=True))
    means = torch.zeros(len(counts), X.shape[1], dtype=torch.float64, device=X.device)
    for rows, classes in parts:
        means.index_add_(0, classes, unit_rows(rows).double())
    means /= counts[:, None]
    total = means.new_zeros(())
    for rows, classes in parts:
        spread = (unit_rows(rows) - means[classes]).square_().sum(dim=1)
        total += (spread * counts[classes]).sum()
    return float(total)


def _powers(X: Tensor, labels: Tensor, counts: Tensor, alpha: float) -> float:
    """Sum of distances to the power α over pairs of the same class, with the pairs of one class at a time in memory."""
    total = torch.zeros((), dtype=torch.float64, device=X.device)
    for members in torch.split(labels.argsort(), counts.tolist()):
        total += torch.pdist(unit_rows(X[members])).double().pow_(alpha).sum()
    return float(total)


def check_features(X: Tensor) -> None:
    """Refuse anything but an (n, d) matrix of finite real numbers with n, d ≥ 1."""
    if X.ndim != 2 or X.numel() == 0:
        raise UserError(f"features must be samples × dimensions, not of shape {tuple(X.shape)}")
    if X.is_complex():
        raise UserError("the features are complex numbers; give real ones")
    bad = torch.where(~torch.isfinite(X).all(dim=1))[0]
    if len(bad):
        raise UserError(f"the features contain values that are not finite: {row_numbers(bad.tolist())}")

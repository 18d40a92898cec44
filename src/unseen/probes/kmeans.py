"""k-means by Lloyd's iterations from several starts; the clustering of least inertia is kept.

The same seed and device give the same numbers, also on a GPU: sums over samples are computed in a fixed order, and the
random draws of k-means++ compare integers, whose sums do not depend on order. Other devices, numbers of threads and
16-bit products round differently, so a sample half-way between two centres may be assigned to the other one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.probes.arrays import Frame, checked_features, group_sums, row_blocks
from unseen.probes.products import wide_product

MOST_MOVED = 0.6
"""Share of moved centres above which all samples are compared with all centres."""
HALF_TOL = 1e-6
"""Minimum tolerance for 16-bit products: below it, rounding can move samples back and forth forever."""
ON_CENTRE = 1e-8
"""A squared distance below this, in a frame of numbers up to 1, may be rounding: the sample is at its centre."""


@dataclass(frozen=True)
class KMeans:
    """The clustering of least inertia among those of all seeds.

    Attributes:
        centres: (k, d) in float32, or float64 if X was; on the device of X.
        assignments: (n,) the nearest centre of each sample.
        inertia: sum of squared distances of samples to their centres, from float32 differences summed in float64.
        iterations: updates of the centres.
        converged: False if it was stopped by `max_iterations`.
        seed: seed of the winning start; None for given centres.
        inertias: inertia for every seed, in order.
    """

    centres: Tensor
    assignments: Tensor
    inertia: float
    iterations: int
    converged: bool
    seed: int | None
    inertias: tuple[float, ...]


def kmeans(
    X: Tensor,
    k: int,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    start: Literal["k-means++", "random"] | Tensor = "k-means++",
    max_iterations: int = 300,
    tol: float = 1e-4,
    half: bool | None = None,
) -> KMeans:
    """Partition samples into k clusters with small Σᵢ ‖xᵢ − c(i)‖².

    An iteration costs 2·n·d·k flops for the nearest centres and n·d additions for the new ones; late iterations, in
    which few centres move, cost a fraction (`_reassign`). Memory: one float32 copy of X (one more in 16 bits with
    `half`), blocks of at most 1 GiB, and for k-means++ 4·n·(2 + ln k) bytes per seed. A cluster that loses all its
    samples gets the sample farthest from its centre; if fewer than k samples are distinct, some clusters stay empty.

    Args:
        X: (n, d) samples of any real dtype; not modified.
        start: how each seed draws its first centres from the samples, or (k, d) centres, which are then used alone.
            "k-means++" is the greedy form (Arthur & Vassilvitskii 2007, section 5; as in scikit-learn): each centre is
            the best of 2 + ⌊ln k⌋ samples drawn in proportion to their squared distance.
        tol: stop when the squared moves of the centres sum to less than this share of the mean variance per dimension;
            0 continues until no sample changes its cluster.
        half: first find nearest centres with 16-bit products, then finish with float32 iterations, so that the result
            is one of float32. By default on a GPU and not on a CPU.
    """
    X = checked_features(X, "k-means")
    _check(X, k, seeds, start, max_iterations)
    frame = Frame.of(X)
    points = frame.enter(X)
    variance = float(torch.linalg.vector_norm(points)) ** 2 / points.numel()
    passes = [(points, tol * variance)]
    if X.is_cuda if half is None else half:
        passes.insert(0, (points.half(), max(tol, HALF_TOL) * variance))
    if isinstance(start, Tensor):
        starts = frame.enter(start.detach().to(X.device))[None]
    else:
        starts = points[_spread(passes[0][0], k, seeds) if start == "k-means++" else _drawn(len(X), k, seeds)]
    runs = [_lloyd(passes, centres, max_iterations) for centres in starts]
    inertias = tuple(run.inertia * frame.unit**2 for run in runs)
    if not all(map(math.isfinite, inertias)):
        raise UserError("the distances of k-means are not finite numbers; scale the features")
    best = min(range(len(runs)), key=lambda i: inertias[i])
    return KMeans(
        centres=frame.leave(runs[best].centres).to(torch.float64 if X.dtype == torch.float64 else torch.float32),
        assignments=runs[best].assignments,
        inertia=inertias[best],
        iterations=runs[best].iterations,
        converged=runs[best].converged,
        seed=None if isinstance(start, Tensor) else seeds[best],
        inertias=inertias,
    )


def assign(X: Tensor, centres: Tensor) -> Tensor:
    """(n,) the nearest of (k, d) centres for each of (n, d) samples, the first among ties."""
    X, centres = checked_features(X, "assigned"), checked_features(centres.to(X.device), "centres'")
    if X.shape[1] != centres.shape[1]:
        raise UserError(f"samples of {X.shape[1]} dimensions do not match centres of {centres.shape[1]}")
    frame = Frame.of(centres)
    inside = frame.enter(centres)
    half_norms = inside.square().sum(dim=1) / 2
    nearest = torch.empty(len(X), dtype=torch.int64, device=X.device)
    for rows in row_blocks(len(X), 4 * (len(centres) + X.shape[1]), X.device):
        greatest, nearest[rows] = (frame.enter(X[rows]) @ inside.T).sub_(half_norms).max(dim=1)
        if not bool(greatest.isfinite().all()):
            raise UserError("distances to the centres of k-means are not finite numbers; scale the features")
    return nearest


@dataclass(frozen=True)
class _Run:
    """The end state of one start; fields as in `KMeans`, within the frame."""

    centres: Tensor
    assignments: Tensor
    inertia: float
    iterations: int
    converged: bool


def _lloyd(passes: Sequence[tuple[Tensor, float]], centres: Tensor, max_iterations: int) -> _Run:
    """Lloyd's iterations with each copy of the samples in turn, until the centres' squared moves sum to its tolerance.

    The last copy is in float32, and centres are always its means.
    """
    points = passes[-1][0]
    assignments = torch.zeros(len(points), dtype=torch.int64, device=points.device)
    counted = torch.full_like(assignments, -1)  # the cluster whose sum contains each sample
    sums = torch.zeros_like(centres, dtype=torch.float64)
    scores = torch.empty(len(points), device=points.device)
    iterations, converged = 0, False
    for copy, tol in passes:
        moved = torch.ones(len(centres), dtype=torch.bool, device=points.device)
        shift = math.inf
        while True:
            _reassign(copy, centres, assignments, scores, moved)
            converged = shift <= tol or torch.equal(assignments, counted)
            if converged or iterations == max_iterations:
                break
            sizes = _fill_empty(points, centres, assignments)
            _recount(points, assignments, counted, sums)
            means = (sums / sizes.clamp(min=1)[:, None]).float()
            updated = torch.where((sizes > 0)[:, None], means, centres)
            moved = (updated != centres).any(dim=1)
            shift = float((updated - centres).square().sum())
            centres = updated
            iterations += 1
    inertia = float(_squared_distances(points, centres, assignments).sum(dtype=torch.float64))
    return _Run(centres, assignments, inertia, iterations, converged)


def _reassign(X: Tensor, centres: Tensor, assignments: Tensor, scores: Tensor, moved: Tensor) -> None:
    """Assign samples to their nearest centres, in place.

    The nearest centre has the largest x·c − ½‖c‖², which `scores` stores for each sample. While a sample's own centre
    does not move, only a moved centre can become nearer. So all samples are compared with the moved centres, and only
    those whose own centre moved with the others: with a share f of moved centres and their samples, f(2 − f) of the
    flops for the same clusters.
    """
    if float(moved.float().mean()) > MOST_MOVED:
        moved = torch.ones_like(moved)
    left = torch.where(moved[assignments])[0]
    for rows, rival in ((None, moved), (left, ~moved)):
        if bool(rival.any()):
            _contest(X, rows, centres, rival, assignments, scores)


def _contest(
    X: Tensor, rows: Tensor | None, centres: Tensor, rival: Tensor, assignments: Tensor, scores: Tensor
) -> None:
    """Let the centres marked as rivals, (k,) booleans, win samples (None for all) from their current centres.

    On a tie a sample stays. A maximum is much faster to find than its index, so the index is only computed for samples
    that are won.
    """
    rivals, place = torch.where(rival)[0], (rival.cumsum(dim=0) - 1).clamp(min=0)
    contenders = centres[rivals]
    half_norms = contenders.square().sum(dim=1, keepdim=True) / 2
    contenders = contenders.to(X.dtype)
    count = len(X) if rows is None else len(rows)
    for block in row_blocks(count, 4 * (len(contenders) + X.shape[1]), X.device):
        chosen = block if rows is None else rows[block]
        samples = X[block] if rows is None else X.index_select(0, rows[block])
        offers = wide_product(contenders, samples.T).sub_(half_norms)
        holder = assignments[chosen]
        held = torch.where(rival[holder], offers.gather(0, place[holder][None])[0], scores[chosen])
        best = offers.amax(dim=0)
        won = torch.where(best > held)[0]
        holder[won] = rivals[offers.index_select(1, won).max(dim=0).indices]
        assignments[chosen] = holder
        scores[chosen] = torch.maximum(best, held)


def _recount(points: Tensor, assignments: Tensor, counted: Tensor, sums: Tensor) -> None:
    """Update the sums of clusters in place by the samples that changed cluster: 2·d additions each.

    A cluster without changes keeps a bit-identical sum, so its centre does not move.
    """
    rows = torch.where(assignments != counted)[0]
    if len(rows) > len(points) // 4:
        sums.copy_(group_sums(points, assignments, len(sums)))
    else:
        sums += group_sums(points, assignments[rows], len(sums), rows)
        sums -= group_sums(points, counted[rows], len(sums), rows)
    counted.copy_(assignments)


def _fill_empty(points: Tensor, centres: Tensor, assignments: Tensor) -> Tensor:
    """Give each empty cluster the sample farthest from its centre, in place; returns the (k,) sizes of clusters."""
    sizes = torch.bincount(assignments, minlength=len(centres))
    empty = torch.where(sizes == 0)[0]
    if len(empty):
        distances, order = _squared_distances(points, centres, assignments).sort(descending=True, stable=True)
        apart = distances > ON_CENTRE
        apart[1:] &= distances[1:] != distances[:-1]  # of repeated samples, one is enough
        chosen = order[apart][: len(empty)]
        assignments[chosen] = empty[: len(chosen)]
        sizes = torch.bincount(assignments, minlength=len(centres))
    return sizes


def _squared_distances(points: Tensor, centres: Tensor, assignments: Tensor) -> Tensor:
    """(n,) squared distances of samples to their centres, by differences rather than products, which cancel."""
    distances = torch.empty(len(points), device=points.device)
    for rows in row_blocks(len(points), 8 * points.shape[1], points.device):
        distances[rows] = (points[rows] - centres.index_select(0, assignments[rows])).square_().sum(dim=1)
    return distances


def _drawn(n: int, k: int, seeds: Sequence[int]) -> Tensor:
    """(seeds, k) indices of distinct samples."""
    return torch.stack([torch.randperm(n, generator=Generator().manual_seed(seed))[:k] for seed in seeds])


def _spread(X: Tensor, k: int, seeds: Sequence[int]) -> Tensor:
    """(seeds, k) indices of samples drawn by greedy k-means++.

    One product per step serves the candidates of all seeds: X is read k times for any number of seeds. A sample is
    drawn by the position of a random number among the cumulative sums of squared distances; these are integers up to
    2⁶², so that the sums are exact and the draw does not depend on a GPU's order of summation.
    """
    n, trials, device = len(X), 2 + int(math.log(k)), X.device
    uniform = [torch.rand(k, trials, dtype=torch.float64, generator=Generator().manual_seed(seed)) for seed in seeds]
    draws = torch.stack(uniform, dim=1).to(device)
    norms = torch.cat([X[rows].float().square().sum(dim=1) for rows in row_blocks(n, 8 * X.shape[1], device)])
    each = torch.arange(len(seeds), device=device)
    chosen = [(draws[0, :, 0] * n).long()]
    closest = _to_all(X, norms, chosen[0])
    for step in range(1, k):
        scale = 2.0**62 / closest.numel() / closest.amax(dim=1, keepdim=True).double().clamp(min=1e-30)
        sums = (closest * scale).long().flatten().cumsum(dim=0)
        ends = sums[n - 1 :: n]
        totals = ends.diff(prepend=ends.new_zeros(1))
        targets = (ends - totals)[:, None] + (draws[step] * totals[:, None]).long()
        candidates = (torch.searchsorted(sums, targets, right=True) - n * each[:, None]).clamp(0, n - 1)
        distances = torch.minimum(_to_all(X, norms, candidates.flatten()).view(len(seeds), trials, n), closest[:, None])
        best = distances.sum(dim=2).argmin(dim=1)
        chosen.append(candidates[each, best])
        closest = distances[each, best]
    return torch.stack(chosen, dim=1)


def _to_all(X: Tensor, norms: Tensor, chosen: Tensor) -> Tensor:
    """(m, n) squared distances of m samples to all."""
    return wide_product(X, X[chosen].T).mul_(-2).add_(norms[:, None]).add_(norms[chosen]).clamp_(min=0).T


def _check(X: Tensor, k: int, seeds: Sequence[int], start: str | Tensor, max_iterations: int) -> None:
    if not 1 <= k <= len(X):
        raise UserError(f"k-means needs between 1 and {len(X)} clusters for {len(X)} samples, not {k}")
    if not len(seeds):
        raise UserError("k-means needs at least one seed")
    if max_iterations < 1:
        raise UserError(f"k-means needs at least one iteration, not {max_iterations}")
    if isinstance(start, Tensor):
        if start.shape != (k, X.shape[1]):
            raise UserError(f"a start for {k} clusters must have shape ({k}, {X.shape[1]}), not {tuple(start.shape)}")
        checked_features(start, "start's")
    elif start not in {"k-means++", "random"}:
        raise UserError(f"{start!r} is not a start of k-means; choose k-means++ or random")

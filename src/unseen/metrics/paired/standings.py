"""Ranks of backbones that say what is resolved: intervals of ranks, tie groups, and a winner only if there is one.

A percentile bootstrap of ranks does not cover true ranks where backbones are nearly equal. Tests of pairs with the
family-wise error under control do: with probability of at least 95% no comparison of a backbone is called resolved in
the wrong direction or between equals, and then its true rank is within its interval (Mogstad, Romano, Shaikh and
Wilhelm 2024).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.comparisons import holm
from unseen.metrics.ranks import rank
from unseen.metrics.resampling import Floats


@dataclass(frozen=True)
class Standings:
    """Backbones from the best to the worst; all arrays have this order.

    Attributes:
        value: what they are ranked by.
        rank: from 1, the best; equal values share the better rank.
        low, high: range of true ranks that the comparisons leave possible, for each backbone with 95% confidence.
        group: tie group from 1. The first has the best backbone and all whose difference from it is not resolved, the
            next the best of the others and so on.
        resolved_better: (B, B) whether the row is resolved to be better than the column, among the comparisons of the
            row.
    """

    names: tuple[str, ...]
    value: Floats
    rank: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    group: NDArray[np.int64]
    resolved_better: NDArray[np.bool_]

    @property
    def winner(self) -> str | None:
        """The backbone that is resolved to be better than all others."""
        alone = len(self.names) > 1 and int((self.group == 1).sum()) == 1
        return self.names[0] if alone else None

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The names of each tie group."""
        numbers = range(1, int(self.group.max(initial=0)) + 1)
        return tuple(
            tuple(name for name, own in zip(self.names, self.group, strict=True) if own == number) for number in numbers
        )


def standings(
    names: Sequence[str],
    values: Floats,
    differences: Floats,
    p_values: Floats,
    *,
    higher_is_better: bool = True,
    level: float = 0.95,
) -> Standings:
    """Rank backbones by their values, with what paired tests resolve.

    For each backbone, Holm's method corrects its tests against all others. Its rank interval is from 1 + the number of
    backbones that are resolved to be better to B − the number of those that are resolved to be worse.

    Args:
        values: (B,) scores.
        differences, p_values: (B, B) of the pairs, row minus column, two-sided; NaN where a pair cannot be compared,
            which leaves its order open. The diagonal is not read.
    """
    count, scores = len(names), np.asarray(values, dtype=np.float64)
    shapes = (np.shape(differences), np.shape(p_values))
    if scores.shape != (count,) or shapes != ((count, count),) * 2 or not count or not np.isfinite(scores).all():
        raise UserError(f"{count} names need as many finite values and a square of differences, not {shapes[0]}")
    sign = 1.0 if higher_is_better else -1.0
    adjusted = np.array([_corrected(np.asarray(p_values, dtype=np.float64)[own], own) for own in range(count)])
    ahead = sign * np.asarray(differences, dtype=np.float64)
    resolved = adjusted <= 1 - level
    better, worse = resolved & (ahead > 0), resolved & (ahead < 0)
    order = np.argsort(-sign * scores, kind="stable")
    sorted_better = better[np.ix_(order, order)]
    return Standings(
        names=tuple(names[place] for place in order),
        value=scores[order],
        rank=rank(sign * scores)[order],
        low=1 + worse.sum(axis=1)[order],
        high=count - better.sum(axis=1)[order],
        group=_groups(sorted_better),
        resolved_better=sorted_better,
    )


def _corrected(p_values: Floats, own: int) -> Floats:
    """Holm's p-values of one backbone against the others; 1 for itself and where there is no test."""
    adjusted = np.ones(len(p_values))
    tested = np.isfinite(p_values)
    tested[own] = False
    if tested.any():
        adjusted[tested] = holm(p_values[tested])
    return adjusted


def _groups(better: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Tie groups of backbones that are sorted from the best."""
    group = np.zeros(len(better), dtype=np.int64)
    number = 0
    while (left := np.flatnonzero(group == 0)).size:
        number += 1
        group[left[~better[left[0], left]]] = number
    return group

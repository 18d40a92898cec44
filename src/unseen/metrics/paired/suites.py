"""Combinations of independent estimates: a mean over data sets, or a change from one to another.

The mean over a suite is over these data sets, or over all of their kind. The two answer different questions, and have
different errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unseen.errors import UserError
from unseen.metrics.paired.estimate import Estimate, PairEstimates
from unseen.metrics.resampling import Floats

ROUNDING = 1e-14
"""Differences of scores below this are 0."""


@dataclass(frozen=True)
class SuiteMeans:
    """The mean difference over data sets, each with the same weight.

    Attributes:
        over_these: data sets are fixed. The error is that of each data set, from other images and seeds, and says
            nothing of other data sets.
        over_others: data sets are random. The error is from how much they differ, as if they were drawn from many of
            their kind; None with one data set.
    """

    over_these: Estimate
    over_others: Estimate | None


def suite_means(differences: Sequence[Estimate]) -> SuiteMeans:
    """The mean of the differences on each data set, with data sets as fixed (`combined`) and as random (t)."""
    if not differences:
        raise UserError("a mean over data sets needs at least one data set")
    count = len(differences)
    fixed = combined(differences, [1 / count] * count)
    if count < 2:
        return SuiteMeans(fixed, None)
    error = float(np.std([each.value for each in differences], ddof=1) / np.sqrt(count))
    return SuiteMeans(fixed, Estimate(fixed.value, fixed.value, error, count - 1.0, fixed.limits))


def combined(estimates: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """The sum Σwₖ·estimateₖ of estimates from different images and training samples, such as a drop between data sets.

    The error is √Σvₖ with vₖ = wₖ²·errorₖ², and has Satterthwaite's degrees of freedom (Σvₖ)²/Σ(vₖ²/dfₖ).

    Args:
        weights: (K,) not 0.
    """
    w = np.asarray(weights, dtype=np.float64)
    if not estimates or w.shape != (len(estimates),) or not np.all(np.isfinite(w) & (w != 0)):
        raise UserError(f"{len(estimates)} estimates are combined with as many weights other than 0, not {weights}")
    variances = (w * [each.error for each in estimates]) ** 2
    spread = float((variances**2 / [each.df for each in estimates]).sum())
    ends = np.sort(w[:, None] * [each.limits for each in estimates], axis=1).sum(axis=0)
    return Estimate(
        value=float(w @ [each.value for each in estimates]),
        centre=float(w @ [each.centre for each in estimates]),
        error=float(np.sqrt(variances.sum())),
        df=float(variances.sum() ** 2 / spread) if spread else min(each.df for each in estimates),
        limits=(float(ends[0]), float(ends[1])),
    )


def mean_of_pairs(each: Sequence[PairEstimates], groups: Sequence[str] | None = None) -> PairEstimates:
    """The mean over data sets of the differences of all pairs, with data sets as fixed: `combined` of each pair.

    Args:
        each: of the same backbones on each data set.
        groups: the group of each. Estimates of one group, such as those with several shots of one data set, may be
            correlated: their errors are added, which is an upper bound, and have the fewest of their degrees of
            freedom. By default all are independent.
    """
    if not each or (groups is not None and len(groups) != len(each)):
        raise UserError("a mean over data sets needs at least one data set, and one group for each")
    members = dict[str, list[PairEstimates]]()
    for number, estimates in enumerate(each):
        members.setdefault(str(number) if groups is None else groups[number], []).append(estimates)
    errors = np.stack([sum(one.error for one in of) / len(each) for of in members.values()])
    df = np.stack([np.min([one.df for one in of], axis=0) for of in members.values()])
    variances = errors**2
    total, spread = variances.sum(axis=0), (variances**2 / df).sum(axis=0)
    return PairEstimates(
        value=_mean([one.value for one in each]),
        centre=_mean([one.centre for one in each]),
        error=np.sqrt(total),
        df=np.divide(total**2, spread, out=df.min(axis=0), where=spread > 0),
    )


def mean_over_others(each: Sequence[PairEstimates]) -> PairEstimates | None:
    """The same with data sets as random, `SuiteMeans.over_others` of each pair; None with one data set."""
    if len(each) < 2:
        return None
    values = np.stack([one.value for one in each])
    # Equal scores may differ by rounding, which would be resolved if it were the same on all data sets.
    values = np.where(np.abs(values) < ROUNDING, 0.0, values)
    mean, error = _mean(values), np.std(values, axis=0, ddof=1) / np.sqrt(len(each))
    return PairEstimates(mean, mean, error, np.full(mean.shape, len(each) - 1.0))


def _mean(arrays: Sequence[Floats] | Floats) -> Floats:
    return np.asarray(np.mean(arrays, axis=0))

"""The difference of two backbones over several data sets: over these data sets, and over data sets of their kind."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unseen.errors import UserError
from unseen.metrics.paired.estimate import Estimate


@dataclass(frozen=True)
class SuiteMeans:
    """The mean difference over data sets, each with the same weight.

    Attributes:
        over_these: its error is that of each data set, from other images and seeds. It says nothing of other data sets.
        over_others: its error is from how much the data sets differ, as if they were drawn from many of their kind;
            None with one data set.
    """

    over_these: Estimate
    over_others: Estimate | None


def suite_means(differences: Sequence[Estimate]) -> SuiteMeans:
    """The mean of the differences on each data set, with data sets as fixed and as random.

    Fixed: the error is √Σeₖ²/K with Satterthwaite's degrees of freedom (Σeₖ²)²/Σ(eₖ⁴/dfₖ), for data sets with
    different images and training samples. Random: the standard error of K numbers, t with K − 1 degrees of freedom.
    """
    if not differences:
        raise UserError("a mean over data sets needs at least one data set")
    count = len(differences)
    values = np.array([each.value for each in differences])
    variances = np.array([each.error**2 for each in differences])
    spread = float((variances**2 / [each.df for each in differences]).sum())
    limits = min(each.limits[0] for each in differences), max(each.limits[1] for each in differences)
    fixed = Estimate(
        value=float(values.mean()),
        centre=float(np.mean([each.centre for each in differences])),
        error=float(np.sqrt(variances.sum()) / count),
        df=float(variances.sum() ** 2 / spread) if spread else min(each.df for each in differences),
        limits=limits,
    )
    if count < 2:
        return SuiteMeans(fixed, None)
    error = float(values.std(ddof=1) / np.sqrt(count))
    return SuiteMeans(fixed, Estimate(fixed.value, fixed.value, error, count - 1.0, limits))

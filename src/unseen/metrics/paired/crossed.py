"""The mean over a crossed design: every seed is evaluated on every unit, and both are samples.

A unit is a concept (concepts of a level are a sample), a test image (of tasks and shifts, whose classes are fixed) or a
class. Two-way random effects, without replication: z[s, u] = mean + seed + unit + rest. With the mean squares of units,
seeds and the rest,

    Var(mean) = max(MSu + MSs − MSe, MSu, MSs) / (U·S),

because the rest is in both MSu and MSs. The quantile is that of t, with degrees of freedom between those of seeds and
units. A percentile bootstrap over few seeds is too narrow (`benchmarks/resolution.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.paired.estimate import Estimate
from unseen.metrics.paired.linearised import linearised
from unseen.metrics.paired.units import Values
from unseen.metrics.resampling import Floats

PLUS_MINUS = (1.0, -1.0)
"""Pseudo-units of differences of hits: one image that only the first backbone classifies correctly, one that only the
second does."""
FEW = 5
"""Differing images up to which pseudo-units have full weight."""


@dataclass(frozen=True)
class Crossed(Estimate):
    """The mean over seeds and units.

    Attributes:
        seeds, units: their numbers. With one seed, the error is only about other units: it says nothing of other fits.
        of_units, of_seeds, of_rest: variance of one unit, of one seed, and of one unit under one seed beyond these,
            at least 0. With one seed, the rest is part of `of_units` and the other two are None.
    """

    seeds: int = 0
    units: int = 0
    of_units: float = 0.0
    of_seeds: float | None = None
    of_rest: float | None = None

    @property
    def these_fits_only(self) -> bool:
        """Whether there is one seed, so that the interval does not include what other fits would change."""
        return self.seeds == 1


@dataclass(frozen=True)
class Squares:
    """Sums of squares of crossed designs of one size; the arrays have any common shape, one element per design.

    Attributes:
        mean: the means.
        units: their number, and the weights of pseudo-units.
        ss_units, ss_seeds, ss_rest: S·Σᵤ(z̄ᵤ − z̄)², U·Σₛ(z̄ₛ − z̄)² and ΣΣ(zₛᵤ − z̄ₛ − z̄ᵤ + z̄)².
    """

    mean: Floats
    ss_units: Floats
    ss_seeds: Floats
    ss_rest: Floats
    seeds: int
    units: int | Floats

    @property
    def mean_squares(self) -> tuple[Floats, Floats, Floats]:
        """Of units, seeds and the rest; with one seed the last two are 0."""
        seeds, units = max(self.seeds - 1, 1), self.units - 1
        return self.ss_units / units, self.ss_seeds / seeds, self.ss_rest / (seeds * units)

    def error_and_df(self) -> tuple[Floats, Floats]:
        """Standard error of the mean and its degrees of freedom, between S − 1 and U − 1.

        Of the variance, seeds are responsible for the share w = MSs/MS, MS = max(MSu + MSs − MSe, MSu, MSs), and
        1/df = w/(S − 1) + (1 − w)/(U − 1). Satterthwaite's w²/(S − 1) + … would be right if w were known; but it is
        known from S − 1 numbers, and where it is too small by chance, so is the error: with two seeds, intervals with
        his degrees of freedom cover down to 87%, these 90.6% (`benchmarks/resolution.py`). Where nothing varies, the
        error is 0.
        """
        of_units, of_seeds, of_rest = self.mean_squares
        total = np.maximum(of_units + of_seeds - of_rest, np.maximum(of_units, of_seeds))
        share = np.divide(of_seeds, total, out=np.zeros_like(total), where=total > 0)
        inverse = share / max(self.seeds - 1, 1) + (1 - share) / (self.units - 1)
        return np.sqrt(total / (self.units * self.seeds)), np.asarray(1 / inverse)

    def with_pseudo_units(self, values: Sequence[float]) -> "Squares":
        """The same with further units that have these values under every seed, each with a weight of at most 1.

        With few differing images, an interval of the form mean ± t·error is too narrow, and empty if there are none.
        Adding one image to each side of a paired table corrects this (Agresti and Min 2005; Bonett and Price 2012),
        and is more than needed if many differ. With K the sum of squares of a seed over that of one image, which is
        the number of differing images if as many favour either side, the weight is min(1, `FEW`/K).
        """
        half_range = (max(values) - min(values)) / 2
        differing = (self.ss_units + self.ss_seeds + self.ss_rest) / (self.seeds * half_range**2)
        weight = FEW / np.maximum(differing, FEW)
        added = weight * len(values)
        total = self.units + added
        mean = (self.units * self.mean + weight * sum(values)) / total
        squares = self.units * self.mean**2 + weight * sum(value**2 for value in values) - total * mean**2
        return Squares(
            mean=mean,
            ss_units=self.ss_units + self.seeds * squares,
            ss_seeds=self.ss_seeds * (self.units / total),
            ss_rest=self.ss_rest + self.ss_seeds * (added / total),
            seeds=self.seeds,
            units=total,
        )


def crossed(
    values: Values,
    *,
    sizes: NDArray[np.integer] | None = None,
    classes: NDArray[np.integer] | None = None,
    pseudo_units: Sequence[float] = (),
) -> Crossed:
    """The mean over seeds and units with its error.

    Args:
        values: (seeds, units), at least two units; for the comparison of two backbones, their differences.
        sizes, classes: weights of units, see `linearised`.
        pseudo_units: values of units to add to the interval and its centre, but not to the value: `PLUS_MINUS` for
            differences of hits on images, nothing for concepts. They are the largest and smallest possible values, at
            which intervals end.
    """
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2:
        raise UserError(f"a crossed design has one row per seed and one column per unit, not shape {matrix.shape}")
    equal = linearised(matrix, sizes=sizes, classes=classes)
    return from_squares(squares(equal.columns(slice(None))), pseudo_units)


def squares(values: Values) -> Squares:
    """Sums of squares of designs of shape (…, seeds, units).

    Deviations that are rounding errors of the values count as 0.
    """
    matrix = np.asarray(values, dtype=np.float64)
    seeds, units = matrix.shape[-2:]
    if units < 2 or not seeds or not np.isfinite(matrix).all():
        raise UserError(f"a mean with its error needs finite values of at least 2 units, not shape {matrix.shape}")
    mean = matrix.mean(axis=(-2, -1))
    of_units = matrix.mean(axis=-2) - mean[..., None]
    of_seeds = matrix.mean(axis=-1) - mean[..., None]
    rest = matrix - mean[..., None, None] - of_units[..., None, :] - of_seeds[..., :, None]
    rounding = (1e-14 * np.abs(matrix).max(axis=(-2, -1))) ** 2 * seeds * units
    sums = (seeds * (of_units**2).sum(-1), units * (of_seeds**2).sum(-1), (rest**2).sum((-2, -1)))
    of = [np.where(one > rounding, one, 0.0) for one in sums]
    return Squares(mean, of[0], of[1], of[2], seeds, units)


def from_squares(sums: Squares, pseudo_units: Sequence[float] = ()) -> Crossed:
    """The estimate of one design from its sums of squares."""
    widened = sums.with_pseudo_units(pseudo_units) if pseudo_units else sums
    error, df = widened.error_and_df()
    of_units, of_seeds, of_rest = (float(one) for one in sums.mean_squares)
    several = sums.seeds > 1
    estimate = Crossed(
        value=float(sums.mean),
        centre=float(widened.mean),
        error=float(error),
        df=float(df),
        seeds=sums.seeds,
        units=int(sums.units),
        of_units=max(0.0, of_units - of_rest) / sums.seeds,
        of_seeds=max(0.0, of_seeds - of_rest) / int(sums.units) if several else None,
        of_rest=of_rest if several else None,
    )
    return replace(estimate, limits=(min(pseudo_units), max(pseudo_units))) if pseudo_units else estimate

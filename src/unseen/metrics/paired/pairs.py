"""All pairs of backbones at once: the same numbers as `crossed` of each pair, from matrix products.

For linearised values z of each backbone (see `linearised`), a sum of squares of the difference of two is
G[i, i] + G[j, j] − 2·G[i, j], where G has the products of their unit means, seed means or values. G needs 2·B²·S·U
operations for B backbones, and each value is read once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.paired.crossed import Crossed, Squares, from_squares
from unseen.metrics.paired.estimate import PairEstimates
from unseen.metrics.paired.linearised import Linearised, linearised
from unseen.metrics.paired.units import Values
from unseen.metrics.resampling import Floats

CELLS = 1 << 20
"""Values in memory at a time, 8 MiB."""
ROUNDING = 1e-12
"""A sum of squares below this share of what it is a difference of is 0: the two backbones have the same results."""


@dataclass(frozen=True)
class Pairs:
    """Every backbone minus every other; the diagonal compares a backbone with itself.

    Attributes:
        values: (B,) mean of each backbone.
        sums: of the (B, B) differences, row minus column.
    """

    values: Floats
    sums: Squares
    pseudo_units: tuple[float, ...] = ()

    def pair(self, first: int, second: int) -> Crossed:
        """The difference of two backbones, by their places."""
        own, place = self.sums, (first, second)
        sums = Squares(
            mean=np.asarray(own.mean[place]),
            ss_units=np.asarray(own.ss_units[place]),
            ss_seeds=np.asarray(own.ss_seeds[place]),
            ss_rest=np.asarray(own.ss_rest[place]),
            seeds=own.seeds,
            units=own.units,
        )
        return from_squares(sums, self.pseudo_units)

    @property
    def differences(self) -> Floats:
        """(B, B) mean of the row minus mean of the column."""
        return self.sums.mean

    @cached_property
    def estimates(self) -> PairEstimates:
        """The differences with their errors."""
        widened = self.sums.with_pseudo_units(self.pseudo_units) if self.pseudo_units else self.sums
        return PairEstimates(self.differences, widened.mean, *widened.error_and_df())

    @property
    def p_values(self) -> Floats:
        """(B, B) two-sided p-values; 1 on the diagonal."""
        return self.estimates.p_values


def all_pairs(
    values: Values,
    *,
    sizes: NDArray[np.integer] | None = None,
    classes: NDArray[np.integer] | None = None,
    pseudo_units: Sequence[float] = (),
) -> Pairs:
    """Compare all pairs of backbones that have results of the same seeds and units.

    Args:
        values: (B, S, U) hits on images, or accuracies of concepts (see `units`); rows of the same seed correspond.
        sizes, classes: weights of units, as in `linearised`.
        pseudo_units: as in `crossed`.
    """
    if np.ndim(values) != 3:
        raise UserError(f"pairs need results of backbones × seeds × units, not shape {np.shape(values)}")
    equal = linearised(values, sizes=sizes, classes=classes)
    return Pairs(equal.mean, _difference_squares(equal, *np.shape(values)), tuple(pseudo_units))


def _difference_squares(values: Linearised, backbones: int, seeds: int, units: int) -> Squares:
    """Sums of squares of all differences, from blocks of units."""
    of_seeds = np.zeros((backbones, seeds))
    products_of_units, products = np.zeros((backbones, backbones)), np.zeros((backbones, backbones))
    block = max(1, CELLS // (backbones * seeds))
    for start in range(0, units, block):
        centred = values.columns(slice(start, start + block)) - values.mean[:, None, None]
        of_units, rows = centred.mean(axis=1), centred.reshape(backbones, -1)
        of_seeds += centred.sum(axis=2)
        products_of_units += of_units @ of_units.T
        products += rows @ rows.T
    all_squares, squares_of_units = _between(products), seeds * _between(products_of_units)
    squares_of_seeds = _between(of_seeds @ of_seeds.T) / units
    rest = (all_squares - squares_of_units - squares_of_seeds) * (seeds > 1)
    return Squares(
        mean=np.subtract.outer(values.mean, values.mean),
        ss_units=squares_of_units,
        ss_seeds=squares_of_seeds,
        ss_rest=np.where(rest > ROUNDING * all_squares, rest, 0.0),
        seeds=seeds,
        units=units,
    )


def _between(products: Floats) -> Floats:
    """(B, B) squared distances of rows from their products; rounding errors count as 0."""
    norms = np.add.outer(np.diag(products), np.diag(products))
    squares = norms - 2 * products
    return np.where(squares > ROUNDING * norms, squares, 0.0)

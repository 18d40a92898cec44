"""All pairs of backbones at once: the same numbers as `crossed` of each pair, from matrix products.

For linearised values z of each backbone (see `linearised`), a sum of squares of the difference of two is
G[i, i] + G[j, j] − 2·G[i, j], where G has the products of their unit means, seed means or values. G needs 2·B²·S·U
operations for B backbones, and each value is read once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.paired.crossed import Crossed, Squares, from_squares
from unseen.metrics.paired.estimate import p_values
from unseen.metrics.paired.linearised import linearised
from unseen.metrics.resampling import Floats

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
        own = self.sums
        one = (own.mean, own.ss_units, own.ss_seeds, own.ss_rest)
        chosen = [np.asarray(each[first, second]) for each in one]
        return from_squares(Squares(*chosen, own.seeds, own.units), self.pseudo_units)

    @property
    def differences(self) -> Floats:
        """(B, B) mean of the row minus mean of the column."""
        return self.sums.mean

    @property
    def p_values(self) -> Floats:
        """(B, B) two-sided p-values; 1 on the diagonal."""
        widened = self.sums.with_pseudo_units(self.pseudo_units) if self.pseudo_units else self.sums
        return p_values(widened.mean, *widened.error_and_df())


def all_pairs(
    values: Floats | NDArray[np.bool_],
    *,
    sizes: NDArray[np.integer] | None = None,
    classes: NDArray[np.integer] | None = None,
    pseudo_units: Sequence[float] = (),
) -> Pairs:
    """Compare all pairs of backbones that have results of the same seeds and units.

    Args:
        values: (B, S, U) accuracies of units, or hits on images; rows of the same seed correspond.
        sizes, classes: weights of units, as in `linearised`.
        pseudo_units: as in `crossed`.
    """
    results = np.asarray(values)
    if results.ndim != 3 or results.shape[2] < 2 or not results.size:
        raise UserError(f"pairs need results of backbones × seeds × at least 2 units, not shape {results.shape}")
    exact = linearised(np.asarray(results, dtype=np.float64), sizes=sizes, classes=classes)
    if not np.isfinite(exact).all():
        raise UserError("pairs need finite results of all backbones; leave out units that a backbone lacks")
    return Pairs(exact.mean(axis=(1, 2)), _difference_squares(exact), tuple(pseudo_units))


def unpacked(bits: NDArray[np.uint8], images: int) -> NDArray[np.bool_]:
    """(…, images) hits from (…, bytes) packed bits, the first image in the highest bit, as `numpy.packbits` writes."""
    if bits.dtype != np.uint8 or bits.shape[-1] != -(-images // 8):
        raise UserError(f"packed hits of {images} images have {-(-images // 8)} bytes, not {bits.shape[-1]}")
    return np.unpackbits(bits, axis=-1, count=images).view(np.bool_)


def _difference_squares(values: Floats) -> Squares:
    backbones, seeds, units = values.shape
    centred = values - values.mean(axis=(1, 2), keepdims=True)
    of_units, of_seeds = centred.mean(axis=1), centred.mean(axis=2)
    rest = centred - of_units[:, None] - of_seeds[:, :, None]
    means = values.mean(axis=(1, 2))
    return Squares(
        mean=np.subtract.outer(means, means),
        ss_units=seeds * _between(of_units),
        ss_seeds=units * _between(of_seeds),
        ss_rest=_between(rest.reshape(backbones, -1)),
        seeds=seeds,
        units=units,
    )


def _between(rows: Floats) -> Floats:
    """(B, B) squared distances of rows."""
    products = rows @ rows.T
    norms = np.add.outer(np.diag(products), np.diag(products))
    squares = norms - 2 * products
    return np.where(squares > ROUNDING * norms, squares, 0.0)

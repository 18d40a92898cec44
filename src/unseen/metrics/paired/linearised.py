"""Units of unequal weight as units of equal weight, so that the mean is exact and its error is that of a ratio.

An accuracy over concepts with different numbers of images, and the mean of accuracies per class, are ratios of sums
over units. To first order, a ratio varies as the mean of its linearised values (the delta method; Cochran 1977, §6).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.paired.units import Values, per_stratum
from unseen.metrics.resampling import Floats


@dataclass(frozen=True)
class Linearised:
    """Values of units of equal weight, computed for some units at a time.

    Attributes:
        mean: (…,) mean over seeds and units.
        columns: (…, seeds, chosen units) values of these units in 64 bits.
    """

    mean: Floats
    columns: Callable[[slice], Floats]


def linearised(
    values: Values, *, sizes: NDArray[np.integer] | None = None, classes: NDArray[np.integer] | None = None
) -> Linearised:
    """Values whose plain mean over units is the weighted mean of the given ones, under each seed.

    With sizes nᵤ (concepts with nᵤ test images, values their accuracies), the mean is Σnᵤvᵤ/Σnᵤ = r over all seeds, and
    zₛᵤ = r + (nᵤ/n̄)(vₛᵤ − r).

    With classes (units are images, the mean is that of accuracies μ per class), zₛᵤ = r + U/(C·n_c)·(μₛ_c − μ_c +
    √(n_c/(n_c − 1))·(vₛᵤ − μₛ_c)): deviations from the mean of their class, corrected for having estimated it. Classes
    of one image have no such deviation; all of them together count as one class in this.

    Both are linear in the values, so that differences of linearised values are linearised differences.

    Args:
        values: (…, seeds, units), at least one seed and two units.
        sizes: (units,) number of test images of each unit, at least 1.
        classes: (units,) class index of each unit.
    """
    matrix: NDArray[Any] = np.asarray(values)
    if matrix.ndim < 2 or not matrix.size or matrix.shape[-1] < 2:
        raise UserError(f"a mean over seeds and units needs at least 2 units, not results of shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise UserError("results of units are finite numbers; leave out units that a backbone or a seed lacks")
    if sizes is None and classes is None:
        return Linearised(
            np.asarray(matrix.mean(axis=(-2, -1), dtype=np.float64)),
            lambda chosen: matrix[..., chosen].astype(np.float64),
        )
    given = [np.shape(one) for one in (sizes, classes) if one is not None]
    if given != [matrix.shape[-1:]]:
        raise UserError(f"{matrix.shape[-1]} units have either one size or one class each, not {given}")
    if sizes is not None:
        return _of_sizes(matrix, sizes.astype(np.float64))
    return _of_classes(matrix, np.asarray(classes))


def _of_sizes(matrix: NDArray[Any], sizes: Floats) -> Linearised:
    if not (sizes > 0).all():
        raise UserError("a unit has at least one test image; leave units without images out")
    weights = sizes / sizes.mean()
    mean = np.asarray((matrix @ weights).mean(axis=-1) / len(weights))
    ratio = mean[..., None, None]
    return Linearised(mean, lambda chosen: np.asarray(ratio + weights[chosen] * (matrix[..., chosen] - ratio)))


def _of_classes(matrix: NDArray[Any], classes: NDArray[np.integer]) -> Linearised:
    place, counts = np.unique(classes, return_inverse=True, return_counts=True)[1:]
    mean = np.asarray(per_stratum(matrix, place, counts).mean(axis=(-2, -1)))
    # Classes of one image form one stratum, with the number of the first of them.
    single = np.flatnonzero(counts == 1)
    alike = np.arange(len(counts))
    alike[single] = single[:1].repeat(len(single))
    stratum, members = np.unique(alike[place], return_inverse=True, return_counts=True)[1:]
    by_seed = per_stratum(matrix, stratum, members)
    change = by_seed - by_seed.mean(axis=-2, keepdims=True)
    size = members[stratum].astype(np.float64)
    scale = np.sqrt(size / np.maximum(size - 1, 1))
    weight = len(place) / (len(counts) * counts[place])

    def columns(chosen: slice) -> Floats:
        own = stratum[chosen]
        deviation = change[..., own] + scale[chosen] * (matrix[..., chosen] - by_seed[..., own])
        return np.asarray(mean[..., None, None] + weight[chosen] * deviation)

    return Linearised(mean, columns)

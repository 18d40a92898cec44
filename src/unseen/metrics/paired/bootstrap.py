"""The crossed bootstrap of many backbones by matrix products: a figure to check the intervals of `crossed` against.

Seeds and units are drawn with replacement, independently (the pigeonhole bootstrap of Owen 2007). Its percentile
intervals are too narrow with few seeds, so no conclusion is drawn from it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.paired.units import Values
from unseen.metrics.resampling import RESAMPLES, Floats, draws

CELLS = 1 << 22
"""Numbers of one block of draws, 16 MiB."""


def crossed_bootstrap(values: Values, *, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """(resamples, B) means of each backbone over the same draws of seeds and units.

    With w how often each of the units is in a draw, and v the same of seeds, the means are v·(w·zᵀ)/(S·U): one product
    of draws × units with units × (backbones · seeds), 2·R·U·B·S operations in 32 bits. Values that are small integers,
    such as hits, are added without rounding.

    Args:
        values: (B, S, U), linearised if units have different weights.
    """
    results: NDArray[Any] = np.asarray(values)
    if results.ndim != 3 or not results.size or resamples < 1:
        raise UserError(f"a bootstrap needs results of backbones × seeds × units, not shape {results.shape}")
    backbones, seeds, units = results.shape
    rng = np.random.default_rng(seed)
    drawn_seeds = draws(rng, seeds, resamples)
    columns = results.reshape(-1, units).astype(np.float32).T
    rows = max(1, min(resamples, CELLS // units))
    block = np.empty((rows, units), dtype=np.float32)
    means = np.empty((resamples, backbones))
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        for row in block[: stop - start]:
            row[:] = np.bincount(rng.integers(0, units, units, dtype=np.int32), minlength=units)
        sums = (block[: stop - start] @ columns).astype(np.float64).reshape(-1, backbones, seeds)
        means[start:stop] = np.einsum("rbs,rs->rb", sums, drawn_seeds[start:stop])
    return np.asarray(means / (seeds * units))

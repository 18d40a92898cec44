"""Models drawn with replacement: how often each of n models is in each of B resamples.

All fits to the same number of models use the same draws, as they have the same seed: those on one ID test set and on
several, and of all OOD test sets without gaps. The last draws are kept, a byte per model and resample, since drawing
them takes ten times as long as a fit to them.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.int64]
ENTRIES = 2**23
"""Numbers of one batch: 64 MB as they are drawn."""
MOST_KEPT = 2**26
"""Bytes of draws that are kept."""


def first_draws(n: int, resamples: int, seed: int) -> tuple[Iterator[Counts], np.random.Generator]:
    """Batches of resamples, (b, n) counts, from a new generator with this seed; and that generator.

    The generator may only be used when the batches are exhausted: it then continues after them.
    """
    generator = np.random.default_rng(seed)
    if n * resamples > MOST_KEPT:
        return draws(n, resamples, generator), generator
    kept, state = _kept(n, resamples, seed)
    generator.bit_generator.state = state
    return iter(kept), generator


def draws(n: int, resamples: int, generator: np.random.Generator) -> Iterator[Counts]:
    """Batches of resamples: (b, n) counts, in the smallest type that holds them."""
    step = max(1, ENTRIES // n)
    for start in range(0, resamples, step):
        counts = generator.multinomial(n, np.full(n, 1 / n), size=min(step, resamples - start))
        most = counts.max()
        yield counts.astype(np.uint8) if most < 2**8 else counts.astype(np.uint16) if most < 2**16 else counts


@lru_cache(maxsize=1)
def _kept(n: int, resamples: int, seed: int) -> tuple[tuple[Counts, ...], dict[str, object]]:
    """The batches, and the state of the generator after them."""
    generator = np.random.default_rng(seed)
    batches = tuple(draws(n, resamples, generator))
    return batches, dict(generator.bit_generator.state)

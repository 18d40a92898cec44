"""How often the paired comparison calls two equal backbones different, by numbers of seeds and concepts.

    python benchmarks/equal_backbones.py [--repeats 1000]

The difference of two backbones under a seed on a concept has effects of the seed, of the concept and of both, with a
mean of 0. A share of 5% is expected. The spread over concepts is 12 points and that over seeds 4 points, as if a seed
shifted all concepts together by a third of what concepts differ; single fits add nothing or 10 points.
"""

import argparse
import platform
import time

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.paired import SIGNIFICANT
from unseen.metrics.comparisons import paired_counts
from unseen.text.words import counted

IMAGES = 20
SEEDS, CONCEPTS = (1, 3, 5, 10), (45, 200, 1000)
OF_SEEDS, OF_CONCEPTS, OF_BOTH = 0.04, 0.12, (0.0, 0.1)
DRAWS = 500
"""Resamples and sign flips: fewer than on a page, which makes p-values coarser but no smaller."""


def equal_backbones(
    rng: np.random.Generator, seeds: int, concepts: int, *, of_seeds: float, of_concepts: float, of_both: float
) -> NDArray[np.float64]:
    """(seeds, concepts) correct images, of `IMAGES` each, of one backbone minus those of another that is as good.

    Args:
        of_seeds, of_concepts, of_both: standard deviations of the effects on the difference in accuracy.
    """
    tilt = (
        of_seeds * rng.standard_normal((seeds, 1))
        + of_concepts * rng.standard_normal(concepts)
        + of_both * rng.standard_normal((seeds, concepts))
    )
    first, second = (np.clip(np.rint(IMAGES * (0.5 + half * tilt)), 0, IMAGES) for half in (0.5, -0.5))
    return np.asarray(first - second)


def share_called_clear(seeds: int, concepts: int, of_both: float, repeats: int) -> float:
    """The share of comparisons of equal backbones with a p-value below 0.05."""
    rng, counts = np.random.default_rng(0), np.full(concepts, float(IMAGES))
    clear = 0
    for number in range(repeats):
        sums = equal_backbones(rng, seeds, concepts, of_seeds=OF_SEEDS, of_concepts=OF_CONCEPTS, of_both=of_both)
        clear += paired_counts(sums, counts, resamples=DRAWS, flips=DRAWS, seed=number)[1] < SIGNIFICANT
    return clear / repeats


def main() -> None:
    """Print one row per number of concepts and one column per number of seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000, help="simulated comparisons per cell (default: 1000)")
    repeats, start = parser.parse_args().repeats, time.perf_counter()
    print(f"| concepts | {' | '.join(counted(seeds, 'seed') for seeds in SEEDS)} |")
    print(f"| ---: |{' ---: |' * len(SEEDS)}")
    for concepts in CONCEPTS:
        cells = []
        for seeds in SEEDS:
            low, high = sorted(share_called_clear(seeds, concepts, of_both, repeats) for of_both in OF_BOTH)
            cells.append(f"{100 * low:.0f} to {100 * high:.0f}%")
        print(f"| {concepts} | {' | '.join(cells)} |", flush=True)
    print(
        f"\n{time.perf_counter() - start:.0f} s, {platform.processor() or platform.machine()}, NumPy {np.__version__}"
    )


if __name__ == "__main__":
    main()

"""Time and memory of comparing all pairs of many backbones, in one process.

    python benchmarks/many_backbones.py [--backbones 20] [--images 50000] [--seeds 3]

All pairs with their intervals and p-values, rank intervals and tie groups; the bootstrap is only a check of them, with
matrix products and, for comparison, as a loop over a hundredth of the resamples.
"""

import argparse
import platform
import resource
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from made_hits import World, draw
from unseen.metrics.paired.bootstrap import crossed_bootstrap
from unseen.metrics.paired.crossed import PLUS_MINUS
from unseen.metrics.paired.pairs import Pairs, all_pairs
from unseen.metrics.paired.standings import standings
from unseen.metrics.paired.units import unpacked
from unseen.metrics.ranks import rank
from unseen.metrics.resampling import RESAMPLES, Floats

T = TypeVar("T")


def main() -> None:
    """Print one row per step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backbones", type=int, default=20)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    backbones, seeds, images = options.backbones, options.seeds, options.images
    classes = np.repeat(np.arange(10), images // 10)
    accuracies = np.linspace(0.70, 0.75, backbones)
    bits = np.stack(
        [
            np.packbits(draw(np.random.default_rng(place), World(10, images // 10, fixed=True), seeds=seeds, number=1,
                             backbones=1).hits(accuracies[[place]], 0.01)[0, 0].reshape(seeds, -1), axis=-1)
            for place in range(backbones)
        ]
    )  # fmt: skip
    before = memory()
    print("| step | seconds | peak memory added so far, MB |\n| --- | ---: | ---: |")

    def timed(name: str, step: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = step()
        print(f"| {name} | {time.perf_counter() - start:.2f} | {memory() - before:.0f} |", flush=True)
        return result

    start = time.perf_counter()
    timed("loading SciPy", lambda: rank(np.zeros(2)))
    hits = timed("unpacking hits", lambda: unpacked(bits, len(classes)))
    pairs: Pairs = timed("all pairs", lambda: all_pairs(hits, pseudo_units=PLUS_MINUS))
    count = backbones * (backbones - 1) // 2
    timed(
        f"intervals of {count} pairs",
        lambda: [pairs.pair(i, j).interval() for i in range(backbones) for j in range(i)],
    )
    names = [str(place) for place in range(backbones)]
    timed("rank intervals", lambda: standings(names, pairs.values, pairs.differences, pairs.p_values))
    means = timed(f"bootstrap, {RESAMPLES} resamples", lambda: crossed_bootstrap(hits))
    spread = timed(
        "its intervals of all pairs",
        lambda: [np.quantile(means[:, i] - means[:, j], [0.025, 0.975]) for i in range(backbones) for j in range(i)],
    )
    total = time.perf_counter() - start
    print(f"| all | {total:.2f} | {memory() - before:.0f} |")
    timed("all pairs, mean per class", lambda: all_pairs(hits, classes=classes, pseudo_units=PLUS_MINUS))
    timed(f"a loop over {RESAMPLES // 100} resamples", lambda: loop(hits, RESAMPLES // 100))
    print(f"\nSecond backbone minus first: {pairs.pair(1, 0).interval()}, bootstrap {spread[0]}")
    print(f"{backbones} backbones, {images:,} images, {seeds} seeds; {platform.machine()}, NumPy {np.__version__}")


def loop(hits: NDArray[np.bool_], resamples: int) -> Floats:
    """The means of all backbones over resamples, one by one."""
    rng = np.random.default_rng(0)
    _, seeds, images = hits.shape
    draws = (np.ix_(rng.integers(0, seeds, seeds), rng.integers(0, images, images)) for _ in range(resamples))
    return np.array([hits[:, rows, columns].mean(axis=(1, 2)) for rows, columns in draws])


def memory() -> float:
    """Highest memory of this process so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()

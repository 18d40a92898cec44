"""The search for subsets of shifted test sets: its time, its power and its false alarms.

    OMP_NUM_THREADS=1 python benchmarks/subsets.py [--images 50000] [--models 500] [--simulations 400]

The time is that of the search with 200 permuted searches, against a loop over permutations that does the same with one
vectorised NumPy pass over the hits each; the loop runs some permutations, and its time is scaled to all.

Hits are item responses: the logit of a hit is a·skill − difficulty, with effects of the group of a model and of the
model on each image; the ID accuracy of a model is its skill with noise. Planted images have a < 0. Near-copies are
pairs of models of one group with almost the same skill and the same hits, except for those that are flipped.
"""

import argparse
import platform
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.subsets import SubsetSearch, halves, search_subset

PERMUTATIONS, LOOPED = 200, 4
ROWS = 2000
"""Images whose hits are drawn at once."""


@dataclass(frozen=True)
class World:
    """Test sets that are simulated: `planted` is the share of images with a mean slope of `slope`."""

    images: int
    models: int
    groups: int
    planted: float = 0.0
    slope: float = -1.0
    related: bool = True
    flipped: float | None = None

    @property
    def words(self) -> str:
        if self.flipped is not None:
            return f"{f'{self.planted:.0%}' if self.planted else 'none'}, near-copies, {self.flipped:.0%} flipped"
        told = f"{self.planted:.0%} with slope {self.slope:g}" if self.planted else "none"
        return f"{told}" if self.related else "none, hits unrelated to ID accuracy"


WORLDS = (
    *(World(1000, models, 3, 0.1, slope) for slope in (-1.0, -0.5) for models in (24, 60, 120)),
    *(World(1000, models, 3, 0.5, -0.5) for models in (24, 60)),
    *(World(1000, models, 3) for models in (24, 60)),
    *(World(1000, models, 3, related=False) for models in (24, 60)),
    *(World(1000, 24, 3, related=False, flipped=flipped) for flipped in (0.02, 0.1, 0.15, 0.2)),
    World(1000, 60, 3, related=False, flipped=0.1),
    World(1000, 60, 3, 0.1, flipped=0.1),
)


@dataclass(frozen=True, eq=False)
class Hits:
    """Simulated hits (n, m), ID accuracies in logits (m,), and groups."""

    hits: NDArray[np.bool_]
    ability: NDArray[np.float64]
    groups: list[str]


def simulate(world: World, seed: int) -> Hits:
    if world.flipped is not None:
        return _in_pairs(world, world.flipped, seed)
    rng = np.random.default_rng([seed, 11])
    group = np.arange(world.models) % world.groups
    skill = rng.normal(size=world.models) + 0.7 * rng.normal(size=world.groups)[group]
    hits = np.empty((world.images, world.models), dtype=np.bool_)
    for start in range(0, world.images, ROWS):
        rows = np.arange(start, min(start + ROWS, world.images))
        slopes = np.abs(rng.normal(1, 0.4, len(rows)))
        chosen = rows < world.planted * world.images
        slopes[chosen] *= world.slope
        latent = np.outer(slopes if world.related else 0 * slopes, skill) - rng.normal(size=(len(rows), 1))
        latent += 0.5 * rng.normal(size=(len(rows), world.groups))[:, group]
        latent += 0.5 * rng.normal(size=latent.shape)
        hits[rows] = rng.random(latent.shape) < 1 / (1 + np.exp(-latent))
    return Hits(hits, skill + 0.3 * rng.normal(size=world.models), [f"group {one}" for one in group])


def _in_pairs(world: World, flipped: float, seed: int) -> Hits:
    """Every model of a world of half as many models twice, with this share of its hits flipped."""
    made = simulate(replace(world, models=world.models // 2, flipped=None), seed)
    rng = np.random.default_rng([seed, 12])
    hits = np.repeat(made.hits, 2, axis=1) ^ (rng.random((world.images, world.models)) < flipped)
    return Hits(hits, np.repeat(made.ability, 2) + 0.05 * rng.normal(size=world.models), [*np.repeat(made.groups, 2)])


def looped(made: Hits, sizes: NDArray[np.intp], permutations: int) -> NDArray[np.float64]:
    """(permutations, sizes) confirmed correlations of permuted searches, one pass over the hits for each."""
    rng = np.random.default_rng(0)
    group = np.unique(made.groups, return_inverse=True)[1]
    searching = halves(made.ability, group, rng)
    spread = made.hits.std(axis=1) + 1e-9
    found = []
    for _ in range(permutations):
        x = np.empty_like(made.ability)
        order = np.arange(len(x))
        for one in range(group.max() + 1):
            order[group == one] = rng.permutation(order[group == one])
        x[order] = made.ability
        half = np.empty_like(searching)
        half[order] = searching
        sides = [within(x, group, side) for side in (half, ~half)]
        ranked = np.argsort(made.hits @ sides[0] / spread)
        row = []
        for many in sizes.tolist():
            mean = made.hits[ranked[:many]].mean(axis=0)
            row.append(np.corrcoef(within(mean, group, ~half)[~half], sides[1][~half])[0, 1])
        found.append(row)
    return np.array(found)


def within(values: NDArray[np.float64], group: NDArray[np.intp], half: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Values of a half less the means of its groups; 0 for the other half."""
    left = np.zeros_like(values)
    for one in range(group.max() + 1):
        own = half & (group == one)
        left[own] = values[own] - values[own].mean()
    return left


def speed(images: int, models: int) -> None:
    made = simulate(World(images, models, 5, 0.05), 0)
    start = time.perf_counter()
    found = search(made, images // 20, 0)
    took = time.perf_counter() - start
    start = time.perf_counter()
    looped(made, found.sizes, LOOPED)
    loop = (time.perf_counter() - start) * (PERMUTATIONS + 1) / LOOPED
    print(f"{images:,} images × {models} models, {PERMUTATIONS} permuted searches of {len(found.sizes)} sizes")
    print(f"search {took:.1f} s, loop over permutations {loop:.0f} s (from {LOOPED}): {loop / took:.1f}×\n")


def search(made: Hits, size: int, seed: int) -> SubsetSearch:
    return search_subset(
        made.hits, made.ability, size=size, groups=made.groups, permutations=PERMUTATIONS, seed=1000 + seed
    )


def power(simulations: int) -> None:
    """Found subsets, with the share of planted images among them and the share of these that are found."""
    print(f"{simulations} test sets each of 1,000 images in 3 groups of models, subsets of at least 50")
    print("| planted | models | found | size | planted in it, stated size | planted in it | of all planted | r |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for world in WORLDS:
        rows = []
        for seed in range(simulations):
            found = search(simulate(world, seed), world.images // 20, seed)
            place = found.largest()
            subset, planted = found.subset(place or 0), round(world.planted * world.images)
            inside = (subset < planted).sum()
            stated = (found.subset(0) < planted).mean()
            share = inside / planted if planted else np.nan
            r = found.confirmed[place or 0]
            rows.append([place is not None, len(subset), stated, inside / len(subset), share, r])
        mean = np.mean(rows, axis=0)
        shares = " | ".join(f"{value:.0%}" if world.planted else "–" for value in mean[2:5])
        print(
            f"| {world.words} | {world.models} | {mean[0]:.1%} | {mean[1]:.0f} | {shares} | {mean[5]:+.2f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("images", 50_000), ("models", 500), ("simulations", 400)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}\n")
    speed(chosen.images, chosen.models)
    power(chosen.simulations)


if __name__ == "__main__":
    main()

"""Whether intervals, p-values, ranks and plans of paired comparisons hold, in simulations with known truth.

    python benchmarks/resolution.py [--simulations 2000]

Two backbones classify the same images. Their accuracies differ by 0 or 3 points, with effects of concepts (5 points),
of seeds (0, 1 or 3 points) and of images, whose difficulty both backbones share.
"""

import argparse
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import stats

from made_hits import ACCURACY, World, batches, units_of
from resolution_plans import plan_table, rank_table
from unseen.metrics.paired.bootstrap import crossed_bootstrap
from unseen.metrics.paired.crossed import PLUS_MINUS, Squares, squares
from unseen.metrics.paired.estimate import quantile
from unseen.text.words import counted

SEEDS = (1, 2, 3, 5, 10)
OF_SEEDS = (0.0, 0.01, 0.03)
DIFFERENCES = (0.0, 0.03)
WORLDS = (
    World(45, 10),
    World(45, 50),
    World(200, 20),
    World(1000, 10),
    World(1000, 50),
    World(10, 10, fixed=True),
    World(10, 100, fixed=True),
    World(100, 100, fixed=True),
)
RESAMPLES = 500
"""Of the bootstrap: fewer than on a page, which widens its intervals by about 1%."""
RESAMPLED_CELLS = 20_000_000
"""Seeds × units of all simulations that are resampled; with more, only the first simulations are."""


@dataclass
class Cell:
    """Simulations of one world, effect of seeds, true difference and number of seeds."""

    sums: list[Squares] = field(default_factory=list)
    values: list[NDArray[np.float32]] = field(default_factory=list)

    def joined(self) -> Squares:
        """The sums of squares of all simulations."""
        return Squares(
            mean=np.concatenate([each.mean for each in self.sums]),
            ss_units=np.concatenate([each.ss_units for each in self.sums]),
            ss_seeds=np.concatenate([each.ss_seeds for each in self.sums]),
            ss_rest=np.concatenate([each.ss_rest for each in self.sums]),
            seeds=self.sums[0].seeds,
            units=self.sums[0].units,
        )


@dataclass(frozen=True)
class Outcome:
    """What the simulations of a cell say: shares, and the mean width over that of an interval that knows the error.

    Attributes:
        seed_share: share of the variance that seeds are responsible for.
    """

    covered: float
    bootstrap: float
    width: float
    seed_share: float


Outcomes = dict[tuple[float, float, int], Outcome]
"""(true difference, effect of seeds, seeds) → what the simulations say."""
Text = Callable[[Outcome], str]


def simulate(world: World, number: int) -> Outcomes:
    """Simulate one world with all effects of seeds, differences and numbers of seeds."""
    rng, most = np.random.default_rng([world.units, world.images]), max(SEEDS)
    cells: dict[tuple[float, float, int], Cell] = {}
    resampled = min(number, RESAMPLED_CELLS // (most * world.units))
    for drawn in batches(rng, world, most, number):
        for difference in DIFFERENCES:
            accuracies = np.array([ACCURACY + difference / 2, ACCURACY - difference / 2])
            for deviation in OF_SEEDS:
                values = units_of(world, drawn.hits(accuracies, deviation))
                first = cells.setdefault((difference, deviation, most), Cell())
                if sum(map(len, first.values)) < resampled:
                    first.values.append(values)
                for seeds in SEEDS:
                    cells.setdefault((difference, deviation, seeds), Cell()).sums.append(squares(values[:, :seeds]))
    outcomes = {}
    for (difference, deviation, seeds), cell in cells.items():
        values = np.concatenate(cells[difference, deviation, most].values)[:resampled, :seeds]
        outcomes[difference, deviation, seeds] = judged(world, cell.joined(), values, difference, deviation)
    return outcomes


def judged(world: World, sums: Squares, values: NDArray[np.float32], difference: float, deviation: float) -> Outcome:
    """Compare the intervals of all simulations with the true difference."""
    widened = sums.with_pseudo_units(PLUS_MINUS) if world.fixed else sums
    error, df = widened.error_and_df()
    half = quantile(0.975, df) * error
    low, high = np.quantile(crossed_bootstrap(values, resamples=RESAMPLES), [0.025, 0.975], axis=0)
    return Outcome(
        covered=float((np.abs(widened.mean - difference) <= half).mean()),
        bootstrap=float(((low <= difference) & (difference <= high)).mean()),
        width=float(half.mean() / (stats.norm.ppf(0.975) * sums.mean.std())),
        seed_share=deviation**2 / sums.seeds / float(sums.mean.var()),
    )


def interval_tables(number: int) -> list[str]:
    """Print the tables of coverage, false positives and widths; return requirements that are not met."""
    outcomes = {world: simulate(world, number) for world in WORLDS}
    coverage = [lambda one: f"{100 * one.covered:.1f}", lambda one: f"{100 * one.bootstrap:.1f}"]
    wrong = [lambda one: f"{100 - 100 * one.covered:.1f}", lambda one: f"{100 - 100 * one.bootstrap:.1f}"]
    title = "Share of 95% intervals with the true difference of 3 points, %: t interval (bootstrap)"
    _print(title, outcomes, 0.03, coverage)
    _print("Share of tests at 5% that find a difference of equal backbones, %: t (bootstrap)", outcomes, 0.0, wrong)
    title = "Mean width over that of an interval that knows the variance (share of the variance due to seeds, %)"
    _print(title, outcomes, 0.03, [lambda one: f"{one.width:.2f}", lambda one: f"{100 * one.seed_share:.0f}"])
    return [
        f"{world}, seeds {100 * deviation:.0f} points, {seeds} seeds, difference {100 * difference:.0f}: {problem}"
        for world, of in outcomes.items()
        for (difference, deviation, seeds), one in of.items()
        for problem in unmet(one, difference, deviation, seeds, number)
    ]


def unmet(one: Outcome, difference: float, deviation: float, seeds: int, number: int) -> Iterator[str]:
    """Requirements that a cell does not meet, but for two Monte Carlo standard errors."""
    least = {1: 0.0, 2: 0.90}.get(seeds, 0.93)
    most = {1: 1.0, 2: 1.0, 10: 0.06}.get(seeds, 0.07)
    noise = 2 * np.sqrt(np.array([least, most]) * (1 - np.array([least, most])) / number)
    if one.covered < least - noise[0]:
        yield f"covers {100 * one.covered:.1f}%"
    if difference == 0 and 1 - one.covered > most + noise[1]:
        yield f"{100 - 100 * one.covered:.1f}% false positives"
    if deviation and one.covered > 0.98 + 2 * np.sqrt(0.98 * 0.02 / number):
        yield f"covers {100 * one.covered:.1f}% (seeds: {100 * one.seed_share:.0f}% of the variance)"
    if deviation and seeds >= 5 and one.width > 1.5:
        yield f"{one.width:.2f} times as wide"


def _print(title: str, outcomes: Mapping[World, Outcomes], difference: float, parts: Sequence[Text]) -> None:
    print(f"\n{title}\n\n| units | seeds differ by | {' | '.join(counted(seeds, 'seed') for seeds in SEEDS)} |")
    print(f"| --- | ---: |{' ---: |' * len(SEEDS)}")
    for world, of in outcomes.items():
        for deviation in OF_SEEDS:
            ones = [of[difference, deviation, seeds] for seeds in SEEDS]
            cells = [f"{parts[0](one)} ({parts[1](one)})" for one in ones]
            print(f"| {world} | {100 * deviation:.0f} points | {' | '.join(cells)} |", flush=True)


def worst_cases() -> None:
    """The lowest coverage over all shares of seeds in the variance with many units, by integration.

    With the rest r of the mean square of units, 1, MSs is (r + g)·χ²/f for f = S − 1 and an effect g of seeds.
    """
    print("\nLowest coverage with many units, over all sizes of the effect of seeds, %\n")
    print("| degrees of freedom | 2 seeds | 3 seeds | 5 seeds | 10 seeds |\n| --- | ---: | ---: | ---: | ---: |")
    effects, rests = np.geomspace(0.01, 1000, 60), (0.02, 0.1, 0.2, 0.5, 0.8, 0.98)
    for name, exponent in (("Satterthwaite", 2), ("these", 1)):
        lowest = [min(_covered(f, r, g, exponent) for g in effects for r in rests) for f in (1, 2, 4, 9)]
        print(f"| {name} | {' | '.join(f'{100 * one:.1f}' for one in lowest)} |")


def _covered(f: int, rest: float, effect: float, exponent: int) -> float:
    of_seeds = (rest + effect) * stats.chi2.ppf((np.arange(4000) + 0.5) / 4000, f) / f
    total = np.maximum(1 + of_seeds - rest, np.maximum(1, of_seeds))
    half = quantile(0.975, f / np.maximum((of_seeds / total) ** exponent, 1e-6)) * np.sqrt(total)
    return float(np.mean(1 - 2 * stats.norm.sf(half / np.sqrt(1 + effect))))


def few_differing(number: int) -> None:
    """Coverage where backbones differ on few images, with and without pseudo-units."""
    print("\nShare of 95% intervals with the true difference of 2 points, %: with two pseudo-units (without)\n")
    print("| images | differ per seed | 1 seed | 2 seeds | 5 seeds |\n| ---: | ---: | ---: | ---: | ---: |")
    rng = np.random.default_rng(1)
    for images, accuracy, alike in ((50, 0.98, 0.95), (100, 0.98, 0.95), (100, 0.95, 0.8), (1000, 0.98, 0.95)):
        shape = (number, 5, images)
        image = rng.standard_normal((number, 1, images))
        limits = stats.norm.ppf([accuracy, accuracy - 0.02])
        hits = [np.sqrt(alike) * image + np.sqrt(1 - alike) * rng.standard_normal(shape) < limit for limit in limits]
        values = hits[0].astype(np.float64) - hits[1]
        cells = []
        for seeds in (1, 2, 5):
            covered = []
            plain = squares(values[:, :seeds])
            for sums in (plain.with_pseudo_units(PLUS_MINUS), plain):
                error, df = sums.error_and_df()
                covered.append(100 * np.mean(np.abs(sums.mean - 0.02) <= quantile(0.975, df) * error + 1e-12))
            cells.append(f"{covered[0]:.1f} ({covered[1]:.1f})")
        print(f"| {images} | {np.abs(values).mean() * images:.1f} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=2000, help="per setting (default: 2000)")
    number, start = parser.parse_args().simulations, time.perf_counter()
    error = 100 * (0.95 * 0.05 / number) ** 0.5
    print(f"{number} simulations per setting: a share of 95% has a standard error of {error:.1f} points.")
    worst_cases()
    few_differing(number)
    rank_table(number)
    plan_table(number)
    problems = interval_tables(number)
    print("\nRequirements that are not met: " + ("; ".join(problems) if problems else "none") + ".")
    print(
        f"\n{time.perf_counter() - start:.0f} s, {platform.processor() or platform.machine()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}"
    )


if __name__ == "__main__":
    main()

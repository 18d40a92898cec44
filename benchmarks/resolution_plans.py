"""Whether rank intervals and plans hold, in simulations with known truth: two tables of `resolution.py`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from made_hits import ACCURACY, World, batches, units_of
from unseen.metrics.paired.bootstrap import crossed_bootstrap
from unseen.metrics.paired.components import Components, components
from unseen.metrics.paired.crossed import PLUS_MINUS, squares
from unseen.metrics.paired.estimate import p_values
from unseen.metrics.paired.pairs import all_pairs
from unseen.metrics.paired.power import Design, needed
from unseen.metrics.paired.standings import standings
from unseen.metrics.ranks import ranks_from_draws

RESAMPLES = 500


def rank_table(number: int) -> None:
    """Ten backbones, some nearly equal: how often the true rank is in the interval."""
    print("\nRank intervals of ten backbones, six of them within half a point: t (bootstrap of ranks)\n")
    print("| images | seeds differ by | seeds | true rank in the interval, lowest of ten, % | mean ranks in it |"
          " wrong winner, % |\n| ---: | ---: | ---: | ---: | ---: | ---: |")  # fmt: skip
    accuracies = ACCURACY + np.array([0.05, 0.049, 0.02, 0.004, 0.003, 0.002, 0.001, 0.0005, 0, -0.05])
    names, truth = [str(place) for place in range(10)], np.arange(1, 11)
    for images, deviation, seeds in (
        (2000, 0.0, 1), (2000, 0.0, 3), (2000, 0.03, 3), (2000, 0.0, 5), (2000, 0.03, 5), (10_000, 0.01, 5),
    ):  # fmt: skip
        world = World(10, images // 10, fixed=True)
        rng = np.random.default_rng([images, seeds])
        inside, drawn_inside = list[NDArray[np.bool_]](), list[NDArray[np.bool_]]()
        sizes, drawn_sizes, wrong = list[float](), list[float](), 0
        for drawn in batches(rng, world, seeds, number, 10):
            hits = drawn.hits(accuracies, deviation)
            for one in hits.reshape(*hits.shape[:3], -1):
                pairs = all_pairs(one, pseudo_units=PLUS_MINUS)
                result = standings(names, pairs.values, pairs.differences, pairs.p_values)
                back = np.argsort([int(name) for name in result.names])
                low, high = result.low[back], result.high[back]
                inside.append((low <= truth) & (truth <= high))
                sizes.append((high - low + 1).mean())
                wrong += result.winner not in (None, "0")
                if len(drawn_inside) < number // 10:
                    ranks = ranks_from_draws(pairs.values, crossed_bootstrap(one, resamples=RESAMPLES))
                    drawn_inside.append((ranks.low <= truth) & (truth <= ranks.high))
                    drawn_sizes.append((ranks.high - ranks.low + 1).mean())
        lowest = [100 * np.mean(each, axis=0).min() for each in (inside, drawn_inside)]
        print(
            f"| {images:,} | {100 * deviation:.0f} points | {seeds} | {lowest[0]:.1f} ({lowest[1]:.1f}) | "
            f"{np.mean(sizes):.1f} ({np.mean(drawn_sizes):.1f}) | {100 * wrong / number:.1f} |",
            flush=True,
        )


def plan_table(number: int) -> None:
    """Pilots, what they plan for a difference with 80% power, and the power that this has."""
    print("\nPlans for 80% power from components that are known well, the power that they have, and the middle half of")
    print("plans from single pilots\n")
    print("| pilot | seeds differ by | difference | more | planned | power, % | single pilots |")
    print("| --- | ---: | ---: | --- | ---: | ---: | --- |")
    for world, seeds, deviation, difference in (
        (World(45, 20), 5, 0.01, 0.025), (World(200, 10), 5, 0.01, 0.02), (World(45, 20), 10, 0.02, 0.03),
        (World(10, 100, fixed=True), 5, 0.005, 0.02), (World(10, 200, fixed=True), 3, 0.01, 0.03),
    ):  # fmt: skip
        large = World(10 if world.fixed else 400, 200 if world.fixed else world.images, world.fixed)
        mean = _mean_components(_pilots(large, 50, deviation, 20))
        design = Design(
            images=world.units if world.fixed else world.images,
            seeds=seeds,
            concepts=None if world.fixed else world.concepts,
        )
        plan = needed(mean, difference, design)
        single = [needed(each, difference, design) for each in _pilots(world, seeds, deviation, 40)]
        for part in ("images", "concepts", "seeds"):
            planned = getattr(plan, part)
            if planned is None or planned > 20_000:
                continue
            concepts, images = world.concepts, world.images
            if part == "concepts":
                concepts = planned
            elif part == "images":
                images = -(-planned // concepts) if world.fixed else planned
            bigger = World(concepts, images, world.fixed)
            power = _power(bigger, planned if part == "seeds" else seeds, deviation, difference, number)
            plans = np.array([np.inf if getattr(each, part) is None else getattr(each, part) for each in single])
            low, high = np.quantile(plans, [0.25, 0.75], method="nearest")
            span = f"{low:,.0f} to {'none' if np.isinf(high) else f'{high:,.0f}'}"
            print(
                f"| {world}, {seeds} seeds | {100 * deviation:.1f} points | {100 * difference:.1f} points | {part} | "
                f"{planned:,} | {100 * power:.1f} | {span} |",
                flush=True,
            )


def _pilots(world: World, seeds: int, deviation: float, number: int) -> list[Components]:
    concepts = None if world.fixed else np.repeat(np.arange(world.concepts), world.images)
    pilots = []
    for drawn in batches(np.random.default_rng(5), world, seeds, number):
        hits = drawn.hits(np.array([ACCURACY, ACCURACY]), deviation)
        differences = (hits[:, 0].astype(np.float64) - hits[:, 1]).reshape(len(hits), seeds, -1)
        pilots += [components(one, concepts) for one in differences]
    return pilots


def _mean_components(pilots: Sequence[Components]) -> Components:
    def mean(name: str) -> float:
        return float(np.mean([getattr(each, name) for each in pilots]))

    fixed = pilots[0].concept is None
    return Components(
        image=mean("image"),
        rest=mean("rest"),
        seed=mean("seed"),
        concept=None if fixed else mean("concept"),
        concept_seed=None if fixed else mean("concept_seed"),
    )


def _power(world: World, seeds: int, deviation: float, difference: float, number: int) -> float:
    resolved = []
    accuracies = np.array([ACCURACY + difference / 2, ACCURACY - difference / 2])
    for drawn in batches(np.random.default_rng(6), world, seeds, number):
        sums = squares(units_of(world, drawn.hits(accuracies, deviation)))
        resolved.append(p_values(sums.mean, *sums.error_and_df()) < 0.05)
    return float(np.concatenate(resolved).mean())

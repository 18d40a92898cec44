"""Variance components and plans: known components are recovered, and plans have their power."""

from typing import Any

import numpy as np
import pytest

from made_hits import World, draw
from unseen.errors import UserError
from unseen.metrics.paired.components import Components, at_least_zero, components, mean_components
from unseen.metrics.paired.crossed import crossed, squares
from unseen.metrics.paired.estimate import p_values
from unseen.metrics.paired.power import (
    Design,
    curve,
    detectable_difference,
    needed,
    planned_power,
    predicted_variance,
)

TRUE = Components(image=0.2, rest=0.1, seed=0.02, concept=0.3, concept_seed=0.05)


def normal(rng: np.random.Generator, sizes: Any, seeds: int, parts: Components = TRUE) -> tuple[Any, Any]:
    """(seeds, images) differences with known components, and concepts."""
    concepts = np.repeat(np.arange(len(sizes)), sizes)

    def part(variance: float | None, *shape: int) -> Any:
        return np.sqrt(variance or 0.0) * rng.standard_normal(shape)

    of_both = part(parts.concept_seed, seeds, len(sizes))
    of_concepts = (part(parts.concept, 1, len(sizes)) + of_both)[:, concepts]
    values = part(parts.image, 1, len(concepts)) + part(parts.rest, seeds, len(concepts)) + part(parts.seed, seeds, 1)
    return values + of_concepts, concepts


@pytest.mark.parametrize("seeds", [1, 4])
def test_components_are_recovered_from_unequal_concepts(seeds: int) -> None:
    rng = np.random.default_rng(0)
    results = [components(*normal(rng, rng.integers(2, 12, 60), seeds)) for _ in range(150)]

    def mean(name: str) -> float:
        return float(np.mean([getattr(one, name) for one in results]))

    if seeds == 1:
        assert mean("image") == pytest.approx(0.3, rel=0.05)
        assert mean("concept") == pytest.approx(0.35, rel=0.1)
        assert {(one.rest, one.seed, one.concept_seed) for one in results} == {(None, None, None)}
        return
    for name in ("image", "rest", "concept", "concept_seed"):
        assert mean(name) == pytest.approx(getattr(TRUE, name), rel=0.05), name
    assert mean("seed") == pytest.approx(0.02, rel=0.25)


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_predicted_variance_of_the_pilot_is_what_it_finds(seeds: int) -> None:
    rng = np.random.default_rng(1)
    values, concepts = normal(rng, [8] * 50, seeds)
    parts = components(values, concepts)
    by_concept = values.reshape(seeds, 50, 8).mean(axis=2)
    assert predicted_variance(parts, Design(8, seeds, 50)) == pytest.approx(crossed(by_concept).error ** 2)
    fixed = components(values)
    assert predicted_variance(fixed, Design(400, seeds)) == pytest.approx(crossed(values).error ** 2)


@pytest.mark.parametrize("fixed", [False, True])
def test_means_of_unclipped_components_are_unbiased(*, fixed: bool) -> None:
    """With components near 0, where clipped ones are too large on average."""
    rng, small = np.random.default_rng(4), Components(0.2, 0.1, 0.0, 0.0, 0.0)
    drawn = [normal(rng, [10] * 20, 3, small) for _ in range(300)]
    whole = [components(values, None if fixed else concepts, clipped=False) for values, concepts in drawn]
    seeds = [components(values, None if fixed else concepts).seed for values, concepts in drawn]
    mean = mean_components(whole)
    assert (mean.image, mean.rest) == (pytest.approx(0.2, rel=0.02), pytest.approx(0.1, rel=0.02))
    assert abs(mean.seed or 0.0) < 1e-4 < np.mean([seed or 0.0 for seed in seeds])
    for one, (values, concepts) in zip(whole, drawn, strict=True):
        clipped = vars(components(values, None if fixed else concepts))
        own = vars(at_least_zero(one, 3, None if fixed else 20))
        assert own == {
            name: value if value is None else pytest.approx(value, abs=1e-12) for name, value in clipped.items()
        }


def test_the_predicted_variance_by_hand() -> None:
    design = Design(images=5, seeds=4, concepts=10)
    expected = 0.3 / 10 + 0.2 / 50 + 0.02 / 4 + 0.05 / 40 + 0.1 / 200
    assert predicted_variance(TRUE, design) == pytest.approx(expected)
    these_fits = 0.3 / 10 + 0.2 / 50 + 0.05 / 10 + 0.1 / 50
    assert predicted_variance(TRUE, Design(5, 1, 10)) == pytest.approx(these_fits)


@pytest.mark.parametrize(("part", "difference"), [("images", 0.31), ("concepts", 0.31), ("seeds", 0.25)])
def test_plans_are_the_smallest_numbers_with_the_power(part: str, difference: float) -> None:
    design = Design(images=10, seeds=6, concepts=60)
    number = getattr(needed(TRUE, difference, design), part)
    assert number is not None
    powers = [planned_power(TRUE, Design(**{**vars(design), part: one}), difference) for one in (number - 1, number)]
    assert powers[0] < 0.8 <= powers[1]
    few, many = curve(TRUE, design, part, [number - 1, number])  # type: ignore[arg-type]
    assert few > difference >= many
    assert detectable_difference(TRUE, design) == pytest.approx(curve(TRUE, design, "seeds", [6])[0])


def test_there_is_no_plan_below_the_floor() -> None:
    parts = Components(image=0.2, rest=0.1, seed=0.0004, concept=0.0025, concept_seed=0.0)
    plan = needed(parts, 0.005, Design(images=20, seeds=3, concepts=45))
    # Concepts alone leave an error of 0.05/√45, and seeds one of 0.02/√3.
    assert (plan.images, plan.concepts, plan.seeds) == (None, None, None)
    fixed = needed(Components(image=0.2, rest=0.0, seed=0.0), 0.01, Design(images=500, seeds=3))
    assert fixed.images == pytest.approx(2.8**2 * 0.2 / 0.01**2, rel=0.01)
    assert (fixed.concepts, fixed.seeds) == (None, None)
    assert needed(Components(image=0.2, rest=None, seed=None), 0.05, Design(500, 1)).seeds is None


def test_a_plan_has_its_power() -> None:
    world, seeds, deviation, difference = World(10, 60, fixed=True), 5, 0.01, 0.035
    drawn = draw(np.random.default_rng(2), world, seeds=40, number=10).hits(np.array([0.7, 0.7]), deviation)
    pilots = [components(one) for one in (drawn[:, 0].astype(float) - drawn[:, 1]).reshape(10, 40, -1)]
    means = {name: float(np.mean([getattr(one, name) for one in pilots])) for name in ("image", "rest", "seed")}
    images = needed(Components(**means), difference, Design(600, seeds)).images
    assert images is not None
    again = draw(np.random.default_rng(3), World(10, -(-images // 10), fixed=True), seeds=seeds, number=400)
    hits = again.hits(np.array([0.7 + difference / 2, 0.7 - difference / 2]), deviation)
    sums = squares((hits[:, 0].astype(np.float32) - hits[:, 1]).reshape(400, seeds, -1))
    resolved = p_values(sums.mean, *sums.error_and_df()) < 0.05
    assert resolved.mean() == pytest.approx(0.8, abs=0.07)


def test_bad_input_is_refused() -> None:
    with pytest.raises(UserError):
        components(np.zeros(4))
    with pytest.raises(UserError):
        components(np.zeros((2, 4)), np.arange(4))
    with pytest.raises(UserError):
        components(np.zeros((2, 4)), np.zeros(4, int))
    for design in (Design(10, 3), Design(10, 0, 5), Design(0, 3, 5), Design(10, 3, 1)):
        with pytest.raises(UserError):
            predicted_variance(TRUE, design)
    with pytest.raises(UserError):
        predicted_variance(Components(0.2, None, None), Design(10, 2))
    for difference, power in ((0.0, 0.8), (np.nan, 0.8), (0.1, 1.0), (0.1, 0.04)):
        with pytest.raises(UserError):
            needed(TRUE, difference, Design(10, 3, 5), power=power)

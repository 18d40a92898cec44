"""Plans from pilots: planned numbers have their power, and tables, sentences and curves say the same."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_comparables import comparable_of, made_comparable

from made_hits import World, batches, units_of
from unseen.analyses.power.pilot import design_of, mean_of, pairs_of
from unseen.analyses.power.plan import Plan, difference_for
from unseen.analyses.power.plans import Plans, Request
from unseen.errors import UserError
from unseen.metrics.catalogue import METRICS
from unseen.metrics.paired.components import Components, components
from unseen.metrics.paired.crossed import squares
from unseen.metrics.paired.estimate import p_values
from unseen.metrics.paired.power import Design, detectable_difference, planned_power


def plan_of(comparable: Any, difference: float, **request: Any) -> Plan:
    pairs = pairs_of(comparable)
    design = design_of(comparable, pairs[0].seeds)
    return Request(difference, **request).plan(comparable.place, comparable.metric, comparable.unit, pairs, design)


def approximately(parts: Components) -> Any:
    return Components(**{name: pytest.approx(value, abs=1e-12) for name, value in vars(parts).items()})


def resolved(world: World, seeds: int, deviation: float, difference: float, number: int) -> float:
    """The share of simulated studies that resolve a true difference."""
    accuracies, found = np.array([0.7 + difference / 2, 0.7 - difference / 2]), []
    for drawn in batches(np.random.default_rng(7), world, seeds, number):
        sums = squares(units_of(world, drawn.hits(accuracies, deviation)))
        found.append(p_values(sums.mean, *sums.error_and_df()) < 0.05)
    return float(np.concatenate(found).mean())


@pytest.mark.parametrize(
    ("world", "seeds", "deviation", "difference", "part"),
    [
        (World(150, 20), 5, 0.005, 0.02, "concepts"),
        (World(10, 150, fixed=True), 5, 0.005, 0.02, "images"),
        (World(150, 20), 8, 0.02, 0.027, "seeds"),
    ],
)
def test_planned_numbers_have_their_power(
    world: World, seeds: int, deviation: float, difference: float, part: str
) -> None:
    # A pilot with more seeds and concepts than the study: plans from one as small as the study vary widely.
    pilot = World(world.concepts if world.fixed else 400, world.images, world.fixed)
    comparable = made_comparable(pilot, backbones=4, seeds=40, deviation=deviation)
    sizes = {"images": world.units} if world.fixed else {"concepts": world.concepts}
    plan = plan_of(comparable, difference, seeds=seeds, **sizes)
    number = getattr(plan.needed, part)
    assert number is not None
    sizes = {"concepts": world.concepts, "images": world.images, "seeds": seeds}
    sizes[part] = -(-number // world.concepts) if part == "images" else number
    bigger = World(sizes["concepts"], sizes["images"], world.fixed)
    assert resolved(bigger, sizes["seeds"], deviation, difference, 300) == pytest.approx(0.8, abs=0.07)


def test_components_are_means_over_pairs() -> None:
    comparable = made_comparable(World(30, 10), backbones=3, seeds=3, deviation=0.02)
    pairs = pairs_of(comparable)
    assert [(pair.first, pair.second) for pair in pairs] == [("b0", "b1"), ("b0", "b2"), ("b1", "b2")]
    for pair in pairs:
        one, other = (comparable.of_each_image(name, [0, 1, 2]) for name in (pair.first, pair.second))
        assert pair.variances == approximately(components(one - other, comparable.labels))
    whole, means = mean_of(pairs).parts, mean_of(pairs).variances
    for name in vars(whole):
        assert getattr(whole, name) == pytest.approx(np.mean([getattr(pair.parts, name) for pair in pairs]))
    assert pairs_of(comparable, ["b2", "b0"])[0].parts == pairs[1].parts
    plan = plan_of(comparable, 0.05)
    assert plan.detectable == pytest.approx(detectable_difference(means, Design(10, 3, 30)))
    each = [detectable_difference(pair.variances, Design(10, 3, 30)) for pair in pairs]
    assert plan.range == pytest.approx((min(each), max(each)))


def test_only_pairs_with_the_same_seeds_are_averaged() -> None:
    comparable = made_comparable(World(20, 10), backbones=3, seeds=3, deviation=0.01)
    kept = {name: dict(of) for name, of in comparable.kept.items()}
    del kept["b2"][2]
    pairs = pairs_of(replace(comparable, kept=kept))
    assert [(pair.first, pair.second, pair.seeds) for pair in pairs] == [("b0", "b1", 3)]
    for seed in (0, 1):
        del kept["b2"][seed]
    with pytest.raises(UserError):
        pairs_of(replace(comparable, kept=kept), ["b0", "b2"])


def test_tables_sentences_and_curves_agree() -> None:
    plan = plan_of(made_comparable(World(60, 10), backbones=4, seeds=5, deviation=0.01), 0.03)
    table = Plans((plan,), "made").to_frame().iloc[0]
    assert (table["images"], table["concepts"], table["seeds"], table["pairs"]) == (10, 60, 5, 6)
    assert table["concepts_needed"] == plan.needed.concepts
    assert planned_power(plan.parts, replace(plan.design, concepts=plan.needed.concepts), 0.03) >= 0.8
    words = " ".join(plan.sentences)
    assert f"{plan.needed.concepts:,} concepts" in words
    assert f"{100 * plan.detectable:.1f} points" in words
    curve = plan.curve("concepts", [60, plan.needed.concepts or 0])
    assert curve["difference"].tolist()[0] == pytest.approx(plan.detectable)
    assert curve["difference"].tolist()[1] <= 0.03
    assert (curve["low"] <= curve["high"]).all()
    for part in ("images", "concepts", "seeds"):
        numbers = plan.curve(part)["number"]  # type: ignore[arg-type]
        assert numbers.is_monotonic_increasing
        assert numbers.min() >= 1
    assert len(repr(Plans((plan,), "made"))) < 400
    assert "var_concept" in Plans((plan,), "made")._repr_html_()


def test_a_larger_study_resolves_less() -> None:
    comparable = made_comparable(World(60, 10), backbones=3, seeds=3, deviation=0.01)
    plan = plan_of(comparable, 0.03, concepts=240, images=20, seeds=6)
    assert plan.design == Design(20, 6, 240)
    assert plan.detectable < plan_of(comparable, 0.03).detectable
    assert re.search("less is enough", plan_of(comparable, 0.5).sentences[1])


def test_one_seed_says_nothing_of_seeds() -> None:
    comparable = made_comparable(World(40, 10), backbones=2, seeds=1, deviation=0.01)
    plan = plan_of(comparable, 0.05)
    assert plan.needed.seeds is None
    assert plan.parts.seed is None
    assert len(plan.sentences) == 3
    with pytest.raises(UserError):
        plan_of(comparable, 0.05, seeds=3)
    with pytest.raises(UserError):
        plan.curve("seeds")


def test_plans_of_groups_of_images_count_images() -> None:
    comparable = made_comparable(World(10, 20, fixed=True), backbones=2, seeds=2, deviation=0.01)
    pairs = pairs_of(comparable)
    groups = Request(0.02).plan(comparable.place, comparable.metric, "groups of images", pairs, Design(100, 2), 6.54)
    assert groups.images == 654
    single = Request(0.02).plan(comparable.place, comparable.metric, "images", pairs, Design(100, 2))
    assert groups.needed.images == pytest.approx(6.54 * (single.needed.images or 0), abs=1)
    assert groups.detectable == single.detectable
    assert groups.curve("images", [654])["difference"][0] == pytest.approx(groups.detectable)
    with pytest.raises(UserError):
        groups.curve("concepts")


@pytest.mark.parametrize(
    ("metric", "given", "points", "value"),
    [("top1", 0.5, True, 0.005), ("top1", 0.005, False, 0.005), ("angle-mean", 0.5, True, 0.5),
     ("depth-rmse", 2.0, False, 2.0), ("ami", 0.1, True, 0.1)],
)  # fmt: skip
def test_differences_have_the_unit_of_the_metric(metric: str, given: float, value: float, *, points: bool) -> None:
    assert difference_for(METRICS[metric], given, points=points) == pytest.approx(value)


@pytest.mark.parametrize(
    ("metric", "given", "points"),
    [("top1", 0, True), ("top1", -1, True), ("top1", 100, True), ("top1", 1, False), ("top1", 0.5 / 0.001, False),
     ("top1", float("nan"), True), ("top1", "much", True), ("angle-mean", 180, True),
     ("depth-rmse", float("inf"), False)],
)  # fmt: skip
def test_impossible_differences_are_refused(metric: str, given: Any, *, points: bool) -> None:
    with pytest.raises(UserError):
        difference_for(METRICS[metric], given, points=points)


def test_bad_sizes_are_refused() -> None:
    same = comparable_of(np.ones((2, 2, 5, 4), dtype=bool), fixed=False)
    with pytest.raises(UserError):
        plan_of(same, 0.02)
    fixed = made_comparable(World(5, 20, fixed=True), backbones=2, seeds=2, deviation=0.01)
    for request in ({"concepts": 100}, {"images": 0}, {"seeds": True}, {"images": 1}, {"power": 1.0}, {"power": 0.01}):
        with pytest.raises(UserError):
            plan_of(fixed, 0.02, **request)
    alone = made_comparable(World(5, 4), backbones=1, seeds=2, deviation=0.01)
    with pytest.raises(UserError):
        pairs_of(alone)

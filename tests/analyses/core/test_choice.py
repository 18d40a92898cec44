"""Which backbone to take: the front by brute force, and what is never called dominated."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from cost_runs import cost, write_cost_run
from hit_runs import normal_hits
from numpy.typing import NDArray

from unseen.analyses.core.comparables import comparables, most_shots
from unseen.analyses.core.costs import AXES, Choice, choice_of, cost_table, decisive
from unseen.analyses.core.rankings import rankings_by
from unseen.features.costs import BackboneCost
from unseen.report.core.cost_words import choice_sentence
from unseen.report.core.ranking_words import SAME_IMAGES
from unseen.report.leaderboard.ranking_words import how_ranked
from unseen.runs.record import read_run

ACCURACY = {"best": 0.9, "near": 0.9, "mid": 0.7, "low": 0.5}


def nested(backbone: str, dataset: str, seed: int) -> NDArray[np.bool_]:
    """`best` and `near` are right on 90 of 100 images, each on five that the other is not; the others on a part."""
    right = np.arange(100) < 100 * ACCURACY[backbone]
    if backbone == "near":
        right[85:95] = ~right[85:95]
    return right


def chosen(folder: Path) -> Choice:
    data = read_run(folder)
    choice = choice_of(data, comparables(data))
    assert choice is not None
    return choice


def test_the_cheapest_of_a_tie_and_what_is_dominated(tmp_path: Path) -> None:
    costs = {
        "best": cost(80, 900, 4.0), "near": cost(20, 1000, 1.0), "mid": cost(20, 500, 0.95), "low": cost(10, 600, 2.0),
    }  # fmt: skip
    choice = chosen(write_cost_run(tmp_path, ACCURACY, costs, hits=nested))
    assert {each.backbone for each in choice.first} == {"best", "near"}
    assert [choice.cheapest(axis) for axis in AXES] == [["near"], ["best"], ["near"]]

    def status(axis: str) -> dict[str, tuple[str, str]]:
        return {each.backbone: (each.status, each.against) for each in choice.placed(axis)}  # type: ignore[arg-type]

    # `best` has as high a score as `near`, which is cheaper: that it is no better is not resolved.
    assert status("parameters") == {
        "low": ("front", ""), "near": ("front", ""), "mid": ("dominated", "near"), "best": ("open", "near"),
    }  # fmt: skip
    assert status("multiply-adds")["low"] == ("dominated", "mid")
    # Times within a quarter are equal: `mid` is no faster than `near`, which is better.
    assert status("time") == {
        "near": ("front", ""), "mid": ("dominated", "near"), "low": ("dominated", "near"), "best": ("open", "near"),
    }  # fmt: skip


def test_as_all_pairs_say_it(tmp_path: Path) -> None:
    accuracy = {name: 0.55 + 0.04 * number for number, name in enumerate("abcdefgh")}
    rng = np.random.default_rng(0)
    costs = {
        name: cost(int(rng.integers(1, 6)), int(rng.integers(1, 6)), float(rng.integers(1, 6))) for name in accuracy
    }
    choice = chosen(write_cost_run(tmp_path, accuracy, costs, hits=normal_hits(accuracy, 300), datasets=("a", "b")))
    standings = choice.ranking.standings
    assert standings is not None
    mean = dict(zip(standings.names, standings.value, strict=True))
    better = {
        (one, other): bool(standings.resolved_better[i, j])
        for (i, one), (j, other) in product(enumerate(standings.names), repeat=2)
    }
    seen = set[str]()
    for axis in AXES:
        found = {each.backbone: each for each in choice.placed(axis)}
        for name, other in product(accuracy, repeat=2):
            if name != other and found[other].value <= found[name].value and better[other, name]:
                assert found[name].status == "dominated"
        for name, each in found.items():
            no_dearer = [o for o in accuracy if o != name and found[o].value <= each.value]
            highest = all(mean[o] < mean[name] for o in no_dearer)
            assert (each.status in ("front", "tied")) == highest
            assert (each.status == "dominated") == any(better[o, name] for o in no_dearer)
            if each.status == "front":
                assert all(better[name, o] for o in no_dearer if found[o].value < each.value)
            seen.add(each.status)
    assert {"front", "dominated", "open"} <= seen


def test_without_kept_images_nothing_is_dominated(tmp_path: Path) -> None:
    costs = {name: cost(10 * number, 10 * number) for number, name in enumerate(ACCURACY, 1)}
    choice = chosen(write_cost_run(tmp_path, ACCURACY, costs, hits=nested, kept=lambda *_: False))
    assert choice.ranking.basis == "scores"
    assert [each.status for each in choice.placed("parameters")] == ["front", "open", "open", "open"]
    assert all(each.ends is None for each in choice.ranking.entries)


def test_times_of_other_machines_are_not_compared(tmp_path: Path) -> None:
    costs = {
        "best": cost(80, 900, 4.0), "near": cost(20, 1000, 1.0, "CPU"), "mid": cost(20, 500, 0.5),
        "low": cost(10, None, 0.1, together=3),
    }  # fmt: skip
    choice = chosen(write_cost_run(tmp_path, ACCURACY, costs, hits=nested))
    assert choice.machine is not None
    assert choice.machine.device == "NVIDIA H200"
    assert [each.backbone for each in choice.placed("time")] == ["mid", "best"]
    assert choice.cheapest("time") == []  # that of `near` is not known here
    assert choice.cheapest("parameters") == ["near"]
    assert [each.backbone for each in choice.placed("multiply-adds")] == ["mid", "best", "near"]


def test_the_interval_of_a_mean_is_that_of_its_images(tmp_path: Path) -> None:
    choice = chosen(write_cost_run(tmp_path, ACCURACY, {"low": cost(1, 1)}, hits=nested, datasets=("a",)))
    low = next(each for each in choice.ranking.entries if each.backbone == "low")
    assert low.ends is not None
    from scipy import stats

    hits = nested("low", "a", 0).astype(float)
    half = stats.t.ppf(0.975, 99) * hits.std(ddof=1) / 10
    assert low.ends == pytest.approx((0.5 - half, 0.5 + half))


def test_without_costs_there_is_nothing_to_choose_by(tmp_path: Path) -> None:
    data = read_run(write_cost_run(tmp_path, ACCURACY, {}, hits=nested))
    assert choice_of(data, comparables(data)) is None
    table = cost_table(data.backbones)
    assert list(table["backbone"]) == [*ACCURACY]
    assert table["parameters"].isna().all()


def test_a_table_of_costs(tmp_path: Path) -> None:
    data = read_run(write_cost_run(tmp_path, ACCURACY, {"best": cost(80, 900, 4.0)}, hits=nested))
    first = cost_table(data.backbones).iloc[0]
    assert (first["parameters"], first["multiply_adds"], first["image_size"], first["dimensions"]) == (
        80,
        900,
        224,
        384,
    )
    assert (first["ms_per_image"], first["images_per_second"]) == pytest.approx((4.0, 250.0))
    assert first["measured_on"] == "NVIDIA H200"


def test_episodes_decide_only_if_nothing_else_does(tmp_path: Path) -> None:
    data = read_run(write_cost_run(tmp_path, ACCURACY, {"low": cost(1, 1)}, hits=nested))
    [images] = rankings_by(data, most_shots(data))
    episodes = replace(images, probe="centroids", shots=20, units=("episodes",), ways=5, by=(*images.by, "more"))
    for several in ([episodes, images], [images, episodes]):
        choice = decisive(several, data.backbones)
        assert choice is not None
        assert choice.ranking is images
    alone = decisive([episodes], data.backbones)
    assert alone is not None
    assert alone.ranking is episodes


def test_a_ranking_over_episodes_is_not_called_one_over_images(tmp_path: Path) -> None:
    data = read_run(write_cost_run(tmp_path, ACCURACY, {"low": cost(1, 1)}, hits=nested, datasets=("a",)))
    [images] = rankings_by(data, most_shots(data))
    episodes = replace(images, probe="centroids", shots=20, units=("episodes",), ways=5)
    text = choice_sentence(Choice(episodes, {}), {"a": "Letters"})
    assert text.startswith("Nearest centroid")
    assert "5-way 20-shot accuracy on Letters" in text
    assert SAME_IMAGES in text
    assert SAME_IMAGES not in choice_sentence(Choice(images, {}), {"a": "Letters"})
    assert "same episodes" in how_ranked(episodes, {})
    assert "same test images" not in how_ranked(episodes, {})


def test_times_are_alike_as_far_as_those_of_passes_spread(tmp_path: Path) -> None:
    def measured(milliseconds: float, spread: float) -> BackboneCost:
        each = milliseconds / 1000
        own = cost(1, 1, milliseconds)
        assert own.speed is not None
        return replace(own, speed=replace(own.speed, quartiles=(each, each, each * spread)))

    def statuses(spread: float) -> dict[str, str]:
        costs = {"best": measured(1.4, spread), "low": measured(1.0, 1.0)}
        choice = chosen(write_cost_run(tmp_path / str(spread), {n: ACCURACY[n] for n in costs}, costs, hits=nested))
        return {each.backbone: each.status for each in choice.placed("time")}

    assert statuses(1.0) == {"low": "front", "best": "front"}
    # It may be no slower, which is not enough to call the other one dominated.
    assert statuses(1.6) == {"low": "open", "best": "front"}

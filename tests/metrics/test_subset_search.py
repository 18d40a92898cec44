"""The search for subsets of a test set against loops, on simulated data with and without a planted subset."""

from typing import Any

import numpy as np
import pytest
from made_subsets import MadeHits, made_hits
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.subsets import SubsetSearch, halves, search_subset


def searched(made: MadeHits, **more: Any) -> SubsetSearch:
    settings = {"size": 30, "groups": made.groups, "seed": 3} | more
    return search_subset(made.hits, made.ability, **settings)


def within(values: NDArray[Any], groups: list[str]) -> NDArray[np.float64]:
    """Values less the means of their groups."""
    left = np.array(values, dtype=float)
    for name in set(groups):
        own = [place for place, group in enumerate(groups) if group == name]
        left[own] -= left[own].mean()
    return left


def test_it_is_what_loops_find() -> None:
    """The images with the lowest correlations on one half, and the correlation of their mean on the other."""
    made = made_hits(0, images=80, models=24, groups=2)
    found = searched(made, size=8, permutations=19)
    sides = []
    for half in (found.searching, ~found.searching):
        names = [group for group, inside in zip(made.groups, half, strict=True) if inside]
        sides.append((half, names, within(made.ability[half], names)))
    half, names, x = sides[0]
    spread = np.array([np.sqrt((within(row, made.groups) ** 2).mean()) for row in made.hits])
    apart = [
        sum(min(own.sum(), len(own) - own.sum()) for own in (row[np.array(made.groups) == name] for name in set(names)))
        for row in made.hits
    ]
    assert found.searched.tolist() == [number >= 2 for number in apart]
    scores = np.array([row[half] @ x for row in made.hits]) / np.maximum(spread, 1e-9)
    order = [int(image) for image in np.argsort(scores) if found.searched[image]]
    assert scores[found.order] == pytest.approx(scores[order])
    for number, size in enumerate(found.sizes.tolist()):
        for (side, own, ability), value in zip(sides, (found.found, found.confirmed), strict=True):
            mean = within(made.hits[found.order[:size]].mean(axis=0)[side], own)
            assert value[number] == pytest.approx(np.corrcoef(ability, mean)[0, 1], abs=1e-6)
    side, own, ability = sides[1]
    assert found.whole == pytest.approx(np.corrcoef(ability, within(made.hits.mean(axis=0)[side], own))[0, 1])
    slope = np.polyfit(ability, within(made.hits[found.subset(1)].mean(axis=0)[side], own), 1)[0]
    assert found.slopes[1] == pytest.approx(slope)
    assert found.p_values.tolist() == [
        (1 + sum(value <= own for value in null)) / 20 for own, null in zip(found.confirmed, found.null.T, strict=True)
    ]


def test_the_largest_size_is_the_last_before_one_that_is_not_confirmed() -> None:
    found = searched(made_hits(0), permutations=99)
    place = found.largest()
    assert place is not None
    assert (found.p_values[: place + 1] <= 0.05).all()
    assert found.p_values[place + 1] > 0.05
    assert found.largest(level=0.001) is None
    assert len(found.subset(place)) == found.sizes[place]


def test_halves_have_one_of_each_two_neighbours() -> None:
    x, group = np.arange(20.0), np.repeat([0, 1], 10)
    searching = halves(x, group, np.random.default_rng(0))
    assert (searching.reshape(-1, 2).sum(axis=1) == 1).all()


def test_a_planted_subset_is_found_and_its_absence_is_said() -> None:
    planted = [searched(made_hits(seed), permutations=99) for seed in range(12)]
    assert sum(found.largest() is not None for found in planted) >= 11
    assert np.mean([(found.subset(0) < 60).mean() for found in planted]) > 0.8
    assert all(found.whole > 0 for found in planted)
    without = [searched(made_hits(seed, planted=0), permutations=99) for seed in range(12)]
    assert [found.largest() for found in without] == [None] * 12


@pytest.mark.long_suite
def test_power_and_false_alarms() -> None:
    """Of 400 test sets each: planted ones found at 95% or more, false alarms at 5% + three standard errors (8.3%)."""
    negative = {
        name: np.mean([
            found.largest() is not None
            for found in (searched(made_hits(seed, **made), seed=10_000 + seed) for seed in range(400))
        ])
        for name, made in {
            "planted": {}, "none": {"planted": 0.0}, "unrelated": {"planted": 0.0, "related": False},
        }.items()
    }  # fmt: skip
    assert negative["planted"] >= 0.95
    assert negative["none"] <= 0.083
    assert negative["unrelated"] <= 0.083


def test_images_that_separate_no_models_do_not_fill_a_subset() -> None:
    """Ten planted images and hundreds that every model gets wrong are no subset of a hundred."""
    made = made_hits(1, images=200, planted=0.05)
    padded = np.concatenate([made.hits, np.zeros((400, 48), dtype=bool)])
    found = search_subset(padded, made.ability, size=100, groups=made.groups, permutations=19)
    assert found.searched[:200].sum() >= 100
    assert not found.searched[200:].any()
    assert found.largest() is None
    with pytest.raises(UserError, match="separate"):
        search_subset(padded, made.ability, size=300, groups=made.groups)


def test_groups_have_no_part_in_it() -> None:
    """Two groups, of which the better one is worse on all images: within groups there is nothing."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 20)
    hits = rng.random((300, 40)) < np.where(group, 0.2, 0.8)
    x = 2.0 * group + rng.normal(size=40)
    plain = search_subset(hits, x, size=30, permutations=99)
    assert (plain.confirmed[0] < -0.5, plain.p_values[0] <= 0.05) == (True, True)
    grouped = search_subset(hits, x, size=30, groups=[str(one) for one in group], permutations=99)
    assert grouped.p_values[0] > 0.05


def test_models_of_small_groups_are_left_out() -> None:
    made = made_hits(2, models=24)
    groups = [*made.groups[:-3], "a", "a", "b"]
    found = searched(made, groups=groups, permutations=19)
    assert found.used.tolist() == [group not in "ab" for group in groups]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"models": 2}, "at least 8"),
        ({"same": True}, "same ID accuracy"),
        ({"size": 601}, "600 images"),
        ({"size": 1}, "at least 2"),
        ({"permutations": 0}, "permuted"),
        ({"right": True}, "separate"),
        ({"nan": True}, "finite"),
    ],
)
def test_mistakes(change: dict[str, Any], words: str) -> None:
    made = made_hits(0, planted=0)
    hits, x, many = made.hits, made.ability, change.get("models", 48)
    hits = np.ones_like(hits) if "right" in change else hits
    x = np.zeros(48) if "same" in change else x
    x = np.full(48, np.nan) if "nan" in change else x
    settings = {"size": 30, "permutations": 19} | {
        name: change[name] for name in ("size", "permutations") if name in change
    }
    with pytest.raises(UserError, match=words) as refused:
        search_subset(hits[:, :many], x[:many], groups=made.groups[:many], **settings)
    assert "\n" not in str(refused.value)

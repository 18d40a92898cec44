"""What backbones are compared by: units, pseudo-values of maps, and inputs that leave nothing to tell."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from comparables_of import by_concepts, kept

from unseen.analyses.core.comparable import GROUPS, Comparable, Place, pseudo_values, unit_of
from unseen.errors import UserError
from unseen.metrics.catalogue import METRICS
from unseen.probes.units import ScoredImages
from unseen.runs.kept_units import KeptUnits, unit_scores

IMAGES, CLASSES = 240, 5
RNG = np.random.default_rng(0)


def areas(skill: float, seed: int) -> KeptUnits:
    """Maps of one random class each beside the background, of which a share is predicted correctly."""
    rng = np.random.default_rng(seed)
    image, label = np.arange(IMAGES).repeat(2), np.stack([np.zeros(IMAGES, int), rng.integers(1, CLASSES, IMAGES)], 1)
    labelled = rng.integers(100, 400, (IMAGES, 2))
    correct = (labelled * rng.beta(10 * skill, 10 * (1 - skill), (IMAGES, 2))).astype(int)
    wrong = labelled - correct
    arrays = {
        "images": np.array(IMAGES), "image": image, "label": label.ravel(), "correct": correct.ravel(),
        "predicted": (correct + wrong[:, ::-1]).ravel(), "labelled": labelled.ravel(),
    }  # fmt: skip
    images = ScoredImages.unlabelled([str(each) for each in range(CLASSES)], IMAGES)
    return KeptUnits("psp", None, 0, "areas", arrays, images, "", unit_scores("areas", arrays, images))


def comparable(kept_units: Mapping[str, KeptUnits], metric: str = "miou") -> Comparable:
    found = {name: {0: units} for name, units in kept_units.items()}
    return Comparable(
        Place("maps", "psp", None), METRICS[metric], unit_of(next(iter(kept_units.values())), concepts=False), found
    )


def test_a_difference_of_mean_ious_is_that_of_the_maps_and_its_error_that_of_a_bootstrap_of_images() -> None:
    both = {"a": areas(0.8, 1), "b": areas(0.7, 2)}
    compared = comparable(both)
    assert compared.unit == "groups of images"
    difference = compared.difference("a", "b")
    assert difference.units == GROUPS
    direct = []
    for units in both.values():  # intersections over unions, from the maps of all images together
        own, sums = units.arrays, {}
        for name in ("correct", "predicted", "labelled"):
            sums[name] = np.bincount(own["label"], own[name], CLASSES)
        direct.append((sums["correct"] / (sums["predicted"] + sums["labelled"] - sums["correct"])).mean())
    assert difference.value == pytest.approx(direct[0] - direct[1])
    drawn = []
    for _ in range(300):
        often = np.bincount(RNG.integers(0, IMAGES, IMAGES), minlength=IMAGES).astype(float)
        drawn.append(both["a"].rescored(often)["miou"] - both["b"].rescored(often)["miou"])
    assert difference.error == pytest.approx(np.std(drawn), rel=0.25)


def test_pseudo_values_have_the_score_as_their_mean() -> None:
    units = areas(0.75, 3)
    values = pseudo_values(units, "miou")
    assert values.shape == (GROUPS,)
    assert values.mean() == pytest.approx(units.scores["miou"])
    with pytest.raises(UserError, match="too few"):
        pseudo_values(replace(units, images=ScoredImages.unlabelled(["a"], 1)), "miou")


def test_one_backbone_is_alone_and_equal_ones_tie() -> None:
    alone = by_concepts({"a": [3, 5, 8]}, 10)
    assert (alone.standings.winner, alone.detectable("a")) == (None, None)
    same = by_concepts({"a": [3, 5, 8], "b": [3, 5, 8]}, 10)
    assert same.standings.groups == (("a", "b"),)
    assert same.difference("a", "b").p_value == 1


@pytest.mark.parametrize("correct", [0, 10])
def test_all_right_and_all_wrong_have_an_interval(correct: int) -> None:
    hits = np.full(40, bool(correct))
    every = {name: {0: kept(hits, np.arange(40) % 4)} for name in ("a", "b")}
    compared = Comparable(Place("d", "knn", None), METRICS["top1"], "images", every)
    interval = compared.difference("a", "b").interval()
    assert interval.low < 0 == interval.value < interval.high
    assert compared.standings.winner is None
    opposite = {
        "a": {0: kept(np.ones(40, bool), np.arange(40) % 4)},
        "b": {0: kept(np.zeros(40, bool), np.arange(40) % 4)},
    }
    sure = replace(compared, kept=opposite)
    assert (sure.difference("a", "b").value, sure.standings.winner) == (1, "a")
    assert sure.difference("a", "b").interval().high <= 1


def test_backbones_without_a_common_seed_are_not_compared() -> None:
    units = kept(np.arange(40) < 20, np.arange(40) % 4)
    apart = Comparable(Place("d", "knn", None), METRICS["top1"], "images", {"a": {0: units}, "b": {1: units}})
    with pytest.raises(UserError, match="other seeds"):
        apart.difference("a", "b")
    assert apart.standings.groups == (("a", "b"),)

"""Intervals over concepts, against plain bootstraps and against the comparison of two backbones."""

import numpy as np
import pytest
from numpy.typing import NDArray

from unseen.metrics.paired.crossed import crossed
from unseen.metrics.paired.units import concept_accuracies
from unseen.runs.concept_estimates import difference_intervals, drop_intervals, over_concepts
from unseen.runs.data import ConceptHits

RNG = np.random.default_rng(0)


def hits(
    backbone: str, domain: str, correct: NDArray[np.integer], images: NDArray[np.integer], names: str = ""
) -> list[ConceptHits]:
    """`correct` is (seeds, concepts)."""
    concepts = tuple(f"{names or domain}-{number}" for number in range(correct.shape[1]))
    return [
        ConceptHits(backbone, domain, "all", seed, concepts, tuple(map(int, row)), tuple(map(int, images)))
        for seed, row in enumerate(correct)
    ]


def test_concepts_weigh_as_many_images_as_they_have() -> None:
    images = RNG.integers(1, 200, 60)
    correct = RNG.binomial(images, 0.2 + 0.6 * (images > 100))
    drawn = RNG.integers(0, 60, (20_000, 60))
    ends = np.quantile(correct[drawn].sum(axis=1) / images[drawn].sum(axis=1), [0.025, 0.975])
    interval = over_concepts(hits("a", "l1", correct[None], images))["a", "l1", "all"].interval
    assert interval.value == pytest.approx(correct.sum() / images.sum())
    assert (interval.low, interval.high) == pytest.approx(tuple(ends), abs=0.01)


def test_the_concepts_of_both_domains_of_a_drop_are_independent() -> None:
    """As one sample, the equal accuracies of these two domains would be a drop that is sure to the last digit."""
    images, correct = np.full(50, 20), RNG.integers(0, 21, (1, 50))
    both = [*hits("a", "seen", correct, images), *hits("a", "l1", correct, images)]
    drops = drop_intervals(over_concepts(both), "seen")
    picks = RNG.integers(0, 50, (2, 20_000, 50))
    ends = np.quantile((correct[0][picks[0]] - correct[0][picks[1]]).mean(axis=1) / 20, [0.025, 0.975])
    drop = drops["a", "l1", "all"]
    assert drop.value == 0
    assert (drop.low, drop.high) == pytest.approx(tuple(ends), abs=0.01)
    assert list(drops) == [("a", "l1", "all")]


def test_differences_are_those_of_the_paired_comparison() -> None:
    concepts, each = 30, 20
    right = RNG.random((2, 3, concepts * each)) < 0.6
    labels = np.repeat(np.arange(concepts), each)
    counts = right.reshape(2, 3, concepts, each).sum(axis=-1)
    images = np.full(concepts, each)
    both = [*hits("a", "l1", counts[0], images), *hits("b", "l1", counts[1], images)]
    interval = difference_intervals(over_concepts(both), [("a", "b")])["a", "b", "l1", "all"]
    accuracy, sizes = concept_accuracies(right, labels)
    expected = crossed(accuracy[0] - accuracy[1], sizes=sizes).interval()
    ends = (interval.value, interval.low, interval.high)
    assert ends == pytest.approx((expected.value, expected.low, expected.high))


def test_an_accuracy_has_an_interval_within_its_limits() -> None:
    images = np.full(5, 20)
    best = over_concepts(hits("a", "l1", np.array([[20, 20, 20, 20, 15]]), images))["a", "l1", "all"].interval
    assert 0 <= best.low < best.value < best.high == 1
    same = over_concepts(hits("a", "l1", np.full((2, 5), 20), images))["a", "l1", "all"].interval
    assert (same.low, same.value, same.high) == (1, 1, 1)


def test_other_concepts_or_seeds_are_not_compared() -> None:
    images, correct = np.full(5, 20), RNG.integers(0, 21, (2, 5))
    other = [*hits("a", "l1", correct, images), *hits("b", "l1", correct, images, "other")]
    assert difference_intervals(over_concepts(other), [("a", "b")]) == {}
    fewer = [*hits("a", "seen", correct[:1], images), *hits("a", "l1", correct, images)]
    assert drop_intervals(over_concepts(fewer), "seen") == {}

"""Means of scores over seeds, against NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from unseen.runs.score import Score
from unseen.runs.seed_means import deviation, each_seed, over_seeds, renamed, seeds_text

SCORE = Score("tasks", "ericsson-2021", "a", "dtd", "linear", 5, 0, "top1", 0.5)


@examples(30)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_mean_and_deviation_are_numpys(values: list[float]) -> None:
    scores = [replace(SCORE, seed=seed, value=value) for seed, value in enumerate(values)]
    [mean] = over_seeds([*reversed(scores), scores[0]])  # a seed twice counts once
    assert (mean.value, deviation(mean)) == (np.mean(values), pytest.approx(np.std(values, ddof=1)))
    assert each_seed(mean) == tuple(scores)
    assert seeds_text([mean, SCORE]) == f"1 to {len(values)} seeds"
    assert {each.backbone for each in (renamed(mean, "b"), *each_seed(renamed(mean, "b")))} == {"b"}


def test_only_seeds_are_averaged() -> None:
    others = [
        replace(SCORE, **{name: value})
        for name, value in (
            ("shots", None), ("shots", 1), ("probe", "knn-20"), ("metric", "ece"), ("domain", "pets"),
            ("backbone", "b"), ("protocol", "other"), ("source", "a paper"), ("study", "probe"),
        )
    ]  # fmt: skip
    assert over_seeds([SCORE, *others]) == [SCORE, *others]
    assert (deviation(SCORE), seeds_text([SCORE])) == (None, "")


def test_intervals_over_episodes_are_of_the_mean_of_all_episodes() -> None:
    """As if the episodes of both seeds had been drawn together, for equal variances within seeds."""
    rng = np.random.default_rng(0)
    draws = rng.normal(0.6, 0.1, (2, 5000))
    halves = 1.96 * draws.std(axis=1, ddof=1) / np.sqrt(5000)
    scores = [
        replace(SCORE, probe="centroids", seed=seed, value=float(mean), low=float(mean - half), high=float(mean + half))
        for seed, (mean, half) in enumerate(zip(draws.mean(axis=1), halves, strict=True))
    ]
    [mean] = over_seeds(scores)
    pooled = 1.96 * draws.std(ddof=1) / np.sqrt(draws.size)
    assert mean.value == pytest.approx(draws.mean())
    assert mean.half_width == pytest.approx(pooled, rel=1e-2)
    images = [replace(score, probe="inversion") for score in scores]  # whose images are the same for all seeds
    assert over_seeds(images)[0].half_width is None

"""Comparisons of all pairs of backbones for the measures across axes, from what results keep of each test image."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isclose

import numpy as np

from unseen.analyses.axes.compared_pairs import ComparedPairs
from unseen.analyses.core.comparable import Comparable
from unseen.analyses.tasks.averages import scaled
from unseen.metrics.paired.suites import mean_of_pairs
from unseen.metrics.resampling import Floats
from unseen.runs.score import Score

ALIKE = 1e-6
"""Scores that differ by less are equal: features of two machines may differ in their last bits."""
STEP = 1e-4
"""Half the distance of the scores that the slope between equal scores is taken from."""


def compared_means(names: Sequence[str], datasets: Sequence[str], every: Iterable[Comparable]) -> ComparedPairs | None:
    """Comparisons of the plain means over data sets, for the backbones that were compared on all of them.

    Args:
        every: what is comparable on each data set, by one probe with the same shots.
    """
    by_dataset = {each.place.dataset: each for each in every}
    if not datasets or not {*datasets} <= {*by_dataset}:
        return None
    places = [by_dataset[name] for name in datasets]
    own = tuple(name for name in names if all(name in each.kept for each in places))
    return ComparedPairs(own, mean_of_pairs([each.pairs_among(own) for each in places])) if own else None


def compared_logits(
    cells: Mapping[str, Mapping[tuple[str, str], Score]], keys: Sequence[tuple[str, str]], every: Iterable[Comparable]
) -> ComparedPairs | None:
    """Comparisons of means of logits over data sets and numbers of shots; None if a backbone was not compared on one.

    Episodes of one data set with different shots have the same classes, so their errors are added.

    Args:
        cells: backbone → (setting, data set) → score.
        keys: the settings and data sets of the mean.
        every: what is comparable.
    """
    names, known = tuple(cells), [*every]
    estimates = []
    for key in keys:
        scores = [cells[name][key] for name in names]
        place = next((each for each in known if all(_is_of(score, each) for score in scores)), None)
        if place is None:
            return None
        estimates.append(place.pairs_among(names).scaled(_slopes(scores)))
    return ComparedPairs(names, mean_of_pairs(estimates, [dataset for _, dataset in keys])) if names and keys else None


def _is_of(score: Score, place: Comparable) -> bool:
    """Whether a score is one of those that are compared at a place."""
    own = place.place
    if (own.dataset, own.probe, own.shots, place.metric.name) != (
        score.domain, score.probe, score.shots, score.metric,
    ):  # fmt: skip
        return False
    seeds = place.kept.get(score.backbone, {}).values()
    return any(isclose(each.scores[score.metric], score.value, rel_tol=0, abs_tol=ALIKE) for each in seeds)


def _slopes(scores: Sequence[Score]) -> Floats:
    """(B, B) difference of the logits of two scores over their difference."""
    values, logits = np.array([score.value for score in scores]), np.array([scaled(score) for score in scores])
    beside = [[scaled(replace(score, value=score.value + step)) for score in scores] for step in (-STEP, STEP)]
    local = np.subtract(beside[1], beside[0]) / (2 * STEP)
    apart = np.subtract.outer(values, values)
    slopes = np.broadcast_to(local, apart.shape).copy()
    np.divide(np.subtract.outer(logits, logits), apart, out=slopes, where=np.abs(apart) > STEP)
    return slopes

"""The scores of a run without the test images that have near-duplicates, from what its results keep of each image."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from unseen.analyses.duplicates.pairs import ScoreWithout, SetPairs
from unseen.errors import UserError
from unseen.probes.units import ids_hash
from unseen.runs.kept_labels import read_labels
from unseen.runs.kept_units import KeptUnits, kept_units
from unseen.runs.record import read_results
from unseen.runs.results import RESULTS

Fit = tuple[str, str, str, int | None]
"""Backbone, data set, variant of the probe, and shots."""


def scores_without(run: Path, sets: Sequence[SetPairs], threshold: float) -> tuple[list[ScoreWithout], list[str]]:
    """The scores of all backbones with and without near-duplicates, and sentences about those that cannot be had.

    Scores from the hits of single images can be had: accuracies, and their means over classes. Those of several classes
    per image, of episodes and of results that keep nothing of each image cannot.
    """
    with_values: dict[tuple[Fit, str], list[tuple[float, float]]] = {}
    lacking, metrics = dict[str, None](), dict[str, None]()
    pairs_of = {pairs.dataset: pairs for pairs in sets}
    images_at = lru_cache(maxsize=8)(read_labels)
    for result in read_results(run):
        pairs = pairs_of.get(result.job["dataset"])
        if pairs is None or not pairs.above(threshold).any():
            continue
        kept = np.where(pairs.above(threshold), 0.0, 1.0)
        name = f"{result.job['probe']} of {result.job['backbone']} on {pairs.dataset}"
        units = [each for each in kept_units(run / RESULTS, result, images_at) if _of_images(each, pairs)]
        if not units:
            lacking[name] = None
        for each in units:
            fit = (result.job["backbone"], pairs.dataset, each.variant, each.shots)
            scored = {metric: values for metric, *values in _scores(each, kept)}
            for metric, (value, without) in scored.items():
                with_values.setdefault((fit, metric), []).append((value, without))
            own = next(of for of in result.fits if of.variant == each.variant)
            metrics |= dict.fromkeys(metric for metric, _ in own.values if metric not in scored)
    found = list[ScoreWithout]()
    for (fit, metric), values in with_values.items():
        value, without = np.mean(values, axis=0).tolist()
        found.append(ScoreWithout(*fit, metric, value, without, len(values)))
    return found, _sentences(list(lacking), list(metrics), sets, threshold)


def _of_images(units: KeptUnits, pairs: SetPairs) -> bool:
    """Whether these are hits of the images that were searched, in the same order."""
    if units.kind != "images" or units.images is None or units.images.count != len(pairs.test.features):
        return False
    own = ids_hash(pairs.test.features.ids)
    return not (own and units.images.ids) or units.images.ids == own


def _scores(units: KeptUnits, kept: np.ndarray) -> Iterator[tuple[str, float, float]]:
    if not kept.any():
        return
    every, without = units.rescored(), units.rescored(kept)
    if units.images is not None and units.images.y is not None:
        left = np.bincount(units.images.y, kept, len(units.images.classes))
        if not left.all():  # a mean over fewer classes is another score
            without.pop("mean-per-class", None)
    yield from ((metric, units.scores.get(metric, every[metric]), without[metric]) for metric in without
                if metric == "top1" or metric in units.scores)  # fmt: skip


def _sentences(lacking: Sequence[str], metrics: Sequence[str], sets: Sequence[SetPairs], threshold: float) -> list[str]:
    found = [
        f"{pairs.dataset}: every test image has a near-duplicate, so no score is left without them."
        for pairs in sets
        if pairs.above(threshold).all()
    ]
    if metrics:
        found.append(
            f"Not scored again without near-duplicates: {', '.join(metrics)}. They do not follow from the hits of "
            "single images, or have no image of some class left."
        )
    if lacking:
        more = f" and {len(lacking) - 3:,} more" if len(lacking) > 3 else ""
        found.append(
            f"Not scored again without near-duplicates: {'; '.join(lacking[:3])}{more}. They keep no hits of these "
            "images, or their score is not a mean over images."
        )
    return found


def refuse_threshold(threshold: float) -> None:
    """Refuse a threshold that no similarity can be compared with."""
    if not 0 < threshold <= 1:
        raise UserError(f"the threshold must be a similarity above 0 and at most 1, not {threshold:g}")

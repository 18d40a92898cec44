"""Means of scores over seeds, which pages show and compare if a run has several seeds."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from unseen.probes.by_name.centroids import Centroids
from unseen.runs.score import Score


@dataclass(frozen=True)
class SeedMean(Score):
    """The mean of several scores that differ only in their seed.

    Few-shot scores keep an interval over episodes: half its width is √(Σ h²) / n for n seeds with half widths h, since
    seeds draw their episodes independently. It does not cover the choice of images. Other means have no interval.

    Attributes:
        by_seed: the scores, by seed.
    """

    by_seed: tuple[Score, ...] = ()


def over_seeds(scores: Iterable[Score]) -> list[Score]:
    """Scores that differ only in their seed as their mean; a score with one seed stays as it is.

    A seed that occurs twice, as in runs that share jobs, counts once.
    """
    groups: dict[tuple[object, ...], dict[int, Score]] = {}
    for score in scores:
        groups.setdefault(_without_seed(score), {}).setdefault(score.seed, score)
    return [_mean([of[seed] for seed in sorted(of)]) for of in groups.values()]


def _without_seed(score: Score) -> tuple[object, ...]:
    return (
        score.study, score.protocol, score.backbone, score.domain, score.probe, score.shots, score.metric, score.source,
    )  # fmt: skip


def _mean(scores: list[Score]) -> Score:
    first = scores[0]
    if len(scores) == 1:
        return first
    value = float(np.mean([score.value for score in scores]))
    halves = [score.half_width for score in scores if score.half_width is not None]
    over_episodes = first.probe == Centroids.name and len(halves) == len(scores)
    half = float(np.sqrt(np.square(halves).sum())) / len(scores) if over_episodes else None
    low, high = (None, None) if half is None else (value - half, value + half)
    fields = {name: of for name, of in vars(first).items() if name not in {"value", "low", "high"}}
    return SeedMean(**fields, value=value, low=low, high=high, by_seed=tuple(scores))


def each_seed(score: Score) -> tuple[Score, ...]:
    """The scores of all seeds behind a score."""
    return score.by_seed if isinstance(score, SeedMean) else (score,)


def deviation(score: Score) -> float | None:
    """The sample standard deviation over seeds; None for a single seed."""
    values = [each.value for each in each_seed(score)]
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def seeds_text(scores: Iterable[Score]) -> str:
    """`2 seeds`, or `1 to 3 seeds`, of the given scores; empty if all have one."""
    counts = sorted({len(each_seed(score)) for score in scores})
    if not counts or counts[-1] == 1:
        return ""
    return f"{counts[0]} to {counts[-1]} seeds" if len(counts) > 1 else f"{counts[0]} seeds"


def renamed(score: Score, backbone: str) -> Score:
    """A score, and those of its seeds, under another name of the backbone."""
    if not isinstance(score, SeedMean):
        return replace(score, backbone=backbone)
    return replace(score, backbone=backbone, by_seed=tuple(replace(each, backbone=backbone) for each in score.by_seed))

"""The best step of a training, and the steps that are not resolved from it on the same test images."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unseen.errors import UserError, did_you_mean
from unseen.metrics.catalogue import METRICS, Metric
from unseen.metrics.paired.crossed import PLUS_MINUS, crossed
from unseen.metrics.paired.estimate import Estimate
from unseen.metrics.resampling import Floats
from unseen.monitoring.scores import Check, Place, StepScore

LEVEL = 0.05
"""A difference is resolved if its p-value is at most this."""


@dataclass(frozen=True)
class Best:
    """The best check so far.

    Attributes:
        step: its training step; the earliest of equal ones.
        value: the mean over data sets and seeds of `metric` by `probe`.
        since: number of checks after it that have this score; for early stopping, end the training when this is large.
        ties: other steps whose difference from it is not resolved (p > `LEVEL`) on the same test images: which of them
            is best is chance.
        compared: whether steps were compared image by image, which takes hits on images; otherwise `ties` has only the
            steps with the same value.
    """

    step: int
    value: float
    since: int
    probe: str
    metric: str
    ties: tuple[int, ...] = ()
    compared: bool = True


@dataclass(frozen=True, eq=False)
class Curve:
    """One score against steps.

    Attributes:
        scores: step → one score per seed.
    """

    place: Place
    scores: Mapping[int, Sequence[StepScore]]

    @property
    def values(self) -> dict[int, float]:
        """Step → mean over seeds."""
        return {step: float(np.mean([each.value for each in of])) for step, of in self.scores.items()}

    @property
    def is_first(self) -> bool:
        """Whether its metric is the first of its fits."""
        return any(each.first for of in self.scores.values() for each in of)

    def hits(self, step: int) -> Floats | None:
        """(seeds, images) hits at a step, if they are kept and their mean is the score."""
        found = [each.hits for each in sorted(self.scores.get(step, ()), key=lambda each: each.seed)]
        rows = [np.asarray(each, np.float64) for each in found if each is not None]
        if not rows or len(rows) < len(found) or len({len(each) for each in rows}) > 1 or len(rows[0]) < 2:
            return None
        matrix = np.stack(rows)
        return matrix if abs(float(matrix.mean()) - self.values[step]) < 1e-9 else None

    def interval(self, step: int) -> tuple[float, float] | None:
        """The 95% interval at a step, over test images and seeds; of one seed without hits, that of its fit."""
        hits = self.hits(step)
        if hits is not None:
            found = crossed(hits).interval()
            return max(found.low, 0.0), min(found.high, 1.0)
        [first, *others] = self.scores[step]
        return None if others or first.low is None or first.high is None else (first.low, first.high)

    def difference(self, step: int, other: int) -> Estimate | None:
        """The score at a step minus that at another, on the same test images; None if that is not known."""
        one, two = self.hits(step), self.hits(other)
        if one is None or two is None or one.shape != two.shape:
            return None
        return crossed(one - two, pseudo_units=PLUS_MINUS)


def curves(checks: Iterable[Check]) -> list[Curve]:
    """All curves, in the order in which they appear."""
    found: dict[Place, dict[int, list[StepScore]]] = {}
    for check in checks:
        for score in check.scores:
            found.setdefault(score.place, {}).setdefault(check.step, []).append(score)
    return [Curve(place, scores) for place, scores in found.items()]


def known_metrics(metrics: Mapping[str, Metric], checks: Iterable[Check]) -> dict[str, Metric]:
    """These metrics, and those of scores that are not among them, such as of a plug-in that is not installed."""
    names = {score.metric for check in checks for score in check.scores}
    return {**{name: Metric(name, None, None, None, "score") for name in names}, **metrics}


def best(
    checks: Mapping[int, Check],
    *,
    dataset: str | None = None,
    probe: str | None = None,
    metric: str | None = None,
    metrics: Mapping[str, Metric] = METRICS,
) -> Best | None:
    """The best check by one score, averaged over data sets; None if there is none yet.

    Only checks with a score on all of these data sets count.

    Args:
        dataset: only this one.
        probe: by its name in scores; by default the first whose metric has a better direction.
        metric: by default the first of the probe.
    """
    metrics = known_metrics(metrics, checks.values())
    chosen = _chosen(curves(checks.values()), dataset, probe, metric, metrics)
    if not chosen:
        return None
    steps = [step for step in checks if all(step in each.scores for each in chosen)]
    if not steps:
        return None
    of = [each.values for each in chosen]
    means = {step: float(np.mean([values[step] for values in of])) for step in steps}
    name = chosen[0].place.metric
    sign = 1 if metrics[name].higher_is_better else -1
    top = max(steps, key=lambda step: (sign * means[step], -step))
    tests = {step: _difference(chosen, top, step) for step in steps if step != top}
    compared = all(each is not None for each in tests.values())
    ties = tuple(
        step
        for step, test in tests.items()
        if means[step] == means[top] or (test is not None and not is_resolved(test))
    )
    since = sum(step > top for step in steps)
    return Best(top, means[top], since, chosen[0].place.probe, name, ties, compared)


def is_resolved(difference: Estimate) -> bool:
    """Whether a difference is distinguished from none by the test images."""
    return difference.p_value <= LEVEL


def _difference(chosen: Sequence[Curve], step: int, other: int) -> Estimate | None:
    """The mean difference of two steps over data sets; None if hits are not kept."""
    found = [each.difference(step, other) for each in chosen]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    error = float(np.sqrt(sum(each.error**2 for each in known))) / len(known)
    centre = sum(each.centre for each in known) / len(known)
    return Estimate(centre, centre, error, min(each.df for each in known))


def _chosen(
    every: Sequence[Curve], dataset: str | None, probe: str | None, metric: str | None, metrics: Mapping[str, Metric]
) -> list[Curve]:
    """The curves of one probe, metric and number of shots (the largest), one per data set."""
    for what, name, known in (
        ("data set", dataset, [each.place.dataset for each in every]),
        ("probe", probe, [each.place.probe for each in every]),
        ("metric", metric, [each.place.metric for each in every]),
    ):
        if every and name is not None and name not in known:
            hint = did_you_mean(name, known) or f"; there are {', '.join(dict.fromkeys(known))}"
            raise UserError(f"best: there are no scores of the {what} {name}{hint}")
    left = [
        each
        for each in every
        if metrics[each.place.metric].higher_is_better is not None
        and dataset in {None, each.place.dataset}
        and probe in {None, each.place.probe}
        and (each.place.metric == metric if metric is not None else each.is_first)
    ]
    if not left:
        if every:
            raise UserError("best: no score of this kind has a better direction; name another probe or metric")
        return []
    first = left[0].place
    same = [each for each in left if (each.place.probe, each.place.metric) == (first.probe, first.metric)]
    of_sets: dict[str, Curve] = {}
    for each in same:
        before = of_sets.get(each.place.dataset)
        if before is None or _most(each.place.shots) > _most(before.place.shots):
            of_sets[each.place.dataset] = each
    return [*of_sets.values()]


def _most(shots: int | None) -> float:
    return float("inf") if shots is None else shots

"""How well a panel gives the scores of backbones that it was not chosen on, beside random panels of its size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from unseen.analyses.panels.choice import Floats, Places, choose_panel, fit_lines, panel_mean
from unseen.errors import UserError
from unseen.metrics.resampling import Interval

Verdict = Literal["better", "not resolved", "worse"]
MIN_BACKBONES = 6
"""A line has two coefficients, and without a held-out backbone at least five must be left to choose and fit on."""
FOLDS, REPEATS = 10, 3
RANDOM_PANELS = 500


@dataclass(frozen=True)
class HeldOut:
    """The mean absolute error of the score of a backbone, as shares: 0.01 is one percentage point.

    The score is estimated by the line through the means of the panel and the scores of the other backbones.

    Attributes:
        backbones: number of backbones, each held out in turn.
        error: of the chosen panel, with the 95% interval over backbones.
        random: of random panels of the same size, with the range of 95% of them; each has its own line.
        difference: the error of the choice minus that of random panels, with the paired 95% interval over backbones.
        beaten: share of random panels with a larger error than the choice.
        by_backbone: the error of the choice for each backbone.
    """

    backbones: int
    error: Interval
    random: Interval
    difference: Interval
    beaten: float
    by_backbone: tuple[float, ...]

    @property
    def verdict(self) -> Verdict:
        """Whether the choice is better than a random panel, as far as these backbones can tell."""
        return "better" if self.difference.high < 0 else "worse" if self.difference.low > 0 else "not resolved"

    @property
    def beats_random(self) -> bool:
        return self.verdict == "better"


def evaluate(
    accuracy: Floats,
    weights: Floats,
    k: int,
    *,
    strata: NDArray[np.integer] | None = None,
    seed: int = 0,
    random_panels: int = RANDOM_PANELS,
) -> HeldOut:
    """Choose a panel without each backbone in turn, and estimate its score by that panel.

    Backbones are held out in ten random parts, three times with other parts (one at a time if there are at most ten):
    for each part, the panel and its line are chosen on the others. Random panels are the same in all parts, and only
    their lines are fitted anew. Backbones that resemble each other make the error look smaller than it will be for
    another kind of backbone; `error_on_other_kinds` holds out whole kinds.

    Args:
        accuracy, weights, k, strata: as for `choose_panel`.
        seed: of the parts and of the random panels.
    """
    if len(accuracy) < MIN_BACKBONES:
        raise UserError(
            f"a panel needs at least {MIN_BACKBONES} backbones, so that five are left when one is held out; there are "
            f"{len(accuracy)}"
        )
    rng = np.random.default_rng(seed)
    score = accuracy @ weights / weights.sum()
    drawn = _random_panels(rng, accuracy.shape[1], k, strata, random_panels)
    means = np.stack([panel_mean(accuracy, weights, places) for places in drawn])
    chosen, random, times = np.zeros(len(score)), np.zeros((random_panels, len(score))), 0
    for parts in _repeats(rng, len(score)):
        times += 1
        for test in parts:
            train = np.setdiff1d(np.arange(len(score)), test)
            chosen[test] += _absolute_errors(accuracy, weights, score, k, strata, train, test)
            intercepts, slopes = fit_lines(means[:, train], score[train])
            random[:, test] += np.abs(intercepts[:, None] + slopes[:, None] * means[:, test] - score[test])
    chosen, random = chosen / times, random / times
    by_panel = random.mean(axis=1)
    low, high = np.quantile(by_panel, [0.025, 0.975])
    error = _interval(chosen)
    return HeldOut(
        backbones=len(score),
        error=Interval(error.value, max(0.0, error.low), error.high),
        random=Interval(float(by_panel.mean()), float(low), float(high)),
        difference=_interval(chosen - random.mean(axis=0)),
        beaten=float((by_panel > chosen.mean()).mean()),
        by_backbone=tuple(chosen.tolist()),
    )


def error_on_other_kinds(
    accuracy: Floats,
    weights: Floats,
    k: int,
    kinds: Sequence[str],
    *,
    strata: NDArray[np.integer] | None = None,
) -> float | None:
    """The mean absolute error if all backbones of a kind are held out at once.

    None if there are fewer than three kinds, or fewer than five backbones are left without one of them.

    Args:
        kinds: the kind of each backbone, such as its category.
    """
    labels = np.asarray(kinds)
    names, counts = np.unique(labels, return_counts=True)
    if len(names) < 3 or len(labels) - counts.max() < MIN_BACKBONES - 1:
        return None
    score = accuracy @ weights / weights.sum()
    parts = [(np.flatnonzero(labels != name), np.flatnonzero(labels == name)) for name in names]
    errors = [_absolute_errors(accuracy, weights, score, k, strata, train, test) for train, test in parts]
    return float(np.concatenate(errors).mean())


def _absolute_errors(
    accuracy: Floats,
    weights: Floats,
    score: Floats,
    k: int,
    strata: NDArray[np.integer] | None,
    train: Places,
    test: Places,
) -> Floats:
    """(test,) absolute errors of the scores of some backbones, by a panel and a line that others determine."""
    means = panel_mean(accuracy, weights, choose_panel(accuracy[train], weights, k, strata))
    intercept, slope = fit_lines(means[train], score[train])
    return np.abs(intercept + slope * means[test] - score[test])


def _repeats(rng: np.random.Generator, count: int) -> Iterator[list[Places]]:
    """Partitions of backbones into parts that are held out together."""
    folds = min(count, FOLDS)
    for _ in range(1 if folds == count else REPEATS):
        yield [np.sort(part) for part in np.array_split(rng.permutation(count), folds)]


def _random_panels(
    rng: np.random.Generator, units: int, k: int, strata: NDArray[np.integer] | None, count: int
) -> Places:
    """(count, units of a panel) random panels, without repetition within a panel or a stratum."""
    groups = [np.arange(units)] if strata is None else [np.flatnonzero(strata == each) for each in np.unique(strata)]
    return np.stack([np.concatenate([rng.permutation(group)[:k] for group in groups]) for _ in range(count)])


def _interval(values: Floats) -> Interval:
    """The mean of the values of held-out backbones with its 95% interval by Student's t.

    Backbones of different parts are not independent, since their panels were chosen on mostly the same others. So the
    variance of the mean is not s²/n but  s²/n · (1 + f/(f − 1))  for f parts (Nadeau & Bengio 2003). Where concepts are
    pure noise, 6 to 10% of choices are still called better than random, where 2.5% are intended (12 to 15% without).
    """
    count, mean = len(values), float(values.mean())
    parts = min(count, FOLDS)
    deviation = float(values.std(ddof=1)) * np.sqrt((1 + parts / (parts - 1)) / count)
    half = float(t.ppf(0.975, count - 1)) * deviation
    return Interval(mean, mean - half, mean + half)

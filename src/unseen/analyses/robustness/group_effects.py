"""Is a group of models off the line of the others? Its effective robustness under a fit that has none of its models.

For each OOD test set, the plane of ID accuracies is fitted to the models of all other groups, and the
effect of a group is the mean of accuracy − prediction over its models. Two things vary: its own models, s²/n of their
effective robustness, and the others' line, whose part is a jackknife over groups, (H − 1)/H Σ(θ₋ₕ − θ̄)², θ₋ₕ the mean
prediction without group h. Degrees of freedom are those of the sum (Satterthwaite 1946), from n − 1 and H − 1. Test
images are not drawn anew: all models share them, and the effect is about these test sets.

The smallest effect that so many models resolve has a power of 80% (noncentral t) at the level that remains for one of
all effects (Bonferroni), so that it can be held against p-values after Holm's correction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.fits import ShiftFit, ShiftStudy
from unseen.analyses.robustness.groups import AVERAGE
from unseen.metrics.comparisons import LEVEL, holm, is_resolved
from unseen.metrics.paired.estimate import Estimate
from unseen.metrics.planes import determined, planes, with_ones
from unseen.metrics.robustness import Method

Array = NDArray[np.float64]
FEWEST_OTHERS = 3
"""Groups besides the one in question: fewer say nothing of how much lines of groups differ."""
FEWEST_MODELS = 2


@dataclass(frozen=True)
class GroupEffect:
    """The effect of a group on an OOD test set, or its mean over all of them (`AVERAGE`), in points.

    Attributes:
        id_sets: ID test sets of the fit.
        in_fit: whether these models are in the fit of the study; those that are only scored are a group of their own.
        p_holm: corrected for all effects under the same ID test sets: for all averages, or for all the others.
        smallest: the smallest effect that would be resolved with a power of 80%.
        spread: standard deviation of the mean ρ of the other groups around the same line, in points: how far off it
            groups usually are.
    """

    id_sets: tuple[str, ...]
    ood: str
    group: str
    in_fit: bool
    models: int
    effect: Estimate
    p_holm: float
    smallest: float
    spread: float

    @property
    def resolved(self) -> bool:
        """Whether the group is off the line of the others beyond chance."""
        return is_resolved(self.p_holm)


@dataclass(frozen=True)
class _Held:
    """A group's ρ (m,) under the others' plane, and its mean prediction (H,) without each of the others, in points.

    `others` are the mean ρ (H,) of the other groups under the same plane.
    """

    rho: dict[str, float]
    without: Array
    others: Array


def group_effects(study: ShiftStudy) -> tuple[GroupEffect, ...]:
    """The effects of all groups under the ID test sets of the study, together and each alone; empty for few groups."""
    subsets = dict.fromkeys([study.table.id_sets, *((name,) for name in study.table.id_sets)])
    found = [[*_effects(study, subset)] for subset in subsets]
    families = [[each for each in of if (each.ood == AVERAGE) == mean] for of in found for mean in (True, False)]
    return tuple(each for family in families for each in _corrected(family))


def _corrected(effects: Sequence[GroupEffect]) -> Iterator[GroupEffect]:
    if effects:
        p_values = holm(np.array([each.effect.p_value for each in effects]))
        level = 1 - LEVEL / len(effects)
        for each, p in zip(effects, p_values.tolist(), strict=True):
            yield replace(each, p_holm=p, smallest=each.effect.detectable(level=level))


def _effects(study: ShiftStudy, subset: tuple[str, ...]) -> Iterator[GroupEffect]:
    """Effects without corrected p-values, group by group."""
    found = dict[tuple[str, bool], dict[str, _Held]]()
    for fit in study.fits:
        for key, held in _held_out(fit, subset, study.settings.method):
            found.setdefault(key, {})[fit.ood] = held
    for (group, in_fit), by_ood in found.items():
        for ood, held in by_ood.items():
            yield _effect(subset, ood, group, in_fit, [held])
        if len(study.fits) > 1 and len(by_ood) == len(study.fits):
            shared = [
                model for model in next(iter(by_ood.values())).rho if all(model in h.rho for h in by_ood.values())
            ]
            every = [
                _Held({model: held.rho[model] for model in shared}, held.without, held.others)
                for held in by_ood.values()
            ]
            if len(shared) >= FEWEST_MODELS and len({len(held.without) for held in every}) == 1:
                yield _effect(subset, AVERAGE, group, in_fit, every)


def _effect(subset: tuple[str, ...], ood: str, group: str, in_fit: bool, held: Sequence[_Held]) -> GroupEffect:
    """The mean over some OOD test sets, whose models and lines vary together."""
    rho = np.mean([[*each.rho.values()] for each in held], axis=0)
    without = np.mean([each.without for each in held], axis=0)
    n, others = len(rho), len(without)
    own = float(rho.var(ddof=1)) / n
    line = (others - 1) / others * float(((without - without.mean()) ** 2).sum())
    both = own**2 / (n - 1) + line**2 / (others - 1)
    df = (own + line) ** 2 / both if both > 0 else float(n - 1)
    mean = float(rho.mean())
    spread = float(np.mean([each.others for each in held], axis=0).std(ddof=1))
    return GroupEffect(
        subset, ood, group, in_fit, n, Estimate(mean, mean, (own + line) ** 0.5, df), 1.0, np.inf, spread
    )


def _held_out(fit: ShiftFit, subset: tuple[str, ...], method: Method) -> Iterator[tuple[tuple[str, bool], _Held]]:
    """Every group with enough models and enough others that determine planes without it and any one of them."""
    places = [fit.fit.names.index(name) for name in subset]
    x, accuracy, inside = method.scale.forward(fit.id_accuracy[:, places]), fit.accuracy, fit.inside
    y = method.scale.forward(accuracy)
    keys = [(score.group, score.in_fit) for score in fit.scores]
    groups = np.array([score.group for score in fit.scores])
    fitted = list(dict.fromkeys(groups[inside].tolist()))
    for key in dict.fromkeys(keys):
        rows = (groups == key[0]) & (inside == key[1])
        others = [name for name in fitted if name != key[0]]
        if rows.sum() < FEWEST_MODELS or len(others) < FEWEST_OTHERS:
            continue
        outside = inside & (groups != key[0])
        counts = np.stack([outside, *(outside & (groups != name) for name in others)]).astype(np.float64)
        if not determined(x, counts).all():
            continue
        fits = planes(x, y, counts, robust=method.robust)
        predicted = method.scale.back(with_ones(x[rows]) @ fits.T)  # (m, 1 + H)
        rho = 100 * (accuracy[rows] - predicted[:, 0])
        models = [fit.scores[row].model for row in np.flatnonzero(rows).tolist()]
        off = 100 * (accuracy - method.scale.back(with_ones(x) @ fits[0]))
        usual = np.array([off[outside & (groups == name)].mean() for name in others])
        without = 100 * predicted[:, 1:].mean(axis=0)
        yield key, _Held(dict(zip(models, rho.tolist(), strict=True)), without, usual)

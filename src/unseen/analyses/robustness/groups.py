"""Groups of models in a study of shifts: mean ± deviation of ρ and MAE, for each OOD test set and on average.

They are computed for the multi-ID fit and for each single-ID fit, which the paper compares.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.fits import ShiftFit, ShiftStudy

AVERAGE = "(average)"
Names = tuple[str, ...]


@dataclass(frozen=True)
class GroupScore:
    """A group of models on an OOD test set, in points.

    Attributes:
        id_sets: ID test sets of the fit.
        ood: `AVERAGE` for the mean over OOD test sets for each model that has all of them, and then over models; its
            `mae` is the mean of |ρ| over OOD test sets and then over the same models.
        in_fit: whether the models are in the fit; models of a group that are only scored are separate.
        deviation: sample standard deviation over models; None for a single model.
    """

    id_sets: Names
    ood: str
    group: str
    in_fit: bool
    models: int
    mean: float
    deviation: float | None
    mae: float


def group_scores(study: ShiftStudy) -> list[GroupScore]:
    """All groups under all fits; averages only if there are several OOD test sets."""
    subsets = dict.fromkeys([study.table.id_sets, *((name,) for name in study.table.id_sets)])
    scores = list[GroupScore]()
    for subset in subsets:
        rho = {fit.ood: _rho(fit, subset) for fit in study.fits}
        for group, in_fit, models in _groups(study):
            for ood, values in rho.items():
                known = np.array([[values[model]] for model in models if model in values])
                if len(known):
                    scores.append(_score(subset, ood, group, in_fit, known))
            complete = [model for model in models if all(model in values for values in rho.values())]
            if len(rho) > 1 and complete:
                every = np.array([[values[model] for values in rho.values()] for model in complete])
                scores.append(_score(subset, AVERAGE, group, in_fit, every))
    return scores


def _rho(fit: ShiftFit, subset: Names) -> dict[str, float]:
    """ρ in points of every model under the fit on some of the ID test sets."""
    baseline = next(found.fit for found in fit.comparisons if found.fit.names == subset)
    places = [fit.fit.names.index(name) for name in subset]
    x = np.array([score.id_accuracy for score in fit.scores])[:, places]
    rho = 100 * baseline.rho(x, np.array([score.accuracy for score in fit.scores]))
    return dict(zip((score.model for score in fit.scores), rho.tolist(), strict=True))


def _groups(study: ShiftStudy) -> list[tuple[str, bool, list[str]]]:
    """Groups in the order of the table, each with its models in the fit and then those that are only scored."""
    table = study.table
    members: dict[tuple[str, bool], list[str]] = {}
    for model, group, in_fit in zip(table.models, table.groups, table.in_fit.tolist(), strict=True):
        members.setdefault((group, in_fit), []).append(model)
    order = {group: place for place, group in enumerate(dict.fromkeys(table.groups))}
    keys = sorted(members, key=lambda key: (order[key[0]], not key[1]))
    return [(group, in_fit, members[group, in_fit]) for group, in_fit in keys]


def _score(subset: Names, ood: str, group: str, in_fit: bool, rho: NDArray[np.float64]) -> GroupScore:
    """Args: rho: (models, OOD test sets), without gaps."""
    means = rho.mean(axis=1)
    deviation = float(means.std(ddof=1)) if len(means) > 1 else None
    return GroupScore(
        subset, ood, group, in_fit, len(means), float(means.mean()), deviation, float(np.abs(rho).mean())
    )  # fmt: skip

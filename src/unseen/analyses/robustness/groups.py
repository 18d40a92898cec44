"""Groups of models in a study of shifts: mean ± deviation of ρ and MAE, for each OOD test set and on average.

They are computed for the multi-ID fit and for each single-ID fit, which the paper compares.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.fits import ShiftFit, ShiftStudy

Array = NDArray[np.float64]
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
    place = {model: row for row, model in enumerate(study.table.models)}
    rows_of_fits = [np.array([place[score.model] for score in fit.scores], dtype=np.intp) for fit in study.fits]
    groups = [(group, in_fit, np.array(rows)) for group, in_fit, rows in _groups(study)]
    scores = list[GroupScore]()
    for subset in subsets:
        rho = np.full((len(place), len(study.fits)), np.nan)
        for number, (fit, rows) in enumerate(zip(study.fits, rows_of_fits, strict=True)):
            rho[rows, number] = _rho(fit, subset)
        for group, in_fit, members in groups:
            of_group = rho[members]
            known = ~np.isnan(of_group)
            for number, fit in enumerate(study.fits):
                if known[:, number].any():
                    values = of_group[known[:, number], number]
                    scores.append(_score(subset, fit.ood, group, in_fit, values[:, None]))
            complete = known.all(axis=1)
            if len(study.fits) > 1 and complete.any():
                scores.append(_score(subset, AVERAGE, group, in_fit, of_group[complete]))
    return scores


def _rho(fit: ShiftFit, subset: Names) -> Array:
    """ρ in points of every model of a fit under that on some of the ID test sets."""
    baseline = next(found.fit for found in fit.comparisons if found.fit.names == subset)
    places = [fit.fit.names.index(name) for name in subset]
    return 100 * baseline.rho(fit.id_accuracy[:, places], fit.accuracy)


def _groups(study: ShiftStudy) -> list[tuple[str, bool, list[int]]]:
    """Groups in the order of the table, each with the rows of its models in the fit and then of those only scored."""
    table = study.table
    members: dict[tuple[str, bool], list[int]] = {}
    for row, (group, in_fit) in enumerate(zip(table.groups, table.in_fit.tolist(), strict=True)):
        members.setdefault((group, in_fit), []).append(row)
    order = {group: place for place, group in enumerate(dict.fromkeys(table.groups))}
    keys = sorted(members, key=lambda key: (order[key[0]], not key[1]))
    return [(group, in_fit, members[group, in_fit]) for group, in_fit in keys]


def _score(subset: Names, ood: str, group: str, in_fit: bool, rho: Array) -> GroupScore:
    """Args: rho: (models, OOD test sets), without gaps."""
    means = rho.mean(axis=1)
    deviation = float(means.std(ddof=1)) if len(means) > 1 else None
    return GroupScore(
        subset, ood, group, in_fit, len(means), float(means.mean()), deviation, float(np.abs(rho).mean())
    )  # fmt: skip

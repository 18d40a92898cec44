"""What the average of a shifted test set hides: subsets on which models of higher ID accuracy are less accurate.

For each fit of a study of shifts, and each of its ID test sets, half of the models choose a subset of the images and
the other half confirms it (`unseen.metrics.subsets`). P-values are corrected for the number of these searches (Holm).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.fits import ShiftFit, ShiftStudy
from unseen.analyses.robustness.fitted_model import FittedModel
from unseen.analyses.robustness.found_subsets import ClassShare, FoundSubset, ShiftSubsets
from unseen.analyses.robustness.subset_keys import SubsetKeys
from unseen.errors import UserError, names_of
from unseen.metrics.comparisons import holm
from unseen.metrics.subset_classes import class_p_values
from unseen.metrics.subsets import CHANCE, SubsetSearch, search_subset
from unseen.probes.units import ScoredImages
from unseen.text.words import counted, joined

SHARE, LEAST = 20, 10
"""By default a subset has one in so many of the images of its test set, and at least so many."""
PERMUTATIONS = 200
PER_SEARCH = 40
"""Permutations for each of many searches, so that a corrected p-value can still be small."""


@dataclass(frozen=True, eq=False)
class ColumnHits:
    """Which images of a test set each model gets right.

    Attributes:
        by_model: model → (n,) hits; models that were tested on other images are not there.
        names: (n,) names of the images; empty if unknown.
        test_set: the test set that the column is of; empty if unknown.
    """

    images: ScoredImages
    by_model: Mapping[str, NDArray[np.bool_]]
    names: Sequence[str] = ()
    test_set: str = ""


def find_subsets(
    studies: Sequence[ShiftStudy], hits: Mapping[str, ColumnHits], keys: SubsetKeys | None = None
) -> ShiftSubsets:
    """Search every shifted test set of some studies; those that cannot be searched are named in the notices.

    Args:
        hits: column → its hits.
    """
    keys = keys or SubsetKeys()
    wanted = [
        (study, fit, place)
        for study in studies for fit in study.fits if fit.ood in hits for place in range(len(fit.fit.names))
    ]  # fmt: skip
    without = [fit.ood for study in studies for fit in study.fits if fit.ood not in hits]
    if not wanted:
        raise UserError(f"no result on {joined([*dict.fromkeys(without)])} keeps which images are right; run again")
    many = keys.permutations or max(PERMUTATIONS, PER_SEARCH * len(wanted))
    found, failed = list[_Searched](), list[str]()
    for study, fit, place in wanted:
        try:
            found.append(_search(study, fit, place, hits[fit.ood], keys, many))
        except UserError as error:
            failed.append(f"{fit.ood} by {study.table.id_columns[fit.ood][place]}: {error}.")
    if len(wanted) == len(failed) == 1:
        raise UserError(failed[0].removesuffix("."))
    adjusted = holm(np.array([each.search.p_values[0] for each in found])) if found else ()
    subsets = [each.with_classes(float(p)) for each, p in zip(found, adjusted, strict=True)]
    told = [f"{name} keeps no hits on single images, so it was not searched." for name in dict.fromkeys(without)]
    return ShiftSubsets(tuple(subsets), (*told, *failed, *_left_out(subsets), *_copies(subsets)))


@dataclass(frozen=True, eq=False)
class _Searched:
    """A search before its p-value is corrected."""

    ood: str
    id_set: str
    models: tuple[FittedModel, ...]
    id_place: int
    search: SubsetSearch
    hits: ColumnHits
    left_out: tuple[str, ...]

    def with_classes(self, p_holm: float) -> FoundSubset:
        right = np.stack([self.hits.by_model[model.model] for model in self.models], axis=1)
        # Larger sizes are tested at the level that this search has of all of them.
        found = self.search.largest(CHANCE * float(self.search.p_values[0]) / p_holm)
        place = found or 0
        accuracy = np.stack([right[self.search.subset(place)].mean(axis=0), right.mean(axis=0)], axis=1)
        return FoundSubset(
            self.ood, self.id_set, self.models, self.id_place, self.search, place, accuracy, right.mean(axis=1),
            self.hits.images, self.hits.names, self.hits.test_set, p_holm,
            tuple(_classes(self.search, place, self.hits.images)), self.left_out,
        )  # fmt: skip


def _search(
    study: ShiftStudy, fit: ShiftFit, place: int, hits: ColumnHits, keys: SubsetKeys, permutations: int
) -> _Searched:
    inside = [model for model in fit.scores if model.in_fit]
    models = tuple(model for model in inside if model.model in hits.by_model)
    share = np.array([model.id_accuracy[place] for model in models])
    count = hits.images.count
    right = np.stack([hits.by_model[model.model] for model in models], axis=1) if models else np.zeros((count, 0))
    search = search_subset(
        right, study.settings.method.scale.forward(share), size=keys.size or max(LEAST, count // SHARE),
        groups=[model.group for model in models], accuracy=share, classes=hits.images.y, permutations=permutations,
        seed=keys.seed,
    )  # fmt: skip
    single = search.copy_of < 0
    few = {model.model for model, used in zip(models, search.used | ~single, strict=True) if not used}
    left_out = tuple(model.model for model in inside if model.model not in hits.by_model or model.model in few)
    return _Searched(fit.ood, study.table.id_columns[fit.ood][place], models, place, search, hits, left_out)


def _classes(search: SubsetSearch, place: int, images: ScoredImages) -> Iterator[ClassShare]:
    """The classes of a subset, the most over-represented first."""
    if images.y is None:
        return
    inside, base = (
        np.bincount(images.y[rows], minlength=len(images.classes)) for rows in (search.subset(place), search.searched)
    )
    p_values = class_p_values(inside, base, search.null_counts[:, place])
    excess = inside / np.maximum(base, 1)
    for one in np.lexsort((-excess, p_values)).tolist():
        if inside[one]:
            yield ClassShare(images.classes[one], int(inside[one]), int(base[one]), float(p_values[one]))


def _left_out(found: Sequence[FoundSubset]) -> Iterator[str]:
    searched = dict[tuple[str, ...], dict[str, None]]()
    for each in found:
        if each.left_out:
            searched.setdefault(each.left_out, {})[each.ood] = None
    for names, sets in searched.items():
        yield (
            f"Searched without {counted(len(names), 'model')} on {joined([*sets])} that keep no hits on the same "
            f"images, or belong to groups of fewer than four without near-copies: {names_of(names)}."
        )


def _copies(found: Sequence[FoundSubset]) -> Iterator[str]:
    """The near-copies that do not count, once for all test sets, and the first pair by name."""
    pairs = dict[str, str]()
    for each in found:
        for model, other in zip(each.models, each.search.copy_of.tolist(), strict=True):
            if other >= 0:
                pairs.setdefault(model.model, each.models[other].model)
    if pairs:
        first, other = next(iter(pairs.items()))
        yield (
            f"{counted(len(pairs), 'model')} {'is' if len(pairs) == 1 else 'are'} left out on some test sets as "
            f"near-copies of others, such as {first} of {other}: within their groups, they agree image by image beyond "
            f"what their accuracies explain. Groups should be the finest families ({names_of([*pairs])})."
        )

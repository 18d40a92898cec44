"""What the average of a shifted test set hides: subsets on which models of higher ID accuracy are less accurate.

For each fit of a study of shifts, and each of its ID test sets, half of the models choose a subset of the images and
the other half confirms it (`unseen.metrics.subsets`). P-values are corrected for the number of these searches (Holm).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.fits import ShiftFit, ShiftStudy
from unseen.analyses.robustness.fitted_model import FittedModel
from unseen.analyses.robustness.subset_keys import SubsetKeys
from unseen.errors import UserError, names_of
from unseen.metrics.comparisons import holm
from unseen.metrics.subset_classes import class_p_values
from unseen.metrics.subsets import CHANCE, SubsetSearch, search_subset
from unseen.probes.units import ScoredImages
from unseen.text.notebook import table_html
from unseen.text.words import counted, joined, signed

if TYPE_CHECKING:
    import pandas as pd

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


@dataclass(frozen=True)
class ClassShare:
    """A class in a subset: its images there and among all searched ones, and the corrected p-value of its excess."""

    name: str
    inside: int
    searched: int
    p_value: float


@dataclass(frozen=True, eq=False)
class FoundSubset:
    """The search on a shifted test set, by accuracy on an ID test set.

    Attributes:
        id_set: its column.
        models: those that were searched with, in the order of `search.searching`.
        id_place: index of the ID test set in `FittedModel.id_accuracy`.
        place: index of the largest size that is confirmed at a level corrected for all searches, or of the stated size.
        accuracy: (m, 2) of each model on the subset and on all images.
        shares: (n,) share of the models that get an image right.
        p_holm: of the stated size, corrected for all searches that were made together.
        classes: those of the subset, the smallest p-value first; empty if images do not have one class each.
        left_out: models of the fit without hits on these images, and those of groups that are too small.
    """

    ood: str
    id_set: str
    models: tuple[FittedModel, ...]
    id_place: int
    search: SubsetSearch
    place: int
    accuracy: NDArray[np.float64]
    shares: NDArray[np.float64]
    images: ScoredImages
    names: Sequence[str]
    test_set: str
    p_holm: float
    classes: tuple[ClassShare, ...]
    left_out: tuple[str, ...]

    @property
    def subset(self) -> NDArray[np.intp]:
        """The images of the subset by number, the lowest correlation first."""
        return self.search.subset(self.place)

    @property
    def correlation(self) -> float:
        """Of accuracy on the subset with ID accuracy, over the half of the models that did not choose it."""
        return float(self.search.confirmed[self.place])

    @property
    def slope(self) -> float:
        """Change of the accuracy on the subset per unit of ID accuracy over that half."""
        return float(self.search.slopes[self.place])

    @property
    def negative(self) -> bool:
        """Whether the relation is negative on the subset beyond chance, corrected for all searches."""
        return self.correlation < 0 and self.p_holm <= CHANCE

    @property
    def turns_round(self) -> bool:
        """Whether it is, and is positive on all images: what the average hides."""
        return self.negative and self.search.whole > 0

    @property
    def groups(self) -> int:
        """Number of groups that correlations are within."""
        return len({model.group for model, used in zip(self.models, self.search.used, strict=True) if used})

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        found, size = self.search, len(self.subset)
        many = counted(int((found.used & ~found.searching).sum()), "model")
        within = f" within {self.groups} groups" if self.groups > 1 else ""
        told = (
            f"correlation {signed(self.correlation, 2)} over the other {many}{within}, corrected p = {self.p_holm:.2g}"
        )
        usual = f"on all images it is {signed(found.whole, 2)}"
        if self.negative:
            where = f"{size:,} of {self.images.count:,} images"
            here = f"on {where}" if self.turns_round else f"on all images, and most on {where}"
            return (
                f"{self.ood}: {here}, models with a higher accuracy on {self.id_set} are less accurate "
                f"({told}; {usual}). There, 10 points more on {self.id_set} go with "
                f"{signed(10 * self.slope, 1)} points."
            )
        chance = " beyond chance" if self.correlation < 0 else ""
        return (
            f"{self.ood}: no subset of at least {found.sizes[0]:,} of {self.images.count:,} images was found on which "
            f"accuracy falls as that on {self.id_set} rises{chance} ({told}; {usual}). Before the correction, "
            f"correlations above {signed(found.resolvable, 2)} cannot be told from chance with these models and images."
        )

    def image_name(self, number: int) -> str:
        """The name of an image, or if it is unknown its number in the test set."""
        return self.names[number] if self.names else f"image {number}"

    def class_name(self, number: int) -> str:
        """The class of an image; empty if images do not have one class each."""
        return "" if self.images.y is None else self.images.classes[self.images.y[number]]


@dataclass(frozen=True, eq=False)
class ShiftSubsets:
    """The searches on all shifted test sets of some studies; `notices` say what was left out."""

    found: tuple[FoundSubset, ...]
    notices: tuple[str, ...] = ()

    def to_frame(self) -> "pd.DataFrame":
        """One row per search: sizes, correlations on both halves and on all images, p-values."""
        import pandas as pd

        return pd.DataFrame([_row(each) for each in self.found])

    def images(self) -> "pd.DataFrame":
        """One row per image of each subset, the lowest correlation first.

        The columns are `ood`, `id`, `number`, `image`, `class`, and the share of models that are `right`.
        """
        import pandas as pd

        rows = [
            {
                "ood": each.ood, "id": each.id_set, "number": number, "image": each.image_name(number),
                "class": each.class_name(number), "right": float(each.shares[number]),
            }
            for each in self.found
            for number in each.subset.tolist()
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=["ood", "id", "number", "image", "class", "right"])

    def __repr__(self) -> str:
        turned = [f"{each.ood} ({len(each.subset)} images)" for each in self.found if each.turns_round]
        return f"{type(self).__name__}({counted(len(self.found), 'search')}; turns round on {joined(turned) or 'none'})"

    def _repr_html_(self) -> str:
        return table_html(repr(self), self.to_frame())


def _row(each: FoundSubset) -> dict[str, Any]:
    found = each.search
    return {
        "ood": each.ood, "id": each.id_set, "images": each.images.count, "searched": int(found.searched.sum()),
        "least": int(found.sizes[0]), "subset": len(each.subset), "turns_round": each.turns_round,
        "models": int(found.used.sum()), "groups": each.groups, "searching": float(found.found[each.place]),
        "confirming": each.correlation, "all_images": found.whole, "slope": each.slope,
        "p": float(found.p_values[0]), "p_holm": each.p_holm, "resolvable": found.resolvable,
    }  # fmt: skip


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
    return ShiftSubsets(tuple(subsets), (*told, *failed, *_left_out(subsets)))


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
    few = {model.model for model, used in zip(models, search.used, strict=True) if not used}
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
            f"images, or belong to groups of fewer than four: {names_of(names)}."
        )

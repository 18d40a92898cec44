"""What a search for subsets of shifted test sets found, in words and as tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.fitted_model import FittedModel
from unseen.metrics.subsets import CHANCE, SubsetSearch
from unseen.probes.units import ScoredImages
from unseen.text.notebook import table_html
from unseen.text.words import counted, joined, p_text, signed

if TYPE_CHECKING:
    import pandas as pd


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
            f"correlation {signed(self.correlation, 2)} over the other {many}{within}, p (Holm) = {p_text(self.p_holm)}"
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

"""Test images and the nearest images of other sets, as they are listed and counted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unseen.analyses.duplicates.search import Nearest
from unseen.features.features import Features

NEAR = 0.9
"""The usual threshold. It depends on the backbone: the page shows pairs above and below it."""
COLUMNS = ("data set", "image", "class", "similarity", "other data set", "split", "other image", "other class")


@dataclass(frozen=True, eq=False)
class Part:
    """Features among which near-duplicates are searched."""

    dataset: str
    split: str
    features: Features

    @property
    def words(self) -> str:
        """Its name in texts."""
        return f"{self.dataset}, {self.split}" if self.split else self.dataset


@dataclass(frozen=True)
class Named:
    """An image: its data set, split, name and class."""

    dataset: str
    split: str
    image: str
    label: str


@dataclass(frozen=True, eq=False)
class SetPairs:
    """The test images of a data set, and the nearest image of the parts that were searched for each.

    Attributes:
        order: (n,) rows of the test images, those with the most similar image first.
    """

    test: Part
    parts: Sequence[Part]
    nearest: Nearest

    @property
    def dataset(self) -> str:
        return self.test.dataset

    @property
    def searched(self) -> int:
        """Number of images that were searched."""
        return sum(len(part.features) for part in self.parts)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        return np.argsort(-self.nearest.similarity, kind="stable")

    @cached_property
    def same_class(self) -> NDArray[np.bool_]:
        """(n,) whether both images of a pair have the same class, by name."""
        return np.array([self.image(row).label == self.other(row).label for row in range(len(self.test.features))])

    def above(self, threshold: float) -> NDArray[np.bool_]:
        """(n,) whether the similarity of a pair is at least the threshold."""
        return np.asarray(self.nearest.similarity >= threshold)

    def image(self, row: int) -> Named:
        """A test image."""
        return _named(self.test, row)

    def other(self, row: int) -> Named:
        """The image that is nearest to a test image."""
        place = int(self.nearest.row[row])
        for part in self.parts:
            if place < len(part.features):
                return _named(part, place)
            place -= len(part.features)
        raise IndexError(f"row {row} has no nearest image")


@dataclass(frozen=True)
class ScoreWithout:
    """A score of a run with all test images, and without those that have a near-duplicate; means over seeds.

    Attributes:
        shots: training samples per class; None for all.
    """

    backbone: str
    dataset: str
    probe: str
    shots: int | None
    metric: str
    value: float
    without: float
    seeds: int


@dataclass(frozen=True, eq=False)
class Duplicates:
    """The near-duplicates of one or several test sets.

    Attributes:
        backbone: whose features were compared.
        threshold: pairs of at least this similarity count as near-duplicates.
        notices: sentences about what could not be searched or scored.
    """

    backbone: str
    threshold: float
    sets: Sequence[SetPairs]
    scores: Sequence[ScoreWithout] = ()
    notices: Sequence[str] = field(default=())

    def __repr__(self) -> str:
        counts = ", ".join(f"{each.dataset} {int(each.above(self.threshold).sum()):,}" for each in self.sets)
        return f"Duplicates(by {self.backbone}, similarity of at least {self.threshold:g}: {counts})"

    def to_frame(self) -> pd.DataFrame:
        """One row per test image, the most similar pairs of each data set first."""
        rows = []
        for pairs in self.sets:
            for row in pairs.order.tolist():
                image, other = pairs.image(row), pairs.other(row)
                similarity = float(pairs.nearest.similarity[row])
                own = (image.dataset, image.image, image.label, similarity)
                rows.append((*own, other.dataset, other.split, other.image, other.label))
        return pd.DataFrame(rows, columns=COLUMNS)


def _named(part: Part, row: int) -> Named:
    features = part.features
    image = features.ids[row] if features.ids else f"row {row}"
    return Named(part.dataset, part.split, image, features.classes[int(features.y[row])])

"""Backbones on the same test images by the same probe: what they are compared and ranked by.

What a fit keeps of each unit (`unseen.runs.kept_units`) becomes one row of numbers per seed, whose mean is the score.
The unit is what another study would draw anew: the concept in studies of concepts, whose levels are samples; otherwise
the test image, the class of an average precision, or the few-shot episode. Scores of maps and boxes are no means over
images; their units are groups of images, each with its pseudo-value of the jackknife (Quenouille 1956).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.catalogue import Metric
from unseen.metrics.comparisons import McNemar, mcnemar
from unseen.metrics.paired.crossed import PLUS_MINUS, Crossed, crossed
from unseen.metrics.paired.estimate import PairEstimates
from unseen.metrics.paired.pairs import all_pairs
from unseen.metrics.paired.standings import Standings, standings
from unseen.metrics.paired.units import Values, concept_accuracies
from unseen.metrics.resampling import Floats
from unseen.probes.units import CORRECT
from unseen.runs.kept_units import KeptUnits

Unit = Literal["concepts", "images", "classes", "episodes", "groups of images"]
GROUPS = 100
"""Groups of images whose pseudo-values stand for the images of maps and boxes."""


@dataclass(frozen=True)
class Place:
    """What scores must have in common to be compared: the data set, the probe and the shots.

    Attributes:
        probe: name of the fit in scores.
        shots: training samples per class; None for all.
        protocol: name of the probe's protocol; empty if it has none.
    """

    dataset: str
    probe: str
    shots: int | None
    protocol: str = ""


@dataclass(frozen=True, eq=False)
class Comparable:
    """Backbones that were scored on the same test images in the same way.

    Attributes:
        place: the data set, the probe and the shots.
        metric: the score that is compared.
        unit: what another study would draw anew.
        kept: backbone → seed → what the fit keeps.
        suite: what a mean over several data sets is of, such as levels; empty if it has no part in one.
        seen: whether its concepts are those that backbones were trained on.
    """

    place: Place
    metric: Metric
    unit: Unit
    kept: Mapping[str, Mapping[int, KeptUnits]]
    suite: str = ""
    seen: bool = False

    @property
    def backbones(self) -> list[str]:
        return [*self.kept]

    @cached_property
    def score(self) -> Mapping[str, float]:
        """Backbone → its mean score over seeds."""
        return {
            name: float(np.mean([each.scores[self.metric.name] for each in of.values()]))
            for name, of in self.kept.items()
        }

    def seeds_of(self, first: str, second: str) -> list[int]:
        """The seeds that two backbones have in common; a seed draws the same training samples for both."""
        return sorted(self.kept[first].keys() & self.kept[second].keys())

    def difference(self, first: str, second: str) -> Crossed:
        """The score of the first backbone minus that of the second, over their common seeds."""
        seeds = self.seeds_of(first, second)
        if not seeds:
            raise UserError(
                f"{self.place.dataset}: {first} and {second} were probed with other seeds; run one with those of the "
                "other"
            )
        return crossed(
            self.rows(first, seeds) - self.rows(second, seeds),
            sizes=self.sizes,
            classes=self.classes,
            pseudo_units=self.pseudo_units,
        )

    def alone(self, name: str) -> Crossed | None:
        """The score of one backbone over its seeds, with its own error; None if there are too few units for one."""
        try:
            return crossed(self.rows(name, sorted(self.kept[name])), sizes=self.sizes, classes=self.classes)
        except UserError:
            return None

    def of_images(self, first: str, second: str) -> McNemar | None:
        """McNemar's exact test of one fit each; None for several seeds, or if there are no hits on images."""
        seeds = self.seeds_of(first, second)
        if len(seeds) != 1 or CORRECT not in self._first.arrays:
            return None
        one, other = (self.kept[name][seeds[0]].arrays[CORRECT] for name in (first, second))
        return mcnemar(one, other)

    def of_each_image(self, name: str, seeds: Sequence[int]) -> Floats:
        """(seeds, images) numbers of a backbone on single images, where concepts are the units."""
        values = [self.kept[name][seed].values(self.metric.name) for seed in seeds]
        assert all(each is not None for each in values)
        return np.array(values, dtype=np.float64)

    def rows(self, name: str, seeds: Sequence[int]) -> Floats:
        """(seeds, units) numbers of a backbone."""
        return np.stack([self._rows[name][seed] for seed in seeds]).astype(np.float64)

    @property
    def labels(self) -> NDArray[np.int64] | None:
        """(images,) class of each test image, if each has one."""
        images = self._first.images
        return None if images is None else images.y

    @cached_property
    def sizes(self) -> NDArray[np.int64] | None:
        """(concepts,) test images of each concept, where concepts are the units."""
        return None if self.unit != "concepts" or self.labels is None else np.bincount(self.labels)

    @property
    def classes(self) -> NDArray[np.int64] | None:
        """(images,) classes, where the score is a mean of accuracies per class."""
        return self.labels if self.unit == "images" and self.metric.name == "mean-per-class" else None

    @property
    def ways(self) -> int | None:
        """Classes of each few-shot episode; None for other units."""
        return self._first.ways

    @property
    def pseudo_units(self) -> tuple[float, ...]:
        """What is added to the interval of differences of hits, of which few may differ."""
        return PLUS_MINUS if self.unit == "images" and CORRECT in self._first.arrays else ()

    @cached_property
    def pairs(self) -> PairEstimates:
        """Every backbone minus every other over the seeds that both have, as `difference`; NaN if there are none."""
        names, seeds = self.backbones, [frozenset(of) for of in self.kept.values()]
        arrays = np.full((4, len(names), len(names)), np.nan)
        for shared in {one & other for one in {*seeds} for other in {*seeds}} - {frozenset()}:
            rows = [place for place, own in enumerate(seeds) if shared <= own]
            values = np.stack([[self._rows[names[row]][seed] for seed in sorted(shared)] for row in rows])
            found = all_pairs(values, sizes=self.sizes, classes=self.classes, pseudo_units=self.pseudo_units).estimates
            chosen = np.array([[seeds[one] & seeds[other] == shared for other in rows] for one in rows])
            for array, of in zip(arrays, (found.value, found.centre, found.error, found.df), strict=True):
                array[np.ix_(rows, rows)] = np.where(chosen, of, array[np.ix_(rows, rows)])
        return PairEstimates(*arrays)

    def pairs_among(self, names: Sequence[str]) -> PairEstimates:
        """The pairs of some backbones, in their order."""
        return self.pairs.among([self.backbones.index(name) for name in names])

    @property
    def matrices(self) -> tuple[Floats, Floats]:
        """(B, B) differences, row minus column, and their two-sided p-values; NaN for pairs without a common seed."""
        return self.pairs.value, self.pairs.p_values

    @cached_property
    def standings(self) -> Standings:
        """The backbones ranked, with what the comparisons of pairs resolve."""
        scores = np.array([self.score[name] for name in self.backbones])
        return standings(self.backbones, scores, *self.matrices, higher_is_better=self.metric.ranks_high)

    def detectable(self, name: str) -> float | None:
        """The smallest difference between a backbone and the best one that is resolved with 80% power.

        For the best, it is that from the second best; None for a single one, or without a common seed.
        """
        others = [other for other in self.standings.names if other != name]
        if not others or not self.seeds_of(others[0], name):
            return None
        return self.difference(others[0], name).detectable()

    @property
    def _first(self) -> KeptUnits:
        return next(iter(next(iter(self.kept.values())).values()))

    @cached_property
    def _rows(self) -> Mapping[str, Mapping[int, Values]]:
        of = unit_values(self.unit, self.metric.name)
        return {name: {seed: of(units) for seed, units in seeds.items()} for name, seeds in self.kept.items()}


def unit_of(units: KeptUnits, *, concepts: bool) -> Unit:
    """The unit of a fit.

    Args:
        concepts: whether the classes are a sample of concepts.
    """
    if units.kind == "images":
        return "concepts" if concepts and units.images is not None and units.images.y is not None else "images"
    if units.kind == "mistakes":
        return "concepts" if concepts else "images"
    if units.kind == "queries":
        every = concepts and not any(np.isnan(of_each).any() for of_each in units.arrays.values())
        return "concepts" if every else "images"
    if units.kind in ("classes", "episodes"):
        return units.kind
    return "groups of images"


def unit_values(unit: Unit, metric: str) -> Callable[[KeptUnits], Values]:
    """The function from what a fit keeps to one number or boolean per unit, whose mean is the score."""

    def values(units: KeptUnits) -> Values:
        if unit == "groups of images":
            return pseudo_values(units, metric)
        of_each = units.values(metric)
        assert of_each is not None
        if unit == "concepts":
            assert units.images is not None
            return np.asarray(concept_accuracies(of_each[None], units.images.labels)[0][0])
        return of_each

    return values


def pseudo_values(units: KeptUnits, metric: str) -> Floats:
    """(groups,) pseudo-values g·θ − (g − 1)·θ₍₋ₖ₎ of the jackknife over groups of neighbouring images.

    They are moved together so that their mean is θ, the score itself.
    """
    count = units.images.count if units.images is not None else 0
    groups = min(GROUPS, count)
    if groups < 2:
        raise UserError(f"{units.variant}: {count} test image is too few to compare; two are needed")
    group, whole = np.arange(count) * groups // count, units.rescored()[metric]
    without = np.array([units.rescored((group != each).astype(np.float64))[metric] for each in range(groups)])
    values = groups * whole - (groups - 1) * without
    return np.asarray(values + (whole - values.mean()), dtype=np.float64)


def other_images(kept: Mapping[str, Mapping[int, KeptUnits]]) -> Iterator[tuple[str, str]]:
    """Backbones that were not tested on the images of the first one, each with the first difference."""
    first: KeptUnits | None = None
    for name, seeds in kept.items():
        for units in seeds.values():
            first = first or units
            if differ := difference_of(first, units):
                yield name, differ
                break


def difference_of(first: KeptUnits, second: KeptUnits) -> str:
    """How the units of two fits differ; empty if they are the same."""
    if first.kind != second.kind:
        return f"{first.kind} in one of them, {second.kind} in the other"
    if first.images is not None and second.images is not None and (differ := first.images.difference(second.images)):
        return differ
    other = first.identity and second.identity and first.identity != second.identity
    return "the episodes or the names of the images differ" if other else ""

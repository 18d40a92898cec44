"""What a pilot says of pairs of backbones: the variance components of their differences, and their means over pairs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from unseen.analyses.core.comparable import Comparable
from unseen.errors import UserError
from unseen.metrics.paired.components import Components, at_least_zero, components, mean_components
from unseen.metrics.paired.linearised import linearised
from unseen.metrics.paired.power import Design

MOST_PAIRED = 12
"""Backbones whose pairs are pooled."""


@dataclass(frozen=True)
class Pair:
    """The variance components of the difference of two backbones.

    Attributes:
        seeds: number of seeds that they have in common.
        concepts: number of concepts; None if classes are fixed.
        parts: not clipped, so that their means over pairs are unbiased.
    """

    first: str
    second: str
    seeds: int
    concepts: int | None
    parts: Components

    @property
    def variances(self) -> Components:
        """The components, at least 0."""
        return at_least_zero(self.parts, self.seeds, self.concepts)


def pairs_of(comparable: Comparable, backbones: Sequence[str] | None = None) -> tuple[Pair, ...]:
    """The components of all pairs of backbones, or of one; of pairs with as many common seeds as the most have.

    Of more than `MOST_PAIRED` backbones, the first ones are paired.
    """
    names = comparable.backbones[:MOST_PAIRED] if backbones is None else [*backbones]
    seeds = {pair: comparable.seeds_of(*pair) for pair in combinations(names, 2)}
    most = max(map(len, seeds.values()), default=0)
    if not most:
        raise UserError(
            f"{comparable.place.dataset}: a plan needs two backbones with results of the same seeds; run another one"
        )
    concepts = None if comparable.sizes is None else len(comparable.sizes)
    return tuple(
        Pair(*pair, most, concepts, _components(comparable, *pair, common))
        for pair, common in seeds.items()
        if len(common) == most
    )


def design_of(comparable: Comparable, seeds: int) -> Design:
    """The size of a pilot; concepts of several sizes count with their mean number of images."""
    first = comparable.backbones[0]
    if comparable.sizes is not None:
        return Design(round(float(comparable.sizes.mean())), seeds, len(comparable.sizes))
    return Design(comparable.rows(first, [*comparable.kept[first]][:1]).shape[1], seeds)


def images_of(comparable: Comparable) -> int:
    """The number of test images; of episodes, which have none of their own, 0."""
    units = next(iter(next(iter(comparable.kept.values())).values()))
    return 0 if units.images is None else units.images.count


def mean_of(pairs: Sequence[Pair]) -> Pair:
    """A pair with the mean of each component, which is far less variable than the components of one pair."""
    return replace(pairs[0], parts=mean_components([pair.parts for pair in pairs]))


def same_seeds(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """The pairs with the most frequent number of seeds, as only these have the same components."""
    [(seeds, _)] = Counter(pair.seeds for pair in pairs).most_common(1)
    return tuple(pair for pair in pairs if pair.seeds == seeds)


def _components(comparable: Comparable, first: str, second: str, seeds: Sequence[int]) -> Components:
    if comparable.unit == "concepts":
        one, other = (comparable.of_each_image(name, seeds) for name in (first, second))
        return components(one - other, comparable.labels, clipped=False)
    rows = comparable.rows(first, seeds) - comparable.rows(second, seeds)
    return components(linearised(rows, classes=comparable.classes).columns(slice(None)), clipped=False)

"""Ranks by a measure across axes from comparisons of all pairs of backbones on the same test images."""

from collections.abc import Sequence
from dataclasses import dataclass

from unseen.metrics.paired.estimate import PairEstimates
from unseen.metrics.paired.standings import Standings, standings
from unseen.metrics.resampling import Floats


@dataclass(frozen=True)
class ComparedPairs:
    """Comparisons of all pairs of backbones on the same test images, for the mean that a measure is.

    Attributes:
        names: the compared backbones.
        pairs: differences of values, or of numbers that increase with them.
    """

    names: tuple[str, ...]
    pairs: PairEstimates

    def standings(self, names: Sequence[str], values: Floats) -> Standings | None:
        """Ranks of some backbones by oriented values; None for one backbone, or if one was not compared."""
        if len(names) < 2 or not {*names} <= {*self.names}:
            return None
        pairs = self.pairs.among([self.names.index(name) for name in names])
        return standings(names, values, pairs.value, pairs.p_values)

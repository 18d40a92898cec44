"""What the sections of the concept page are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import pandas as pd

from unseen.errors import UserError, did_you_mean
from unseen.report.concepts.level_ways import main_part
from unseen.report.concepts.rows import Row, make_rows, seen_domain
from unseen.runs.concept_estimates import Cell, OverConcepts, difference_intervals, drop_intervals, over_concepts
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.tables import score_table, summarise, with_concept_intervals

if TYPE_CHECKING:
    from unseen.metrics.resampling import Interval

MOST_BASELINES = 12
"""With more backbones, only differences from the run's own baseline have intervals over concepts."""


@dataclass(frozen=True)
class ConceptContext:
    """A run, or several that were merged, as the page shows it.

    Attributes:
        data: with a domain and a backbone for every score.
        rows_of_all: the rows of all backbones, among which ranks are, where the data are of some of them.
    """

    data: RunData
    rows_of_all: Sequence[Row] = field(default=())

    @cached_property
    def main(self) -> RunData:
        """The data with one way of making levels."""
        return main_part(self.data)

    @property
    def has_levels(self) -> bool:
        """Whether domains are levels of concepts, not a user's own features of some classes."""
        return "concepts" in self.data.axes

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per score."""
        return score_table(self.data.scores)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Means, deviations and intervals over seeds, and over concepts where those are known."""
        return with_concept_intervals(summarise(self.table), self.data.concept_intervals)

    @cached_property
    def rows(self) -> list[Row]:
        """All rows of the page's table."""
        if self.rows_of_all:
            names = {backbone.name for backbone in self.data.backbones}
            return [row for row in self.rows_of_all if row.backbone in names]
        return make_rows(self.data, self.table, self.summary)

    @cached_property
    def plotted(self) -> list[Row]:
        """The rows that belong into plots of accuracy."""
        return [row for row in self.rows if row.is_accuracy]

    @cached_property
    def drops(self) -> "Mapping[Cell, Interval]":
        """Accuracy on a level minus that on the seen concepts, with intervals over concepts."""
        seen = seen_domain(self.main)
        return drop_intervals(self._over_concepts, seen) if seen else {}

    @cached_property
    def differences(self) -> "Mapping[tuple[str, str, str, str], Interval]":
        """(first, second, domain, shots) → accuracy of one backbone minus that of another, over the same concepts."""
        names = [backbone.name for backbone in self.main.backbones]
        base = self.main.baseline
        pairs = combinations(names, 2) if len(names) <= MOST_BASELINES else ((n, base) for n in names if n != base)
        return difference_intervals(self._over_concepts, pairs)

    @cached_property
    def _over_concepts(self) -> dict[Cell, OverConcepts]:
        return over_concepts(self.main.concept_hits)


def complete(data: RunData) -> RunData:
    """The data with a domain and a backbone for every score, so that nothing is left out silently."""
    names = [backbone.name for backbone in data.backbones]
    backbones = [
        Backbone(name, "other") for name in dict.fromkeys(s.backbone for s in data.scores) if name not in names
    ]
    known = {domain.name for domain in data.domains}
    domains = [Domain(name, name) for name in dict.fromkeys(s.domain for s in data.scores) if name not in known]
    names += [backbone.name for backbone in backbones]
    if data.baseline not in names:
        raise UserError(f"no backbone '{data.baseline}' to take differences from{did_you_mean(data.baseline, names)}")
    return replace(data, domains=[*data.domains, *domains], backbones=[*data.backbones, *backbones])

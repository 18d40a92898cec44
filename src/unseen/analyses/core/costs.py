"""Which backbone to take: the ranking of backbones beside what each of them costs.

A backbone is dominated if another one that costs no more is better, and that is resolved by the comparisons of pairs
that ranks are from (`unseen.metrics.paired.standings`). A higher mean alone dominates nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import pandas as pd

from unseen.analyses.core.comparables import Comparables, most_shots
from unseen.analyses.core.rankings import Ranked, Ranking, rankings_by
from unseen.features.costs import BackboneCost, ForwardSpeed
from unseen.runs.data import Backbone, RunData

Axis = Literal["parameters", "multiply-adds", "time"]
AXES: tuple[Axis, ...] = ("parameters", "multiply-adds", "time")
LEAST_ALIKE, USUALLY_ALIKE = 1.25, 1.5
"""The ratio up to which two times are the same at least, and where their spread over forward passes is not known: times
of one network, measured again on a shared machine, differed by a factor of 1.4."""
Status = Literal["front", "tied", "open", "dominated"]
"""Of a backbone at its cost: on the front, with a resolved lead over all that cost less; on the front, with a lead that
is not resolved; behind another one that costs no more, which is not resolved; or dominated."""


@dataclass(frozen=True)
class Placed:
    """A backbone between accuracy and one cost.

    Attributes:
        value: the cost: parameters, multiply-adds, or seconds per image.
        against: the backbone that decides its status: one that dominates it, or that it is not resolved from.
    """

    backbone: str
    value: float
    status: Status
    against: str = ""


@dataclass(frozen=True)
class Machine:
    """What speeds must have in common to be compared."""

    device: str
    precision: str
    batch: int


@dataclass(frozen=True)
class Choice:
    """A ranking with the costs of its backbones.

    Attributes:
        costs: backbone → what it costs; those of which nothing is known are left out.
    """

    ranking: Ranking
    costs: Mapping[str, BackboneCost]

    @cached_property
    def machine(self) -> Machine | None:
        """Where the most backbones were measured, each in passes of its own; None if no speed is known."""
        found = Counter(machine for each in self.costs.values() if (machine := machine_of(each.speed)))
        return max(found, key=lambda machine: found[machine], default=None)

    @cached_property
    def first(self) -> tuple[Ranked, ...]:
        """The winner, or all that tie with the best; only the one with the best mean if ties are unknown."""
        group = tuple(each for each in self.ranking.ranked if each.group == 1)
        return group or self.ranking.ranked[:1]

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The costs that are known of a backbone with a rank."""
        names = [each.backbone for each in self.ranking.ranked]
        return tuple(axis for axis in AXES if any(self.value(name, axis) is not None for name in names))

    def value(self, backbone: str, axis: Axis) -> float | None:
        """What a backbone costs; its time only on the machine where the most were measured."""
        cost = self.costs.get(backbone)
        if cost is None:
            return None
        if axis == "time":
            here = self.machine is not None and machine_of(cost.speed) == self.machine
            return 1 / cost.speed.rate if here and cost.speed else None
        return cost.parameters if axis == "parameters" else cost.multiply_adds

    def is_elsewhere(self, backbone: str) -> bool:
        """Whether its time was measured, but not so that it can be compared with the others."""
        cost = self.costs.get(backbone)
        return cost is not None and cost.speed is not None and self.value(backbone, "time") is None

    def cheapest(self, axis: Axis) -> list[str]:
        """Those of the first place that cost least; empty unless the cost of all of them is known."""
        values = {each.backbone: self.value(each.backbone, axis) for each in self.first}
        known = [value for value in values.values() if value is not None]
        if len(known) < len(values):
            return []
        least = next(name for name, value in values.items() if value == min(known))
        return [
            name for name, value in values.items()
            if value is not None and value <= self.alike(axis, name, least) * min(known)
        ]  # fmt: skip

    def alike(self, axis: Axis, first: str, second: str) -> float:
        """The ratio up to which the costs of two backbones are the same: for times, their spread over passes."""
        if axis != "time":
            return 1.0
        return max(LEAST_ALIKE, self._spread(first), self._spread(second))

    def _spread(self, backbone: str) -> float:
        cost = self.costs.get(backbone)
        spread = cost.speed.spread if cost is not None and cost.speed is not None else None
        return USUALLY_ALIKE if spread is None else spread

    def placed(self, axis: Axis) -> list[Placed]:
        """The backbones with a rank whose cost is known, from the cheapest; at equal cost the better first."""
        known = [
            (value, each) for each in self.ranking.ranked if (value := self.value(each.backbone, axis)) is not None
        ]
        known.sort(key=lambda pair: (pair[0], -self._merit(pair[1])))
        return [Placed(each.backbone, value, *self._status(axis, each, value, known)) for value, each in known]

    def _status(
        self, axis: Axis, each: Ranked, value: float, every: Sequence[tuple[float, Ranked]]
    ) -> tuple[Status, str]:
        mine = self._merit(each)
        pairs = [(cost, other, self.alike(axis, each.backbone, other.backbone)) for cost, other in every]
        no_dearer = [
            (other, alike * cost < value) for cost, other, alike in pairs if cost <= alike * value and other is not each
        ]
        # Where times spread widely, one that may be slower by more than the least difference dominates nothing.
        surely = LEAST_ALIKE if axis == "time" else 1.0
        dominating = [
            other for cost, other in every
            if cost <= surely * value and self.is_better(other.backbone, each.backbone)
        ]  # fmt: skip
        if dominating:
            return "dominated", self._best_of(dominating)
        ahead = [
            other for other, is_cheaper in no_dearer
            if (theirs := self._merit(other)) > mine or (theirs == mine and is_cheaper)
        ]  # fmt: skip
        if ahead:
            return "open", self._best_of(ahead)
        tied = [
            other for other, is_cheaper in no_dearer
            if is_cheaper and not self.is_better(each.backbone, other.backbone)
        ]  # fmt: skip
        return ("tied", tied[0].backbone) if tied else ("front", "")

    def _best_of(self, several: Sequence[Ranked]) -> str:
        return max(several, key=self._merit).backbone

    def is_better(self, first: str, second: str) -> bool:
        """Whether the first backbone is resolved to be better than the second."""
        standings = self.ranking.standings
        if standings is None or not {first, second} <= {*standings.names}:
            return False
        return bool(standings.resolved_better[standings.names.index(first), standings.names.index(second)])

    def _merit(self, each: Ranked) -> float:
        """The score of a backbone with a rank, so that higher is better."""
        assert each.value is not None, "only backbones with a rank are placed"
        return each.value if self.ranking.metric.ranks_high else -each.value


def machine_of(speed: ForwardSpeed | None) -> Machine | None:
    """What a speed is compared with; None if it was not measured, or of several representations together."""
    return Machine(speed.device, speed.precision, speed.batch) if speed is not None and speed.together == 1 else None


def choice_of(data: RunData, every: Comparables) -> Choice | None:
    """The ranking that decides (`decisive`), with the costs of its backbones.

    None if nothing but dimensions is known of what they cost, or if there is nothing to rank.

    Args:
        every: what can be compared with the most shots of each probe.
    """
    if not are_known(data.backbones):
        return None
    return decisive(rankings_by(data, most_shots(data), compared=every), data.backbones)


def decisive(rankings: Iterable[Ranking], backbones: Sequence[Backbone]) -> Choice | None:
    """A ranking with the costs of its backbones; None if no backbone has a rank or value.

    It is the one of the most data sets. One by few-shot episodes decides only if there is no other: thousands of
    episodes can draw from few images, so that they resolve differences which other images need not have.
    """
    found = [each for each in rankings if each.ranked]
    ranking = max(found, key=lambda each: (not each.of_episodes, len(each.by)), default=None)
    return None if ranking is None or not are_known(backbones) else Choice(ranking, costs_of(backbones))


def are_known(backbones: Sequence[Backbone]) -> bool:
    """Whether more than dimensions is known of what some backbone costs."""
    return any(each.cost is not None and each.cost.parameters is not None for each in backbones)


def costs_of(backbones: Sequence[Backbone]) -> dict[str, BackboneCost]:
    """Backbone → what it costs, of those of which it is known."""
    return {each.name: each.cost for each in backbones if each.cost is not None}


def cost_record(cost: BackboneCost | None) -> dict[str, object]:
    """A cost in the columns of tables: numbers, None where they are unknown, and where the speed was measured."""
    cost = cost or BackboneCost()
    speed = cost.speed
    return {
        "parameters": cost.parameters, "multiply_adds": cost.multiply_adds, "image_size": cost.size,
        "dimensions": cost.dimension, "images_per_second": speed.rate if speed else None,
        "ms_per_image": 1000 / speed.rate if speed else None, "measured_on": speed.device if speed else "",
        "measured_precision": speed.precision if speed else "", "measured_batch": speed.batch if speed else None,
        "measured_together": speed.together if speed else None, "uncounted": cost.uncounted,
    }  # fmt: skip


def cost_table(backbones: Sequence[Backbone]) -> pd.DataFrame:
    """One row per backbone with the columns of `cost_record`; unknown numbers are empty."""
    table = pd.DataFrame({"backbone": each.name, **cost_record(each.cost)} for each in backbones)
    whole = ["parameters", "multiply_adds", "image_size", "dimensions", "measured_batch", "measured_together"]
    parts = ["images_per_second", "ms_per_image"]
    return table.astype(dict.fromkeys(whole, "Int64") | dict.fromkeys(parts, "float64"))

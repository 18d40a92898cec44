"""Backbones across axes: the same ones on unseen concepts, on other tasks and under shifts of distribution.

An axis has measures, a number each for a backbone. Bounded ones are compared on the logit scale, as in studies of
transfer and of robustness: there a point at 98% is worth more than one at 50%. Correlations are of values turned so
that greater is better: a positive one says that who is good at one thing is good at the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import sqrt

import numpy as np

from unseen.errors import UserError
from unseen.metrics.accuracy_scales import expit
from unseen.metrics.comparisons import holm
from unseen.metrics.correlation import LEAST, Correlation, correlation
from unseen.metrics.ranks import Ranks, rank, ranks_from_draws
from unseen.metrics.resampling import Floats, Interval, percentile_interval
from unseen.metrics.residuals import student_two_sided

SEEN, CONCEPTS, TASKS, SHIFTS = "seen", "concepts", "tasks", "shifts"
AXES = {CONCEPTS: "Concepts", TASKS: "Tasks", SHIFTS: "Shifts"}
"""What generalisation is along; accuracy on the seen concepts is a reference beside them."""
EQUAL = 9
"""Decimals to which values that count as equal agree: the order of a sum must not break ties."""


@dataclass(frozen=True)
class Measure:
    """One number for each backbone.

    Attributes:
        axis: one of `AXES`, or `seen`.
        about: what it is, as a sentence.
        values: backbone → value; the logit of a share where the measure is `bounded`, otherwise a difference of shares.
        draws: backbone → (b,) what its value could have been, as many for each; backbones whose uncertainty is not
            known are not in it.
        from_seen: backbone → points that its accuracy differs by from that on seen concepts. It is shown with the value
            and never ranked: an untrained network loses least.
    """

    axis: str
    name: str
    title: str
    about: str
    values: Mapping[str, float]
    bounded: bool = True
    higher_is_better: bool = True
    draws: Mapping[str, Floats] = field(default_factory=dict)
    from_seen: Mapping[str, float] = field(default_factory=dict)

    def oriented(self, names: Sequence[str]) -> Floats:
        """Values of some backbones, turned so that greater is better."""
        return self._sign * np.array([self.values[name] for name in names])

    def ranks(self, names: Sequence[str]) -> Ranks | None:
        """Their ranks when values are drawn anew; None where no uncertainty is known."""
        size = {len(self.draws[name]) for name in names if name in self.draws}
        if not size:
            return None
        # A backbone without draws stays where it is while others move.
        columns = [self.draws.get(name, np.full(max(size), self.values[name])) for name in names]
        drawn = self._sign * np.column_stack(columns)
        return ranks_from_draws(self.oriented(names).round(EQUAL), drawn.round(EQUAL))

    def percent(self, value: float) -> float:
        """A value in percent, or in points where it is a difference."""
        return 100 * float(expit(value) if self.bounded else value)

    def interval(self, name: str) -> Interval | None:
        """A backbone's value with 95% of its draws, in percent or points."""
        return self._intervals.get(name)

    @cached_property
    def _intervals(self) -> dict[str, Interval]:
        """Of all backbones, as pages show each of them many times."""
        found = ((name, percentile_interval(self.values[name], draws)) for name, draws in self.draws.items())
        return {name: Interval(*map(self.percent, (each.value, each.low, each.high))) for name, each in found}

    @property
    def _sign(self) -> int:
        return 1 if self.higher_is_better else -1


@dataclass(frozen=True)
class Standing:
    """A backbone's rank by a measure, from 1, the best; equal values share the better rank.

    Attributes:
        of: backbones that have the measure.
        low, high: 95% range of ranks when values are drawn anew; None where no uncertainty is known.
        ahead: share of the others that are not better: 1 for the first, 0 for the last.
    """

    rank: int
    of: int
    low: int | None = None
    high: int | None = None

    @property
    def ahead(self) -> float:
        return (self.of - self.rank) / (self.of - 1) if self.of > 1 else 0.5


@dataclass(frozen=True)
class AxisPair:
    """How two measures go together, over the backbones that have both.

    Attributes:
        n: of these.
        across: whether they are of different axes; measures of one axis share what they are computed from.
        correlation: None where backbones are too few, or all have one value.
        without_one: the least and the greatest that Pearson's coefficient is when one backbone is left out: how much a
            single one decides; None where as few as that have none.
        p_value: two-sided, that Pearson's coefficient is 0, by Student's t = r·√((n − 2)/(1 − r²)); None without a
            correlation.
        corrected: after Holm's correction for all pairs across axes; None for others.
    """

    first: str
    second: str
    n: int
    across: bool
    correlation: Correlation | None = None
    without_one: tuple[float, float] | None = None
    p_value: float | None = None
    corrected: float | None = None


@dataclass(frozen=True)
class Axes:
    """Backbones on several axes.

    Attributes:
        measures: name → measure, by axis.
        standings: name of a measure → backbone → where it stands.
        pairs: every two measures.
    """

    backbones: tuple[str, ...]
    measures: Mapping[str, Measure]
    standings: Mapping[str, Mapping[str, Standing]]
    pairs: tuple[AxisPair, ...]

    def missing(self) -> list[str]:
        """The axes that no measure is of."""
        return [axis for axis in AXES if all(measure.axis != axis for measure in self.measures.values())]

    def best_and_worst(self, backbone: str) -> tuple[str, str] | None:
        """The measures of generalisation that it stands highest and lowest by; None where all are alike, or too few.

        Of several with the same rank, the one by which that is the surest. Measures that all are equal by do not count.
        """
        own = {
            name: standings[backbone]
            for name, standings in self.standings.items()
            if backbone in standings and _tells_apart(standings) and self.measures[name].axis != SEEN
        }
        if len({standing.ahead for standing in own.values()}) < 2:
            return None
        best = max(own, key=lambda name: (own[name].ahead, -(own[name].high or own[name].of)))
        worst = min(own, key=lambda name: (own[name].ahead, -(own[name].low or 1)))
        return best, worst

    def firsts(self) -> dict[str, list[str]]:
        """Backbone → the measures of generalisation that it is first by, most first."""
        found: dict[str, list[str]] = {}
        for name, standings in self.standings.items():
            for backbone, standing in standings.items():
                if standing.rank == 1 and standing.of > 1 and self.measures[name].axis != SEEN:
                    found.setdefault(backbone, []).append(name)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def put_together(measures: Sequence[Measure]) -> Axes:
    """Ranks of backbones by each measure, and how measures go together.

    Where backbones are on two axes or more, only those are compared, so that ranks are among about the same ones.
    """
    places = _axes_of(measures)
    several = [name for name, axes in places.items() if len(axes) > 1]
    backbones = tuple(several or places)
    order = [SEEN, *AXES]
    kept = {}
    for measure in sorted(measures, key=lambda item: order.index(item.axis)):
        _check(measure)
        if any(name in measure.values for name in backbones):
            kept[measure.name] = measure
    if not kept:
        raise UserError("no numbers of any axis to put together")
    standings = {
        name: _standings(measure, [backbone for backbone in backbones if backbone in measure.values])
        for name, measure in kept.items()
    }
    return Axes(backbones, kept, standings, _pairs(list(kept.values()), backbones))


def _axes_of(measures: Sequence[Measure]) -> dict[str, set[str]]:
    """Backbone → the axes that it is on; the seen concepts are none."""
    places: dict[str, set[str]] = {}
    for measure in measures:
        for name in measure.values:
            places.setdefault(name, set()).update({measure.axis} - {SEEN})
    return places


def _tells_apart(standings: Mapping[str, Standing]) -> bool:
    return len({standing.rank for standing in standings.values()}) > 1


def _check(measure: Measure) -> None:
    wrong = next((name for name, value in measure.values.items() if not np.isfinite(value)), None)
    if wrong is not None:
        raise UserError(f"{measure.title} of {wrong} is not a number; leave it out")


def _standings(measure: Measure, names: Sequence[str]) -> dict[str, Standing]:
    places = rank(measure.oriented(names).round(EQUAL)).tolist()
    drawn = measure.ranks(names)
    ends = [(None, None)] * len(names) if drawn is None else zip(drawn.low.tolist(), drawn.high.tolist(), strict=True)
    return {name: Standing(place, len(names), *range_) for name, place, range_ in zip(names, places, ends, strict=True)}


def _pairs(measures: Sequence[Measure], backbones: Sequence[str]) -> tuple[AxisPair, ...]:
    found = [_pair(first, second, backbones) for first, second in combinations(measures, 2)]
    tested = [pair.p_value for pair in found if pair.across and pair.p_value is not None]
    corrected = iter(holm(np.array(tested)).tolist() if tested else ())
    return tuple(
        replace(pair, corrected=next(corrected)) if pair.across and pair.p_value is not None else pair for pair in found
    )


def _pair(first: Measure, second: Measure, backbones: Sequence[str]) -> AxisPair:
    shared = [name for name in backbones if name in first.values and name in second.values]
    # Accuracy on seen concepts is from the same probes as the levels', and drops and expectations are taken from it.
    across = first.axis != second.axis and {first.axis, second.axis} != {SEEN, CONCEPTS}
    x, y = first.oriented(shared).round(EQUAL), second.oriented(shared).round(EQUAL)
    if len(shared) < LEAST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return AxisPair(first.name, second.name, len(shared), across)
    found = correlation(x, y)
    p_value = _p_value(found.pearson.value, len(shared))
    return AxisPair(first.name, second.name, len(shared), across, found, _without_one(x, y), p_value)


def _p_value(r: float, n: int) -> float:
    return student_two_sided(r * sqrt((n - 2) / (1 - r**2)), n - 2) if abs(r) < 1 else 0.0


def _without_one(x: Floats, y: Floats) -> tuple[float, float] | None:
    kept = [np.arange(len(x)) != place for place in range(len(x))]
    # Where the others are all alike, without one there is no correlation.
    if len(x) <= LEAST or any(np.ptp(x[rows]) == 0 or np.ptp(y[rows]) == 0 for rows in kept):
        return None
    found = [float(np.corrcoef(x[rows], y[rows])[0, 1]) for rows in kept]
    return min(found), max(found)

"""Backbones across axes: the same backbones on unseen concepts, on other tasks and under distribution shifts.

An axis has measures, each with one number per backbone. Bounded measures are compared on the logit scale, as in studies
of transfer and of robustness: there a point at 98% counts for more than one at 50%. Values are oriented so that greater
is better, so a positive correlation means that backbones that are good at one thing are good at the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import sqrt

import numpy as np

from unseen.analyses.axes.compared_pairs import ComparedPairs
from unseen.errors import UserError
from unseen.metrics.accuracy_scales import expit
from unseen.metrics.comparisons import holm
from unseen.metrics.correlation import LEAST, Correlation, correlation
from unseen.metrics.paired.standings import Standings
from unseen.metrics.ranks import Ranks, rank, ranks_from_draws
from unseen.metrics.resampling import Floats, Interval, percentile_interval
from unseen.metrics.residuals import student_two_sided

SEEN, CONCEPTS, TASKS, SHIFTS = "seen", "concepts", "tasks", "shifts"
AXES = {CONCEPTS: "Concepts", TASKS: "Tasks", SHIFTS: "Shifts"}
"""The axes of generalization; accuracy on the seen concepts is a reference beside them."""
EQUAL = 9
"""Values that agree to this many decimals are equal, so that rounding does not break ties."""


@dataclass(frozen=True)
class Measure:
    """One number per backbone.

    Attributes:
        axis: one of `AXES`, or `seen`.
        about: description of the measure, as a sentence.
        values: backbone → value; the logit of a share if the measure is `bounded`, otherwise a difference of shares.
        shares: backbone → the share itself, unless the value is a mean of logits of different shares. Shares near 0 and
            1 are clipped before the logit, so that it does not give them back.
        draws: backbone → (b,) resampled values, equally many for each; backbones with unknown uncertainty are omitted.
        over_episodes: whether draws are of few-shot episodes, which do not cover the choice of the images in them.
        from_seen: backbone → difference of its accuracy from that on seen concepts, in points. It is shown with the
            value and never ranked, since an untrained network has the smallest drop.
        compared: comparisons of pairs, which ranks are from if all ranked backbones have them; None without any.
    """

    axis: str
    name: str
    title: str
    about: str
    values: Mapping[str, float]
    bounded: bool = True
    higher_is_better: bool = True
    draws: Mapping[str, Floats] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    over_episodes: bool = False
    from_seen: Mapping[str, float] = field(default_factory=dict)
    compared: ComparedPairs | None = None

    def oriented(self, names: Sequence[str]) -> Floats:
        """Values of some backbones, oriented so that greater is better."""
        return self._sign * np.array([self.values[name] for name in names])

    def ranks(self, names: Sequence[str]) -> Ranks | None:
        """Their ranks over resampled values; None if the uncertainty is unknown."""
        size = {len(self.draws[name]) for name in names if name in self.draws}
        if not size:
            return None
        # A backbone without draws keeps its value in all resamples.
        columns = [self.draws.get(name, np.full(max(size), self.values[name])) for name in names]
        drawn = self._sign * np.column_stack(columns)
        return ranks_from_draws(self.oriented(names).round(EQUAL), drawn.round(EQUAL))

    def standings(self, names: Sequence[str]) -> Standings | None:
        """Their ranks from comparisons of pairs; None if some have none."""
        if self.compared is None:
            return None
        turned = replace(self.compared.pairs, value=self._sign * self.compared.pairs.value)
        return replace(self.compared, pairs=turned).standings(names, self.oriented(names).round(EQUAL))

    def percent(self, value: float) -> float:
        """A value in percent, or in points if it is a difference."""
        return 100 * float(expit(value) if self.bounded else value)

    def shown(self, name: str) -> float:
        """The value of a backbone in percent, or in points if it is a difference."""
        return 100 * self.shares[name] if name in self.shares else self.percent(self.values[name])

    def interval(self, name: str) -> Interval | None:
        """A backbone's value with its 95% interval, in percent or points."""
        return self._intervals.get(name)

    @cached_property
    def _intervals(self) -> dict[str, Interval]:
        """The intervals of all backbones, cached, since pages show each many times."""
        found = ((name, percentile_interval(self.values[name], draws)) for name, draws in self.draws.items())
        return {name: Interval(*map(self.percent, (each.value, each.low, each.high))) for name, each in found}

    @property
    def _sign(self) -> int:
        return 1 if self.higher_is_better else -1


@dataclass(frozen=True)
class Standing:
    """The rank of a backbone by a measure, from 1, the best; equal values share the better rank.

    Attributes:
        of: number of backbones with the measure.
        low, high: 95% interval of the rank, from comparisons of pairs or over resampled values; None if it is unknown.
        over_episodes: as in `Measure`; such a range does not support a first rank.
        group: tie group from 1, from comparisons of pairs; None without them.
        ahead: share of the others that are not better: 1 for the first, 0 for the last.
    """

    rank: int
    of: int
    low: int | None = None
    high: int | None = None
    over_episodes: bool = False
    group: int | None = None

    @property
    def sure_first(self) -> bool:
        """Whether the interval of the rank is the first rank alone, among several, and can support it.

        With comparisons of pairs, this holds for a backbone that is resolved to be better than each of the others.
        """
        return self.of > 1 and self.rank == 1 == self.high and not self.over_episodes

    @property
    def ahead(self) -> float:
        return (self.of - self.rank) / (self.of - 1) if self.of > 1 else 0.5


@dataclass(frozen=True)
class AxisPair:
    """The correlation of two measures over the backbones that have both.

    Attributes:
        n: number of these backbones.
        across: whether the measures are of different axes; measures of one axis are computed from the same data.
        correlation: None if there are too few backbones, or if all values are equal.
        without_one: smallest and largest Pearson coefficient when one backbone is left out, which shows the influence
            of single backbones; None if there are too few.
        p_value: two-sided p-value of Pearson's coefficient being 0, from Student's t = r·√((n − 2)/(1 − r²)); None
            without a correlation.
        corrected: the p-value after Holm's correction for all pairs across axes; None for other pairs.
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
        standings: name of a measure → backbone → its rank.
        pairs: all pairs of measures.
    """

    backbones: tuple[str, ...]
    measures: Mapping[str, Measure]
    standings: Mapping[str, Mapping[str, Standing]]
    pairs: tuple[AxisPair, ...]

    def missing(self) -> list[str]:
        """The axes without a measure."""
        return [axis for axis in AXES if all(measure.axis != axis for measure in self.measures.values())]

    def best_and_worst(self, backbone: str) -> tuple[str, str] | None:
        """The measures of generalization with the best and the worst rank of a backbone; None if there are too few.

        Of several measures with the same rank, the one with the most certain rank is taken. Measures by which all
        backbones are equal do not count.
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
        """Backbone → the measures of generalization by which it is first; the backbone with the most comes first."""
        found: dict[str, list[str]] = {}
        for name, standings in self.standings.items():
            for backbone, standing in standings.items():
                if standing.rank == 1 and standing.of > 1 and self.measures[name].axis != SEEN:
                    found.setdefault(backbone, []).append(name)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def put_together(measures: Sequence[Measure]) -> Axes:
    """The ranks of backbones by each measure, and the correlations of measures.

    If some backbones are on two or more axes, only those are compared, so that ranks are among about the same ones.
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
        raise UserError("there are no numbers on any axis; give runs with results")
    standings = {
        name: _standings(measure, [backbone for backbone in backbones if backbone in measure.values])
        for name, measure in kept.items()
    }
    return Axes(backbones, kept, standings, _pairs(list(kept.values()), backbones))


def _axes_of(measures: Sequence[Measure]) -> dict[str, set[str]]:
    """Backbone → its axes; the seen concepts are not an axis."""
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
        raise UserError(f"{measure.title} of {wrong} is not a number; leave out this backbone")


def _standings(measure: Measure, names: Sequence[str]) -> dict[str, Standing]:
    compared, count = measure.standings(names), len(names)
    if compared is not None:
        columns = (compared.rank.tolist(), compared.low.tolist(), compared.high.tolist(), compared.group.tolist())
        found = {
            name: Standing(place, count, low, high, measure.over_episodes, group)
            for name, place, low, high, group in zip(compared.names, *columns, strict=True)
        }
        return {name: found[name] for name in names}
    places = rank(measure.oriented(names).round(EQUAL)).tolist()
    drawn = measure.ranks(names)
    ends = [(None, None)] * count if drawn is None else zip(drawn.low.tolist(), drawn.high.tolist(), strict=True)
    return {
        name: Standing(place, count, *range_, over_episodes=measure.over_episodes)
        for name, place, range_ in zip(names, places, ends, strict=True)
    }


def _pairs(measures: Sequence[Measure], backbones: Sequence[str]) -> tuple[AxisPair, ...]:
    found = [_pair(first, second, backbones) for first, second in combinations(measures, 2)]
    tested = [pair.p_value for pair in found if pair.across and pair.p_value is not None]
    corrected = iter(holm(np.array(tested)).tolist() if tested else ())
    return tuple(
        replace(pair, corrected=next(corrected)) if pair.across and pair.p_value is not None else pair for pair in found
    )


def _pair(first: Measure, second: Measure, backbones: Sequence[str]) -> AxisPair:
    shared = [name for name in backbones if name in first.values and name in second.values]
    # Accuracy on seen concepts comes from the same probes as that on levels, and drops and expectations use it.
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
    # If all others are equal, there is no correlation without this one.
    if len(x) <= LEAST or any(np.ptp(x[rows]) == 0 or np.ptp(y[rows]) == 0 for rows in kept):
        return None
    found = [float(np.corrcoef(x[rows], y[rows])[0, 1]) for rows in kept]
    return min(found), max(found)

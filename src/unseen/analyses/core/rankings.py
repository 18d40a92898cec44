"""The backbones of a study ranked among themselves: by a mean over data sets, or by one of them.

Where results keep what they have of each test image, ranks have an interval and a tie group from comparisons of all
pairs on the same images (`unseen.metrics.paired.standings`). A mean over data sets is ranked twice: over these data
sets, and over all of their kind (`unseen.metrics.paired.suites`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from unseen.analyses.core.comparable import Comparable, Unit
from unseen.analyses.core.comparables import Comparables, comparables, measured, most_shots
from unseen.errors import UserError, did_you_mean
from unseen.metrics.catalogue import Metric
from unseen.metrics.paired.estimate import Estimate, PairEstimates
from unseen.metrics.paired.standings import Standings, standings
from unseen.metrics.paired.suites import combined, mean_of_pairs, mean_over_others
from unseen.metrics.ranks import rank
from unseen.metrics.resampling import Floats
from unseen.runs.data import Axis, Domain, RunData
from unseen.runs.score import shots_name
from unseen.text.words import joined

Basis = Literal["pairs", "scores", "alone"]
"""What ranks are from: comparisons of pairs on the same images; scores alone, so that ranks have no interval; or there
are no ranks, since one backbone cannot be ranked."""
EQUAL = 9
"""Means that agree to this many decimals are equal, so that the order of a sum does not break ties."""
SEVERAL_SETS: Collection[Axis] = ("tasks", "probe", "shifts")
"""What data sets can be a sample of their kind; levels of concepts are steps of a distance."""


@dataclass(frozen=True)
class Ranked:
    """A backbone of a ranking.

    Attributes:
        scores: data set → mean over seeds.
        value: what it is ranked by; None if it is not ranked.
        ends: 95% interval of this value by itself, which says less about differences than comparisons of pairs; None
            without kept units.
        rank: from 1, the best; None if it is not ranked.
        low, high, group: interval of its rank and tie group (`Standings`); None without comparisons of pairs.
        others: interval of its rank over other data sets of this kind; None if data sets are no sample, or just one.
        reason: why it is not ranked.
        trained_on: the data sets that are among its training data; its scores there are never ranked.
    """

    backbone: str
    scores: Mapping[str, float]
    value: float | None = None
    ends: tuple[float, float] | None = None
    rank: int | None = None
    low: int | None = None
    high: int | None = None
    group: int | None = None
    others: tuple[int, int] | None = None
    reason: str = ""
    trained_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ranking:
    """Backbones ranked by one probe with the same shots.

    Attributes:
        metrics: data set → its metric, for every data set with scores; all have one unit and one direction.
        by: the data sets whose mean backbones are ranked by.
        entries: those with a rank first, from the best.
        units: what another study would draw anew: concepts, test images, …; empty without comparisons of pairs.
        fewest_seeds: the fewest seeds that a pair has in common on a data set; 0 without comparisons of pairs.
        notes: sentences about backbones whose seeds differ.
        ways: classes of each few-shot episode; None without episodes.
    """

    axis: Axis
    probe: str
    shots: int | None
    protocol: str
    metrics: Mapping[str, Metric]
    by: tuple[str, ...]
    basis: Basis
    entries: tuple[Ranked, ...]
    standings: Standings | None = None
    units: tuple[Unit, ...] = ()
    fewest_seeds: int = 0
    notes: tuple[str, ...] = ()
    ways: int | None = None

    @property
    def of_episodes(self) -> bool:
        """Whether the units are few-shot episodes, which all draw from the same images."""
        return self.units == ("episodes",)

    @property
    def metric(self) -> Metric:
        """One of the metrics: all have the same unit and direction."""
        return next(iter(self.metrics.values()))

    @property
    def ranked(self) -> tuple[Ranked, ...]:
        return tuple(each for each in self.entries if each.value is not None)

    @property
    def left_out(self) -> tuple[Ranked, ...]:
        return tuple(each for each in self.entries if each.value is None)


@dataclass(frozen=True)
class _Kind:
    """What scores have in common that one ranking can be of."""

    axis: Axis
    probe: str
    shots: int | None
    protocol: str
    unit: str
    higher_is_better: bool


@dataclass
class _Scores:
    """The main scores of one kind.

    Attributes:
        metrics: data set → its metric.
        by_seed: backbone → data set → seed → score.
        trained_on: backbone → data sets with scores that are among its training data.
    """

    kind: _Kind
    metrics: dict[str, Metric] = field(default_factory=dict)
    by_seed: dict[str, dict[str, dict[int, float]]] = field(default_factory=dict)
    trained_on: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def values(self) -> dict[str, dict[str, float]]:
        """Backbone → data set → mean over seeds."""
        return {
            backbone: {name: float(np.mean([*seeds.values()])) for name, seeds in of.items()}
            for backbone, of in self.by_seed.items()
        }

    @cached_property
    def usable(self) -> dict[str, set[str]]:
        """Backbone → the data sets with scores that can be ranked."""
        return {name: {*own} - {*self.trained_on.get(name, ())} for name, own in self.values.items()}


def rankings(data: RunData, *, shots: int | Literal["most"] | None = "most", by: str | None = None) -> list[Ranking]:
    """Rank the backbones of a run, or of several that were merged, by every probe.

    Args:
        shots: training samples per class; by default the most of each probe.
        by: as in `rankings_by`.
    """
    numbers = most_shots(data) if shots == "most" else _with_shots(data, shots)
    found = rankings_by(data, numbers, by)
    if not found and by is not None:
        known = [*dict.fromkeys(score.domain for score in measured(data) if score.shots == numbers.get(score.probe))]
        hint = did_you_mean(by, known) or f"; there are {', '.join(known)}"
        raise UserError(f"no scores on a data set '{by}'{hint}")
    return found


def rankings_by(
    data: RunData, shots: Mapping[str, int | None], by: str | None = None, *, compared: Comparables | None = None
) -> list[Ranking]:
    """Rank the backbones of a run by some probes.

    Args:
        shots: probe → training samples per class; None for all.
        by: a data set; by default the mean over the unseen concepts, the shifted test sets, or all data sets. If there
            are two backbones with all of them, others are not ranked; otherwise it is over those that all have.
        compared: what can be compared with these shots, if that is known.
    """
    compared = comparables(data, shots=shots) if compared is None else compared
    each = (
        _ranking(scores, _averaged(scores, data.domains, by), compared) for scores in _by_probe(data, shots, compared)
    )
    return [ranking for ranking in each if ranking]


def _with_shots(data: RunData, shots: int | None) -> dict[str, int | None]:
    every = [*measured(data)]
    probes = dict.fromkeys(score.probe for score in every if score.shots == shots)
    if not probes:
        known = sorted({score.shots for score in every}, key=lambda number: (number is None, number or 0))
        there = ", ".join(map(shots_name, known))
        raise UserError(f"no scores with {shots_name(shots)} shots; there are scores with {there}")
    return dict.fromkeys(probes, shots)


def _by_probe(data: RunData, numbers: Mapping[str, int | None], compared: Comparables) -> list[_Scores]:
    """The main scores of every probe: those that comparisons are of, or the first that a probe gives.

    Those without a better direction are left out.
    """
    axes: dict[str, Axis] = {domain.name: domain.axis for domain in data.domains}
    metrics = {(each.place.dataset, each.place.probe): each.metric for each in compared.every}
    found = dict[_Kind, _Scores]()
    for score in measured(data):
        if score.probe not in numbers or score.shots != numbers[score.probe]:
            continue
        metric = metrics.setdefault((score.domain, score.probe), data.metrics[score.metric])
        if metric.name == score.metric and metric.higher_is_better is not None:
            kind = _Kind(axes[score.domain], score.probe, score.shots, score.protocol, metric.unit, metric.ranks_high)
            scores = found.setdefault(kind, _Scores(kind))
            scores.metrics[score.domain] = metric
            of = scores.by_seed.setdefault(score.backbone, {}).setdefault(score.domain, {})
            of[score.seed] = score.value
    order = [domain.name for domain in data.domains]
    trained_on = {
        backbone.name: [domain.name for domain in data.domains if backbone.was_trained_on(domain)]
        for backbone in data.backbones
    }
    return [
        replace(
            scores,
            metrics={name: scores.metrics[name] for name in order if name in scores.metrics},
            trained_on={
                name: tuple(each for each in trained_on.get(name, ()) if each in own)
                for name, own in scores.by_seed.items()
            },
        )
        for scores in found.values()
    ]


def _averaged(scores: _Scores, domains: Sequence[Domain], by: str | None) -> list[str]:
    """The data sets that backbones are ranked by, in their order; none if they have no scores on that data set."""
    if by is not None:
        return [by] if by in scores.metrics else []
    aside = {domain.name for domain in domains if domain.seen or domain.shifted is False}
    chosen = [name for name in scores.metrics if name not in aside] or [*scores.metrics]
    whole = [name for name, own in scores.usable.items() if own >= {*chosen}]
    if len(whole) >= min(2, len(scores.values)):
        return chosen
    return [name for name in chosen if all(name in own for own in scores.usable.values())] or chosen


def _ranking(scores: _Scores, by: Sequence[str], compared: Comparables) -> Ranking | None:
    if not by:
        return None
    kind = scores.kind
    places = [each for name in by if (each := compared.of(name, kind.probe, kind.shots, kind.protocol))]
    lacking = dict[str, str]()
    for backbone, own in scores.values.items():
        if absent := [name for name in by if name not in own]:
            lacking[backbone] = f"no score on {', '.join(absent)}"
        elif known := [name for name in by if name not in scores.usable[backbone]]:
            lacking[backbone] = f"it was trained on {', '.join(known)}"
        elif len(places) == len(by) and any(backbone not in each.kept for each in places):
            lacking[backbone] = _why_left_out(backbone, places, compared)
    names = [backbone for backbone in scores.values if backbone not in lacking]
    value = {name: float(np.mean([scores.values[name][each] for each in by])) for name in names}
    whole_of = places if len(places) == len(by) else []
    # Test sets of shifts may show the same images: see `_by_pairs`.
    ends = {name: _ends(name, value[name], whole_of, apart=kind.axis != "shifts") for name in names}
    entries = [
        Ranked(
            name,
            scores.values[name],
            value.get(name),
            ends.get(name),
            reason=lacking.get(name, ""),
            trained_on=scores.trained_on.get(name, ()),
        )
        for name in [*names, *lacking]
    ]
    basis: Basis = "alone" if len(names) < 2 else "pairs" if len(places) == len(by) else "scores"
    whole = Ranking(
        kind.axis, kind.probe, kind.shots, kind.protocol, scores.metrics, tuple(by), basis,
        tuple(entries),
    )  # fmt: skip
    if basis == "alone":
        return whole
    return _by_pairs(whole, names, places) if basis == "pairs" else _by_scores(whole, names)


def _ends(name: str, value: float, places: Sequence[Comparable], *, apart: bool) -> tuple[float, float] | None:
    """The interval of a mean over data sets, from other units and seeds; their errors are independent if `apart`."""
    each = [estimate for place in places if (estimate := place.alone(name)) is not None]
    if not places or len(each) < len(places):
        return None
    if apart:
        interval = combined(each, [1 / len(each)] * len(each)).interval()
    else:
        error, df = float(np.mean([one.error for one in each])), min(one.df for one in each)
        interval = Estimate(value, value, error, df).interval()
    return (interval.low, interval.high)


def _why_left_out(backbone: str, places: Sequence[Comparable], compared: Comparables) -> str:
    names = {each.place.dataset for each in places}
    probe, shots = places[0].place.probe, places[0].place.shots
    return next(
        (
            f"{each.place.dataset}: {each.reason}"
            for each in compared.left_out
            if (each.backbone, each.place.probe, each.place.shots) == (backbone, probe, shots)
            and each.place.dataset in names
        ),
        "it cannot be compared with the others",
    )


def _by_scores(ranking: Ranking, names: Sequence[str]) -> Ranking:
    sign = 1 if ranking.metric.ranks_high else -1
    entries = {each.backbone: each for each in ranking.entries}
    places = rank(sign * _values(entries, names))
    entries |= {name: replace(entries[name], rank=int(place)) for name, place in zip(names, places, strict=True)}
    return replace(ranking, entries=_in_order(entries.values()))


def _by_pairs(ranking: Ranking, names: Sequence[str], places: Sequence[Comparable]) -> Ranking:
    entries = {each.backbone: each for each in ranking.entries}
    values = _values(entries, names)
    each = [place.pairs_among(names) for place in places]
    # Test sets of shifts share the training images and may show the same images, so their errors are not independent.
    groups = ["all"] * len(each) if ranking.axis == "shifts" else None
    better = ranking.metric.ranks_high
    found = standings_of(names, values, mean_of_pairs(each, groups), higher_is_better=better)
    random = mean_over_others(each) if ranking.axis in SEVERAL_SETS else None
    others = standings_of(names, values, random, higher_is_better=better) if random else None
    ends = dict[str, tuple[int, int]]()
    if others:
        ends = dict(zip(others.names, zip(others.low.tolist(), others.high.tolist(), strict=True), strict=True))
    for number, name in enumerate(found.names):
        entries[name] = replace(
            entries[name], rank=int(found.rank[number]), low=int(found.low[number]), high=int(found.high[number]),
            group=int(found.group[number]), others=ends.get(name),
        )  # fmt: skip
    fewest = min(len(place.seeds_of(one, other)) for place in places for one in names for other in names)
    return replace(
        ranking, entries=_in_order(entries.values()), standings=found, fewest_seeds=fewest,
        notes=tuple(_other_seeds(places, names)), units=tuple(dict.fromkeys(place.unit for place in places)),
        ways=places[0].ways,
    )  # fmt: skip


def _values(entries: Mapping[str, Ranked], names: Sequence[str]) -> Floats:
    return np.array([entries[name].value for name in names], dtype=np.float64).round(EQUAL)


def _in_order(entries: Collection[Ranked]) -> tuple[Ranked, ...]:
    return tuple(sorted(entries, key=lambda each: (each.rank is None, each.rank or 0)))


def standings_of(names: Sequence[str], values: Floats, pairs: PairEstimates, *, higher_is_better: bool) -> Standings:
    """`standings` from estimates of all pairs."""
    return standings(names, values, pairs.value, pairs.p_values, higher_is_better=higher_is_better)


def _other_seeds(places: Sequence[Comparable], names: Sequence[str]) -> Iterator[str]:
    """Sentences about backbones that lack seeds of others."""
    lacking = dict[tuple[str, tuple[int, ...]], list[str]]()
    for place in places:
        every = {seed for name in names for seed in place.kept[name]}
        for name in names:
            if absent := tuple(sorted(every - place.kept[name].keys())):
                lacking.setdefault((name, absent), []).append(place.place.dataset)
    for (name, seeds), datasets in lacking.items():
        yield (
            f"{name} lacks seed {', '.join(map(str, seeds))} on {joined(datasets)}: pairs are compared over the seeds "
            "that both have; without a common seed, their order is not resolved."
        )
